"""
The features alone, in a pipeline
=================================

``RandomFourierFeatures`` and ``SketchedFeatures`` are transformers: any linear model after them becomes a
kernel method, and a grid search sees the kernel's length scale.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import RandomFourierFeatures, SketchedFeatures
from mercer.kernels import Gaussian

X, y = load_digits(return_X_y=True)
learn, test = slice(0, 1200), slice(1200, None)
linear = RidgeClassifier(alpha=0.01)
for features in (None, RandomFourierFeatures(300, Gaussian(8.0)), SketchedFeatures(300, Gaussian(8.0))):
    pipeline = make_pipeline(StandardScaler(), features, linear).fit(X[learn], y[learn])
    print(f"{features or 'pixels alone'}: {pipeline.score(X[test], y[test]):.3f}")

# %%
# The parameters of a kernel are parameters of the pipeline.
search = GridSearchCV(
    make_pipeline(StandardScaler(), RandomFourierFeatures(150, Gaussian(8.0)), linear),
    {"randomfourierfeatures__kernel__length_scale": [4.0, 8.0, 16.0]},
    cv=3,
).fit(X[learn], y[learn])
print(search.best_params_, f"{search.score(X[test], y[test]):.3f}")

# %%
# More features are nearer to the kernel: the error falls as the square root of their number.
fig, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
rows = StandardScaler().fit_transform(X[:200])
mercer.plot.kernel_error(Gaussian(8.0), rows, features=(10, 30, 100, 300, 1000), ax=ax)
