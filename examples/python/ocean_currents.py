"""
Ocean currents, in two parts
============================

Drifting buoys tell the velocity of the water where they happen to be. A Helmholtz kernel fills the gaps with
a field that is the sum of a flow that neither springs up nor drains (eddies) and one that does not turn (up-
and downwelling), in shares of our choice.
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
# Buoys report often, so a row is nearly a copy of its neighbours: leaving out single rows, as the automatic
# penalty does, is too easy a test here, and would choose next to no penalty. Whole stretches of track are
# held out instead, with scikit-learn's own search.
stretch = np.arange(len(X)) // 40
k = Gaussian(0.5)
names = {"independent": k, "divergence-free": DivergenceFree(k), "Helmholtz": Helmholtz(k, 0.2)}
penalties = [1e-4, 1e-3, 1e-2]
search = GridSearchCV(
    KernelRegressor(features=200),
    {"kernel": list(names.values()), "penalty": penalties},
    scoring="neg_root_mean_squared_error",
    cv=GroupKFold(5),
).fit(X, UV, groups=stretch)
errors = -search.cv_results_["mean_test_score"].reshape(len(names), len(penalties))
print("RMSE (m/s) at penalty", penalties)
for name, row in zip(names, errors, strict=True):
    print(f"{name:16s}", row.round(3))

# %%
# Arrows are the field, colour is its speed; both fade where the model does not know. Orange lines are what it
# leaves unexplained.
model = KernelRegressor(names["Helmholtz"], features=300, penalty=1e-3).fit(X, UV)
ax = mercer.plot.field(model, X, UV, grid=25)
ax.set(xlabel="km", ylabel="km")

# %%
# Deviations say the same in numbers: small on a buoy's track, large in open water.
far = X.max(axis=0)  # the corner of the map, where no buoy was
places = np.vstack([X[50], far])
mean, std = model.predict(places, return_std=True, latent=True)
for place, m, s in zip(places, mean, std, strict=True):
    print(f"at {place.round()} km: {m.round(2)} ± {s.round(2)} m/s")
