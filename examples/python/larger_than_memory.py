"""
Rows that do not fit in memory
==============================

Ridge with random features needs one pass over the rows and a matrix whose size does not depend on how many
there are. So a memory map, an HDF5 dataset or Parquet files are as good as an array; and rows that arrive
over time can be added as they come.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.streams import ArrayBlocks

# %%
# Rows of Friedman's function on disk, as a stand-in for a file that is larger than your machine.
folder = tempfile.TemporaryDirectory()
rows, inputs = 100_000, 5
table = np.lib.format.open_memmap(Path(folder.name) / "rows.npy", mode="w+", dtype=np.float32, shape=(rows, inputs + 1))
rng = np.random.default_rng(0)


def friedman(x):
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


for first in range(0, rows, 20_000):
    x = rng.uniform(size=(20_000, inputs))
    table[first : first + 20_000] = np.column_stack([x, friedman(x) + rng.normal(size=len(x))])

# %%
# ``fit_blocks`` reads slices, never the whole.
source = ArrayBlocks(table[:, :inputs], table[:, inputs], block_rows=10_000)
model = KernelRegressor(features=200).fit_blocks(source)
x_test = rng.uniform(size=(5000, inputs))
error = np.sqrt(np.mean((model.predict(x_test) - friedman(x_test)) ** 2))
print(f"{model.summary_['n']} rows: RMSE {error:.3f} from the function itself; the noise of a row is 1")

# %%
# The same rows as they might come in over time: ``partial_fit`` adds blocks to statistics that are exact, so
# the order does not matter and nothing is forgotten.
growing = KernelRegressor(features=200)
seen, errors = [], []
for first, last in zip([0, 300, 1000, 3000, 10_000, 30_000], [300, 1000, 3000, 10_000, 30_000, rows], strict=True):
    growing.partial_fit(np.asarray(table[first:last, :inputs]), np.asarray(table[first:last, inputs]))
    seen.append(last)
    errors.append(np.sqrt(np.mean((growing.predict(x_test) - friedman(x_test)) ** 2)))
print("errors as rows arrive:", np.round(errors, 3).tolist())

# %%
fig, ax = plt.subplots(figsize=(7.2, 4), layout="constrained")
ax.loglog(seen, errors, "o-", color="#2f6db3", label="partial_fit, block after block")
ax.axhline(error, color="#d9822b", linewidth=1, linestyle="--", label="fit_blocks, all rows")
ax.set(xlabel="rows seen", ylabel="RMSE from the function")
ax.set_title("Error as rows arrive", loc="left", fontsize=11, fontweight="bold")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
folder.cleanup()
