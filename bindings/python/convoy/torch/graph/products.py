"""Matrix products."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Tuple

import torch

from ..._tensor import Tensor as DeviceTensor
from .emitter import Emitter
from .errors import Unsupported
from .programs import literal
from .table import operator
from .values import Value


def _swapped(value: Value) -> Value:
    return Value(value.array, value.meta.transpose(-1, -2))


def _side(e: Emitter, value: Value) -> Tuple[DeviceTensor, bool]:
    """A factor where it is, and whether it lies transposed there."""
    if value.dtype is not torch.float32:
        raise Unsupported(f"a product of {value.dtype}")
    swapped = _swapped(value)
    if not value.is_dense() and swapped.is_dense():
        return e.shaped(swapped, swapped.shape), True
    return e.shaped(value, value.shape), False


def product(e: Emitter, a: Value, b: Value) -> Value:
    """Of matrices, or of as many in a batch, or of one with each of a batch."""
    (left, left_turned), (right, right_turned) = _side(e, a), _side(e, b)
    y = e.context.matmul(left, right, transpose_a=left_turned, transpose_b=right_turned)
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return e.result(y, (*batch, a.shape[-2], b.shape[-1]))


@operator("mm.default", "bmm.default")
def _mm(e: Emitter, a: SimpleNamespace) -> Value:
    return product(e, a.self, a.mat2)


def _with(e: Emitter, a: SimpleNamespace, y: Value) -> Value:
    """beta self + alpha y."""
    if a.self.dtype is not torch.float32:
        raise Unsupported(f"a product added to {a.self.dtype}")
    if a.beta == 0:
        return e.elementwise(f"y = x0 * {literal(a.alpha)}", [y], y.shape)
    text = f"y = x0 * {literal(a.alpha)} + x1 * {literal(a.beta)}"
    return e.elementwise(text, [y, a.self], y.shape)


@operator("addmm.default")
def _addmm(e: Emitter, a: SimpleNamespace) -> Value:
    return _with(e, a, product(e, a.mat1, a.mat2))


@operator("baddbmm.default")
def _baddbmm(e: Emitter, a: SimpleNamespace) -> Value:
    return _with(e, a, product(e, a.batch1, a.batch2))


def _column(value: Value) -> Value:
    return Value(value.array, value.meta.unsqueeze(-1))


def _without(value: Value, axis: int) -> Value:
    return Value(value.array, value.meta.squeeze(axis))


@operator("mv.default")
def _mv(e: Emitter, a: SimpleNamespace) -> Value:
    return _without(product(e, a.self, _column(a.vec)), -1)


@operator("addmv.default")
def _addmv(e: Emitter, a: SimpleNamespace) -> Value:
    return _with(e, a, _without(product(e, a.mat, _column(a.vec)), -1))


@operator("dot.default")
def _dot(e: Emitter, a: SimpleNamespace) -> Value:
    for each in (a.self, a.tensor):
        if each.dtype is not torch.float32:
            raise Unsupported(f"a product of {each.dtype}")
    return e.reduce("s = sum over {axes} of a * b", [a.self, a.tensor], [0])[0]
