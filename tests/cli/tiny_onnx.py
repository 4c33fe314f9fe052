"""Writes small ONNX files with nothing but numpy: just enough of the protobuf encoding for the tests."""

import struct

import numpy as np

ELEMENT_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, value):
    if isinstance(value, str):
        value = value.encode()
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _attribute(name, value):
    body = _bytes(1, name)
    if isinstance(value, float):
        return body + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return body + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return body + _bytes(4, value) + _number(20, 3)
    return body + b"".join(_number(8, v) for v in value) + _number(20, 7)


def _value(name, dtype, shape):
    dims = b""
    for size in shape:
        dims += _bytes(1, _bytes(2, size) if isinstance(size, str) else _number(1, size))
    tensor = _number(1, ELEMENT_TYPES[dtype]) + _bytes(2, dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor))


def _tensor(name, array):
    array = np.ascontiguousarray(array)
    body = b"".join(_number(1, size) for size in array.shape)
    return body + _number(2, ELEMENT_TYPES[array.dtype.name]) + _bytes(8, name) + _bytes(9, array.tobytes())


def node(op, inputs, outputs, name="", domain="", **attributes):
    body = b"".join(_bytes(1, i) for i in inputs) + b"".join(_bytes(2, o) for o in outputs)
    body += _bytes(3, name) + _bytes(4, op)
    body += b"".join(_bytes(5, _attribute(key, value)) for key, value in attributes.items())
    return body + (_bytes(7, domain) if domain else b"")


def model(nodes, inputs, outputs, weights, opset=17, domains=()):
    """`inputs` and `outputs` are (name, dtype, shape); `weights` a dict of arrays."""
    graph = b"".join(_bytes(1, n) for n in nodes) + _bytes(2, "test")
    graph += b"".join(_bytes(5, _tensor(name, array)) for name, array in weights.items())
    graph += b"".join(_bytes(11, _value(*i)) for i in inputs) + b"".join(_bytes(12, _value(*o)) for o in outputs)
    body = _number(1, 8) + _bytes(2, "espalier-tests") + _bytes(7, graph) + _bytes(8, _number(2, opset))
    return body + b"".join(_bytes(8, _bytes(1, domain) + _number(2, 1)) for domain in domains)


def perceptron(first, second):
    """relu(x first) second on rows of `first`'s height; weights are stored in x out."""
    nodes = [
        node("MatMul", ["x", "w1"], ["h"], "hidden"),
        node("Relu", ["h"], ["r"], "relu"),
        node("MatMul", ["r", "w2"], ["y"], "scores"),
    ]
    rows, out = first.shape[0], second.shape[1]
    return model(nodes, [("x", "float32", ["batch", rows])], [("y", "float32", ["batch", out])],
                 {"w1": first, "w2": second})
