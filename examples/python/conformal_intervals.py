"""
Intervals that hold, whatever the model
=======================================

How will diabetes progress within a year? ``ConformalRegressor`` keeps a fifth of the rows out of the fit to
calibrate intervals: new patients like the old ones fall inside with the probability promised, even where the
model is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from mercer import ConformalRegressor, KernelQuantileRegressor, KernelRegressor

X, y = load_diabetes(return_X_y=True)

# %%
# One split says little, since 111 patients are few to test a coverage on: twenty splits.
kinds = {
    "around a mean": ConformalRegressor(KernelRegressor(features=100), level=0.9),
    "around quantiles": ConformalRegressor(
        KernelQuantileRegressor([0.05, 0.95], map="nystrom", features=50, penalty=0.01), level=0.9
    ),
}
for name, model in kinds.items():
    covered, widths = [], []
    for seed in range(20):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        lower, upper = model.fit(X_train, y_train).predict_interval(X_test)
        covered.append(np.mean((lower <= y_test) & (y_test <= upper)))
        widths.append(np.mean(upper - lower))
    print(f"{name:17s} 90 % intervals hold {np.mean(covered):.1%}, {np.mean(widths):.0f} wide on average")

# %%
# Intervals around quantiles are wide where the spread is wide.
fig, axes = plt.subplots(1, 2, figsize=(9.6, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, kinds.items(), strict=True):
    lower, upper = model.predict_interval(X_test)
    order = np.argsort((lower + upper) / 2)
    out = (y_test < lower) | (y_test > upper)
    ax.vlines(np.arange(len(order)), lower[order], upper[order], color="#2f6db3", alpha=0.35, linewidth=2)
    ax.scatter(np.arange(len(order)), y_test[order], s=12, c=np.where(out[order], "#d9822b", "#1b1f24"), zorder=3)
    ax.set_title(f"{name}: {np.mean(~out):.0%} inside", loc="left", fontsize=11, fontweight="bold")
    ax.set_xlabel("test patients, by the middle of their interval")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("progression after a year")
