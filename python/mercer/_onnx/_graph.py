"""A small writer of ONNX graphs: values are names, operators are calls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Old enough for any runtime in use, new enough for every operator here.
OPSET = 17
IR_VERSION = 8
# A protobuf message holds no more.
MOST_BYTES = 2**31 - 1


def import_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the onnx package: pip install 'mercer[onnx]'") from error
    return onnx


class Graph:
    """Nodes and constants in the order they are asked for. Numbers and arrays among the inputs of an operator become constants
    of the type that the graph computes in."""

    def __init__(self, real: Any):
        self.real = np.dtype(real)
        self._onnx = import_onnx()
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], str] = {}
        self._initializers: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._bytes = 0

    def constant(self, values: ArrayLike, dtype: Any = None) -> str:
        """An array stored in the file; the same numbers are stored once."""
        array: NDArray[Any] = np.ascontiguousarray(values, dtype=dtype or self.real).reshape(np.shape(values))
        key = (array.dtype.str, array.shape, array.tobytes() if array.dtype.kind != "O" else tuple(array.ravel().tolist()))
        if key not in self._constants:
            self._bytes += array.nbytes
            if self._bytes > MOST_BYTES:
                raise ValueError("the model is larger than the 2 GiB of an ONNX file; fit it with fewer features")
            name = f"c{len(self._initializers)}"
            self._constants[key] = name
            self._initializers.append(self._onnx.numpy_helper.from_array(array, name))
        return self._constants[key]

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """A node of one output; returns the name of it."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = f"v{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, names, [output], **attributes))
        return output

    def total(self, terms: list[str]) -> str:
        """The sum of at least one value."""
        result = terms[0]
        for term in terms[1:]:
            result = self.op("Add", result, term)
        return result

    def product(self, value: str, matrix: NDArray[np.float64]) -> str:
        """value·matrix; of one column and one row, which needs no sum, by broadcasting. (A division by one number before MatMul
        would be fused into it by onnxruntime, as a factor in single precision whatever the type.)"""
        return self.op("Mul" if len(matrix) == 1 else "MatMul", value, matrix)

    def column(self, value: str, k: int) -> str:
        """Column k of a matrix, N × 1."""
        return self.columns(value, [k])

    def columns(self, value: str, numbers: ArrayLike) -> str:
        """Columns of a matrix in this order."""
        return self.op("Gather", value, self.constant(numbers, np.int64), axis=1)

    def cast(self, value: str, dtype: Any) -> str:
        return self.op("Cast", value, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def input(self, name: str, dtype: Any, columns: int) -> str:
        """N × columns, where N is free."""
        self._inputs.append(self._info(name, dtype, ["N", columns]))
        return name

    def output(self, name: str, value: str, dtype: Any, shape: list[Any]) -> None:
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._info(name, dtype, shape))

    def _info(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        kind = np.dtype(dtype)
        string = kind.kind in "OU"
        element = self._onnx.TensorProto.STRING if string else self._onnx.helper.np_dtype_to_tensor_dtype(kind)
        return self._onnx.helper.make_tensor_value_info(name, element, shape)

    def model(self, name: str, version: str, metadata: dict[str, str]) -> Any:
        """The checked model."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._initializers)
        model = helper.make_model(
            graph,
            producer_name="mercer",
            producer_version=version,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model
