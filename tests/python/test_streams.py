"""Rows in blocks: the same model as from memory, wherever they come from."""

import h5py
import numpy as np
import pandas as pd
import pytest

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.streams import ArrayBlocks, Blocks, ParquetBlocks


@pytest.fixture
def model():
    return KernelRegressor(Gaussian(1.0), features=40, penalty=1e-3)


def pieces(X, y, sizes=(7, 100, 1, 192)):
    ends = np.cumsum(sizes)
    return [(X[end - size : end], y[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


@pytest.mark.parametrize("kind", ["list", "function", "iterator", "weights"])
def test_blocks_equal_memory(model, wave, kind):
    X, y = wave
    whole = model.fit(X, y).predict(X)
    blocks = pieces(X, y)
    if kind == "weights":
        blocks = [(a, b, np.ones(len(a))) for a, b in blocks]
    source = {"list": blocks, "function": lambda: iter(blocks), "iterator": iter(blocks), "weights": blocks}[kind]
    streamed = model.fit_blocks(source)
    assert streamed.summary_["n"] == 300
    np.testing.assert_allclose(streamed.predict(X), whole, atol=1e-9)
    assert streamed.predict(X).ndim == 1


def test_memmap_is_not_copied(model, wave, tmp_path):
    X, y = wave
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(model.fit(mapped, y).predict(mapped), model.fit(X, y).predict(X))


def test_hdf5_dataset(model, wave, tmp_path):
    X, y = wave
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"], file["y"] = X.astype(np.float32), np.column_stack([y, -y])
        streamed = model.fit_blocks(ArrayBlocks(file["x"], file["y"], block_rows=64))
    np.testing.assert_allclose(streamed.predict(X), model.fit(X.astype(np.float32), np.column_stack([y, -y])).predict(X), atol=1e-9)


def test_parquet(model, wave, tmp_path):
    X, y = wave
    for part, rows in enumerate((slice(0, 120), slice(120, 300))):
        pd.DataFrame({"east": X[rows, 0], "height": y[rows], "north": X[rows, 1]}).to_parquet(tmp_path / f"{part}.parquet")
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    streamed = model.fit_blocks(ParquetBlocks(files, "height", block_rows=50))
    assert streamed.model_.columns()["inputs"] == ["east", "north"]
    np.testing.assert_allclose(streamed.predict(X), model.fit(X, y).predict(X), atol=1e-9)
    with pytest.raises(ValueError, match="no column 'width'"):
        ParquetBlocks(files, "width")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ([], "no rows"),
        (iter([]), "no rows"),
        ([np.ones((3, 2))], r"\(X, y\)"),
        ([(np.ones(3), np.ones(3))], "rows and columns"),
        ([(np.ones((3, 2)), np.ones(3)), (np.ones((3, 4)), np.ones(3))], "other columns"),
        ([(np.ones((3, 2)), np.ones(4))], "rows"),
        ([(np.array([["a", "b"]]), np.ones(1))], "numbers"),
        (5, "fit_blocks takes"),
        ([(np.array([[np.nan, 1.0], [1.0, 2.0]]), np.ones(2))], "finite|NaN|nan"),
    ],
)
def test_mistakes_are_told_in_one_line(model, source, says):
    with pytest.raises(ValueError, match=says) as caught:
        model.fit_blocks(source)
    assert "\n" not in str(caught.value)


def test_an_error_of_the_source_reaches_the_caller(model, wave):
    X, y = wave

    class Flaky:
        passes = 0

        def __call__(self):
            self.passes += 1
            yield X, y
            if self.passes > 2:
                raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        model.fit_blocks(Blocks(Flaky()))
