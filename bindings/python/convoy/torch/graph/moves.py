"""Operators that move elements: padding, parts of tensors and their gradients, concatenation."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, List, Sequence

import torch

from .axes import MOST
from .boxes import Axis
from .emitter import Emitter, reshaped
from .errors import Unsupported
from .table import operator
from .values import Value


def _axes(value: Value) -> List[Axis]:
    """All of a value, where it is."""
    return [Axis(n, n, stride) for n, stride in zip(value.shape, value.meta.stride())]


# -------------------------------------------------------------------------------------- padding


@operator("constant_pad_nd.default")
def _pad(e: Emitter, a: SimpleNamespace) -> Value:
    """Pairs for the last axes, the last first; negative ones cut off."""
    axes, offset = _axes(a.self), a.self.offset
    for pair in range(len(a.pad) // 2):
        at = len(axes) - 1 - pair
        before, behind = a.pad[2 * pair], a.pad[2 * pair + 1]
        extent, _, stride, _, _ = axes[at]
        cut = max(-before, 0)
        count = extent - cut - max(-behind, 0)
        axes[at] = Axis(extent + before + behind, count, stride, max(before, 0))
        offset += cut * stride
    return e.box(a.self, axes, offset, float(a.value))


@operator("flip.default")
def _flip(e: Emitter, a: SimpleNamespace) -> Value:
    axes, offset = _axes(a.self), a.self.offset
    for dim in a.dims:
        axis = axes[dim]
        axes[dim] = axis._replace(stride=-axis.stride)
        offset += (axis.extent - 1) * axis.stride
    return e.box(a.self, axes, offset)


# ---------------------------------------------------------------------------- gradients of parts


def _bounds(extent: int, start: Any, end: Any) -> range:
    return range(*slice(start, end).indices(extent))


def _placed(
    e: Emitter, value: Value, shape: Sequence[int], dim: int, begin: int, step: int = 1
) -> Value:
    """The value within zeros."""
    axes = _axes(value)
    axes[dim] = axes[dim]._replace(extent=shape[dim], begin=begin, step=step)
    return e.box(value, axes, value.offset)


@operator("slice_backward.default")
def _slice_backward(e: Emitter, a: SimpleNamespace) -> Value:
    places = _bounds(a.input_sizes[a.dim], a.start, a.end)
    return _placed(e, a.grad_output, a.input_sizes, a.dim, places.start, a.step)


@operator("select_backward.default")
def _select_backward(e: Emitter, a: SimpleNamespace) -> Value:
    dim = a.dim % len(a.input_sizes)
    grad = Value(a.grad_output.array, a.grad_output.meta.unsqueeze(dim))
    return _placed(e, grad, a.input_sizes, dim, a.index % a.input_sizes[dim])


# --------------------------------------------------------------------------------- concatenation


def concatenated(e: Emitter, values: Sequence[Value], dim: int) -> Value:
    """Of tensors that PyTorch takes: those of one axis without elements count for nothing."""
    values = [each for each in values if each.shape != (0,)]
    if any(each.dtype not in (torch.float32, torch.bool) for each in values):
        raise Unsupported("a concatenation of other types")
    if len(values) == 1:
        return values[0]
    shape = list(values[0].shape)
    dim %= len(shape)
    shape[dim] = sum(each.shape[dim] for each in values)
    parts = [e.shaped(each, _extents(each.shape, dim)) for each in values]
    y = e.context.concatenate(parts, dim if len(shape) <= MOST else 1)
    return e.result(y, shape, values[0].dtype)


def _extents(shape: Sequence[int], dim: int) -> Sequence[int]:
    """Those of PyTorch, or what is before the axis and behind it as one each."""
    if len(shape) <= MOST:
        return shape
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


@operator("cat.default")
def _cat(e: Emitter, a: SimpleNamespace) -> Value:
    return concatenated(e, a.tensors, a.dim)


@operator("stack.default")
def _stack(e: Emitter, a: SimpleNamespace) -> Value:
    dim = a.dim % (len(a.tensors[0].shape) + 1)
    parts = [Value(each.array, each.meta.unsqueeze(dim)) for each in a.tensors]
    return concatenated(e, parts, dim)


@operator("slice_scatter.default")
def _slice_scatter(e: Emitter, a: SimpleNamespace) -> Value:
    if a.step != 1:
        raise Unsupported("a part with a step that is written")
    places = _bounds(a.self.shape[a.dim], a.start, a.end)
    return _written(e, a.self, a.src, a.dim, places.start, places.stop)


@operator("select_scatter.default")
def _select_scatter(e: Emitter, a: SimpleNamespace) -> Value:
    dim = a.dim % len(a.self.shape)
    index = a.index % a.self.shape[dim]
    part = Value(a.src.array, a.src.meta.unsqueeze(dim))
    return _written(e, a.self, part, dim, index, index + 1)


def _written(e: Emitter, value: Value, part: Value, dim: int, start: int, stop: int) -> Value:
    """The value with a part in place of its own."""
    before = value.meta.narrow(dim, 0, start)
    behind = value.meta.narrow(dim, stop, value.shape[dim] - stop)
    kept = [Value(value.array, each) for each in (before, behind)]
    parts = [kept[0], part, kept[1]]
    return concatenated(e, [each for each in parts if each.size], dim)


@operator("as_strided_scatter.default")
def _as_strided_scatter(e: Emitter, a: SimpleNamespace) -> Value:
    """What is written is all of the memory, in another order of its axes."""
    order = sorted(range(len(a.size)), key=lambda axis: -a.stride[axis])
    order = [axis for axis in order if a.size[axis] > 1]
    steps = [math.prod(a.size[inner] for inner in order[at + 1 :]) for at in range(len(order))]
    is_all = math.prod(a.size) == a.self.size and not a.storage_offset
    if not is_all or steps != [a.stride[axis] for axis in order]:
        raise Unsupported("a part of a tensor's memory that is written")
    ones = [axis for axis, extent in enumerate(a.size) if extent == 1]
    part = Value(a.src.array, a.src.meta.permute(*ones, *order))
    return reshaped(e.dense(part), a.self.shape)


@operator("copy.default")
def _copy(e: Emitter, a: SimpleNamespace) -> Value:
    """The source in the extents of what is written."""
    if a.src.dtype is not a.self.dtype:
        raise Unsupported(f"a copy of {a.src.dtype} to {a.self.dtype}")
    expanded = Value(a.src.array, a.src.meta.expand(a.self.shape))
    return e.dense(expanded)
