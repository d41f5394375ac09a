"""
Classes with probabilities
==========================

Handwritten digits of scikit-learn, a multinomial loss, and the digits the classifier is least sure about.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mercer import KernelClassifier

digits = load_digits()
X_train, X_test, y_train, y_test, _, images = train_test_split(
    digits.data, digits.target, digits.images, test_size=0.3, random_state=0
)
model = KernelClassifier(loss="multinomial", map="nystrom", features=200, penalty=1e-6)
model.fit(X_train, y_train)
print(f"{len(X_train)} digits to learn from; {model.score(X_test, y_test):.1%} of {len(X_test)} others are right")

# %%
# A probability of 0.8 should be right eight times in ten.
chances = model.predict_proba(X_test)
best, sure = chances.argmax(axis=1), chances.max(axis=1)
for low, high in ((0, 0.7), (0.7, 0.9), (0.9, 0.99), (0.99, 1.01)):
    some = (sure >= low) & (sure < high)
    right = np.mean(best[some] == y_test[some])
    print(f"{some.sum():3d} digits of mean probability {sure[some].mean():.2f}: {right:.2f} are right")

# %%
fig, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for ax, i in zip(axes.flat, np.argsort(sure), strict=False):
    first, second = np.argsort(-chances[i])[:2]
    ax.imshow(images[i], cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(
        f"{first} ({chances[i, first]:.0%}) or {second} ({chances[i, second]:.0%})\nis a {y_test[i]}",
        fontsize=9,
        color="#1b1f24" if first == y_test[i] else "#d9822b",
    )
fig.suptitle("The least certain digits", x=0.01, ha="left", fontsize=11, fontweight="bold")
