"""Rows that need not fit in memory, for ``fit_blocks``.

>>> import numpy as np
>>> from mercer import KernelRegressor
>>> def blocks():
...     for seed in range(3):
...         X = np.random.default_rng(seed).normal(size=(500, 2))
...         yield X, X[:, 0] * X[:, 1]
>>> model = KernelRegressor(features=100).fit_blocks(blocks)
>>> model.summary_["n"]
1500

``fit_blocks`` takes a function that gives a fresh iterator, as above; a list of blocks; an iterator that runs once (it is kept in
a temporary file); or one of the sources below, for HDF5 datasets and other arrays that are read in slices, and for Parquet files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._columns import fault_of_inputs

__all__ = ["ArrayBlocks", "Blocks", "ParquetBlocks", "as_blocks"]

Block = tuple[Any, Any, Any]  # X (rows × d), y (rows × p), weights or None


def _names(table: Any) -> list[str] | None:
    """Of the columns of a frame, or of a series, where they are texts."""
    columns = getattr(table, "columns", None)
    names: list[Any] = [getattr(table, "name", None)] if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _matrix(values: Any, what: str) -> Any:
    array = np.asarray(values)
    if array.dtype.kind == "M":
        raise ValueError(f"{what} holds dates; make numbers of them, such as days since the first")
    if array.dtype not in (np.float64, np.float32):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError((fault_of_inputs(values) if what == "X" else None) or f"{what} must be numbers: {error}") from None
    if array.ndim == 1 and what == "y":
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{what} of a block must have rows and columns, got {array.ndim} dimensions")
    return np.ascontiguousarray(array)


def _block(item: Any) -> Block:
    """(X, y) or (X, y, weights) as the core wants them."""
    if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
        raise ValueError("a block must be (X, y) or (X, y, sample_weight)")
    weights = item[2] if len(item) == 3 else None
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64)
    return _matrix(item[0], "X"), _matrix(item[1], "y"), weights


class Blocks:
    """A source of blocks that can be read again and again.

    Parameters
    ----------
    restart : callable
        Gives a fresh iterator over (X, y) or (X, y, sample_weight), the same blocks each time.
    """

    def __init__(self, restart: Callable[[], Iterable[Any]]):
        self._restart = restart
        self.input_names: list[str] | None = None
        self.target_names: list[str] | None = None
        self.rows = 0
        self.inputs = 0
        self.targets = 0
        self.flat = True

    def _measure(self, item: Any) -> Block:
        """Counts the rows of a block; names of frames, and whether targets are a vector, are those of the first."""
        X, y, weights = _block(item)
        names = _names(item[0]), _names(item[1])
        if self.rows == 0:
            self.flat = np.ndim(item[1]) == 1
            self.input_names, self.target_names = names[0] or self.input_names, names[1] or self.target_names
        elif names[0] and self.input_names and names[0] != self.input_names:
            raise ValueError(f"a block of rows has the columns {names[0]}, and the first one {self.input_names}")
        self.rows += len(X)
        self.inputs, self.targets = X.shape[1], y.shape[1]
        return X, y, weights

    def __enter__(self) -> Blocks:
        """Measures the rows: one pass."""
        self.rows = 0
        for item in self._restart():
            self._measure(item)
        if self.rows == 0:
            raise ValueError("there are no rows")
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def restart(self) -> Iterator[Block]:
        """A fresh iterator over (X, y, weights or None)."""
        return map(_block, self._restart())


class ArrayBlocks(Blocks):
    """Arrays read in slices: HDF5 datasets, Zarr arrays, ``numpy.memmap``.

    Parameters
    ----------
    X, y : array-likes with ``shape`` and slices
    sample_weight : the same, optional
    block_rows : int
        Rows in memory at a time.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, *, block_rows: int = 65536):
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows and y {len(y)}")

        def slices() -> Iterator[Any]:
            for first in range(0, len(X), block_rows):
                rows = slice(first, first + block_rows)
                yield X[rows], y[rows], None if sample_weight is None else sample_weight[rows]

        super().__init__(slices)
        self._shapes = (X.shape, y.shape)

    def __enter__(self) -> ArrayBlocks:
        (self.rows, self.inputs), target_shape = self._shapes
        self.flat = len(target_shape) == 1
        self.targets = 1 if self.flat else target_shape[1]
        if self.rows == 0:
            raise ValueError("there are no rows")
        return self


class ParquetBlocks(Blocks):
    """Columns of Parquet files (needs pyarrow).

    Parameters
    ----------
    paths : path or list of paths
    target : str or list of str
        Columns to predict.
    inputs : list of str, optional
        Columns to predict from; all others when left out.
    block_rows : int
        Rows in memory at a time.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        target: str | Sequence[str],
        inputs: Sequence[str] | None = None,
        *,
        block_rows: int = 65536,
    ):
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError("Parquet files need pyarrow: pip install 'mercer[parquet]'") from error
        files = [paths] if isinstance(paths, (str, Path)) else list(paths)
        if not files:
            raise ValueError("ParquetBlocks needs at least one file")
        targets = [target] if isinstance(target, str) else list(target)
        schema = parquet.read_schema(files[0])
        known = schema.names
        names = [name for name in known if name not in targets] if inputs is None else list(inputs)
        for name in (*names, *targets):
            if name not in known:
                raise ValueError(f"{files[0]} has no column {name!r}; it has {', '.join(known)}")
            kind = schema.field(name).type
            is_number = pyarrow.types.is_primitive(kind) and not pyarrow.types.is_temporal(kind)
            if not (is_number or pyarrow.types.is_decimal(kind)):
                raise ValueError(f"column {name!r} of {files[0]} holds no numbers ({kind}); choose others by inputs")
        flat = isinstance(target, str)

        def read() -> Iterator[Any]:
            for path in files:
                with parquet.ParquetFile(path) as file:
                    for batch in file.iter_batches(batch_size=block_rows, columns=[*names, *targets]):
                        columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in (*names, *targets)}
                        y = columns[targets[0]] if flat else np.column_stack([columns[name] for name in targets])
                        yield np.column_stack([columns[name] for name in names]), y

        super().__init__(read)
        self.input_names = names
        self.target_names = targets


class _SpooledBlocks(Blocks):
    """An iterator that runs once, kept in a temporary file for as long as it is needed."""

    def __init__(self, iterator: Iterator[Any]):
        super().__init__(self._spooled)
        self._iterator = iterator
        self._file: Any = None

    def _spooled(self) -> Iterator[Any]:
        self._file.seek(0)
        while self._file.tell() < self._size:
            X, y, weights = (np.lib.format.read_array(self._file) for _ in range(3))
            yield X, y, weights if len(weights) else None

    def __enter__(self) -> _SpooledBlocks:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115: closed in __exit__
        try:
            for item in self._iterator:
                X, y, weights = self._measure(item)
                for array in (X, y, np.empty(0) if weights is None else weights):
                    np.lib.format.write_array(self._file, array, allow_pickle=False)
            self._size = self._file.tell()
            if self.rows == 0:
                raise ValueError("there are no rows")
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def as_blocks(source: Any) -> Blocks:
    """What ``fit_blocks`` was given, as :class:`Blocks`."""
    if isinstance(source, Blocks):
        return source
    if callable(source):
        return Blocks(source)
    if isinstance(source, Iterator):
        return _SpooledBlocks(source)
    if isinstance(source, Iterable):
        return Blocks(lambda: iter(source))
    raise ValueError("fit_blocks takes a function that gives an iterator of (X, y), a list of such blocks, or a source of mercer.streams")
