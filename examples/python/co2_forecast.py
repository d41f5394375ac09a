"""
A series that explains itself
=============================

Monthly carbon dioxide: a spectral-mixture process finds the trend and the seasons by itself, says what it
found, and goes on with bands.
"""

import matplotlib.pyplot as plt
import numpy as np
from example_data import carbon_dioxide

import mercer
from mercer import SpectralMixtureGP

year, ppm, source = carbon_dioxide()
print(f"{source}: {len(year)} months")

# %%
# The last eleven years are kept back.
ahead = 132
known = len(year) - ahead
model = SpectralMixtureGP(components=10, steps=200).fit(year[:known], ppm[:known])
times, mean, std = model.forecast(ahead)
inside = np.abs(ppm[known:] - mean) < 1.645 * std
print(f"RMSE {np.sqrt(np.mean((ppm[known:] - mean) ** 2)):.2f} ppm over eleven years")
print(f"90 % bands hold {inside.mean():.0%} of the months")

# %%
# What the fit has to say should be read: bands know what comes back or wanders as it did, not a trend that
# changes its course.
for note in model.notes_:
    print("-", note)

# %%
# The heaviest components: one cycle a year and its overtone are seasons, what is slower is the trend.
for part in model.spectrum()[:4]:
    print(f"{part['frequency'][0]:6.3f} cycles a year, variance {part['weight']:.3g}")

# %%
fig, axes = plt.subplots(2, 1, figsize=(8, 7.5), layout="constrained")
ax = mercer.plot.forecast(model, ahead, history=(year[-264:], ppm[-264:]), ax=axes[0])
ax.set(xlabel="", ylabel="CO₂ (ppm)")
mercer.plot.spectrum(model, ax=axes[1])
