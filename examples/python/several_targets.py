"""
Several targets at once
=======================

How much energy does a building take to heat and to cool? The two are nearly the same question.
``Decomposable(k, "covariance")`` is the kernel that says so: what is learned of one target counts for the
other as far as they go together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from example_data import buildings
from sklearn.model_selection import train_test_split

import mercer
from mercer import KernelRegressor
from mercer.kernels import Decomposable, Gaussian

X, Y, source = buildings()
Y = pd.DataFrame(Y, columns=["heating", "cooling"])
print(f"{source}; correlation of the targets {Y.corr().iloc[0, 1]:.2f}")

# %%
# Few rows to learn from, so that it matters what is shared; means over ten draws of them. What one target
# gains the other may lose: the matrix between them is an assumption, and this is how to test it.
for name, kernel in {"independent": Gaussian(), "together": Decomposable(Gaussian(), "covariance")}.items():
    errors = []
    for seed in range(10):
        X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=200, random_state=seed)
        model = KernelRegressor(kernel, features=150).fit(X_train, Y_train)
        errors.append(np.sqrt(np.mean((model.predict(X_test) - Y_test) ** 2, axis=0)))
    heating, cooling = np.mean(errors, axis=0)
    print(f"{name:12s} RMSE heating {heating:.2f}, cooling {cooling:.2f}")

# %%
# With three fifths of the rows, target by target; names are those of the frame.
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=0.6, random_state=0)
model = KernelRegressor(Decomposable(Gaussian(), "covariance"), features=500).fit(X_train, Y_train)
fig, axes = plt.subplots(1, 2, figsize=(9.6, 4.9), layout="constrained")
for ax, target in zip(axes, Y.columns, strict=True):
    mercer.plot.residuals(model, X_test, Y_test, output=target, ax=ax)
