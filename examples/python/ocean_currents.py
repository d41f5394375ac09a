"""
Ocean currents, in two parts
============================

Drifting buoys tell the velocity of the water where they happen to be. A Helmholtz kernel fills the gaps with a field that is the sum of a flow that
neither springs up nor drains (eddies) and one that does not turn (up- and downwelling), in shares of our choice.
"""

import numpy as np
from example_data import currents
from sklearn.model_selection import GridSearchCV, GroupKFold

import mercer
from mercer import KernelRegressor
from mercer.kernels import DivergenceFree, Gaussian, Helmholtz

X, UV, source = currents()
print(f"{source}: {len(X)} velocities")

# %%
# Buoys report often, so a row is nearly a copy of its neighbours: leaving out single rows, as the automatic penalty does, is too easy a test here, and would
# choose next to no penalty. Whole stretches of track are held out instead, with scikit-learn's own search.
stretch = np.arange(len(X)) // 40
names = {"two independent outputs": Gaussian(0.5), "divergence-free": DivergenceFree(Gaussian(0.5)), "Helmholtz": Helmholtz(Gaussian(0.5), 0.2)}
search = GridSearchCV(
    KernelRegressor(features=200),
    {"kernel": list(names.values()), "penalty": [1e-4, 1e-3, 1e-2]},
    scoring="neg_root_mean_squared_error",
    cv=GroupKFold(5),
).fit(X, UV, groups=stretch)
tried = search.cv_results_
for name, kernel in names.items():
    errors = {p["penalty"]: -e for p, e in zip(tried["params"], tried["mean_test_score"], strict=True) if p["kernel"] == kernel}
    print(f"{name:24s}" + "".join(f"  penalty {penalty:g}: {error:.3f} m/s" for penalty, error in errors.items()))

# %%
# Arrows are the field, colour is its speed; both fade where the model does not know. Orange lines are what it leaves unexplained.
model = KernelRegressor(names["Helmholtz"], features=300, penalty=1e-3).fit(X, UV)
ax = mercer.plot.field(model, X, UV, grid=25)
ax.set(xlabel="km", ylabel="km")

# %%
# Deviations say the same in numbers: small on a buoy's track, large in open water.
far = X.max(axis=0)  # the corner of the map, where no buoy was
places = np.vstack([X[50], far])
mean, std = model.predict(places, return_std=True, latent=True)
for place, m, s in zip(places, mean, std, strict=True):
    print(f"at ({place[0]:.0f}, {place[1]:.0f}) km: ({m[0]:.2f}, {m[1]:.2f}) ± ({s[0]:.2f}, {s[1]:.2f}) m/s")
