"""
A fan of quantiles that do not cross
====================================

The head of a motorcyclist in a simulated crash: noise is small before the impact and large after it, so that
a mean with one deviation says too much in one place and too little in another. Five quantiles fitted together
follow the spread, and never cross.
"""

import numpy as np
from example_data import helmets

import mercer
from mercer import KernelQuantileRegressor

x, y, source = helmets()
print(f"{source}: {len(x)} rows")

# %%
# ``non_crossing`` is a hard constraint at the rows and, here, on a grid between them too.
levels = [0.1, 0.25, 0.5, 0.75, 0.9]
grid = np.linspace(x.min(), x.max(), 100)[:, None]
model = KernelQuantileRegressor(levels, non_crossing=True, grid=grid, kernel="gaussian(0.3)").fit(x, y)
bands = model.predict(grid)
print("least gap between neighbours:", np.diff(bands, axis=1).min().round(3))

# %%
# How many rows lie below each line?
for level, line in zip(levels, model.predict(x).T, strict=True):
    print(f"{level:4.2f}: {np.mean(y <= line):.2f} of the rows are below")

# %%
ax = mercer.plot.fan(model, x, y)
ax.set(xlabel="ms after impact", ylabel="acceleration (g)")
