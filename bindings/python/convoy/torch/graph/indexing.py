"""Elements at places that indices name, where those are the same in each run, and the gradient.

Indices as networks have them, of a window's relative positions or of a map that is rolled, are
mostly made of strides: then it is a copy, or a few. What is not becomes a product with a matrix of
zeros and ones, in which a value that is not finite is one everywhere.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import torch

from .boxes import Axis
from .constants import elements_of
from .emitter import Emitter, reshaped
from .errors import Unsupported
from .moves import concatenated
from .products import product
from .table import operator
from .values import Shape, Value, constant

_MOST_COPIES = 8
_MOST_CHOSEN = 1 << 23  # elements of a matrix of zeros and ones


class _Chosen(NamedTuple):
    """Places along neighbouring axes of an array, joined to one: `index` counts them in order."""

    first: int  # the first of those axes
    behind: int  # the first behind them
    count: int  # extents of those axes, multiplied
    index: torch.Tensor  # int64, of the extents that the result has in their place


def _joined(shape: Shape, indices: Sequence[Optional[torch.Tensor]]) -> _Chosen:
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    if not axes or axes != list(range(axes[0], axes[-1] + 1)):
        raise Unsupported("indices of axes that are no neighbours")
    joined = torch.zeros((), dtype=torch.int64)
    for axis in axes:
        index, extent = indices[axis], shape[axis]
        assert index is not None
        if index.dtype not in (torch.int64, torch.int32):
            raise Unsupported(f"indices of {index.dtype}")
        joined = joined * extent + index.long().remainder(extent)
    return _Chosen(axes[0], axes[-1] + 1, math.prod(shape[axes[0] : axes[-1] + 1]), joined)


def _constants(indices: Sequence[Any]) -> List[Optional[torch.Tensor]]:
    found: List[Optional[torch.Tensor]] = []
    for each in indices:
        if each is not None and each.array.constant is None:
            raise Unsupported("indices that are computed")
        found.append(None if each is None else elements_of(each))
    return found


# -------------------------------------------------------------------------------------- strides


def _runs(places: torch.Tensor) -> List[torch.Tensor]:
    """Pieces that each have one stride, as many as it takes."""
    steps = places.diff()
    if not len(steps):
        return [places]
    pieces, begin = [], 0
    changes = (steps.diff() != 0).nonzero().flatten().add(1).tolist()
    for at in [*changes, len(steps)]:
        if at > begin or begin == 0:
            pieces.append(places[begin : at + 1])
            begin = at + 1
    if begin < len(places):
        pieces.append(places[begin:])
    return pieces


def _nested(places: torch.Tensor) -> Optional[List[Tuple[int, int]]]:
    """Extents and strides, the outermost first, that give these places; None where none do."""
    count = len(places)
    if count == 1:
        return []
    steps = places.diff()
    changes = (steps != steps[0]).nonzero().flatten()
    length = int(changes[0]) + 1 if len(changes) else count
    inner = length, int(steps[0])
    if length == count:
        return [inner]
    if count % length:
        return None
    rows = places.reshape(-1, length)
    if not bool((rows - rows[:, :1] == rows[0] - rows[0, 0]).all()):
        return None
    outer = _nested(rows[:, 0])
    return None if outer is None else [*outer, inner]


def _copied(e: Emitter, value: Value, places: torch.Tensor) -> Optional[Value]:
    """Of [before][count][behind] the places along the middle axis, by one copy."""
    strides = _nested(places)
    if strides is None or len(strides) > 6:
        return None
    before, _, behind = value.shape
    outer, middle, inner = value.meta.stride()
    axes = [Axis(before, before, outer)]
    axes += [Axis(extent, extent, stride * middle) for extent, stride in strides]
    axes.append(Axis(behind, behind, inner))
    made = e.box(value, axes, value.offset + int(places[0]) * middle)
    return reshaped(made, (before, len(places), behind))


def _by_copies(e: Emitter, value: Value, places: torch.Tensor) -> Optional[Value]:
    whole = _copied(e, value, places)
    if whole is not None:
        return whole
    runs = _runs(places)
    if len(runs) > _MOST_COPIES:
        return None
    parts = [_copied(e, value, run) for run in runs]
    return concatenated(e, [each for each in parts if each is not None], 1)


# ------------------------------------------------------------------------------------- products


def _matrix(e: Emitter, places: torch.Tensor, count: int) -> Value:
    """[places][count], a one in each row."""
    if len(places) * count > _MOST_CHOSEN:
        raise Unsupported(f"{len(places)} places of {count} in no order")
    key = "chosen", count, places.numpy().tobytes()
    if key not in e.shared:
        matrix = torch.zeros(len(places), count)
        matrix[torch.arange(len(places)), places] = 1
        e.shared[key] = constant(matrix)
    return e.shared[key]


def _transposed(value: Value) -> Value:
    return Value(value.array, value.meta.transpose(-1, -2))


def _multiplied(e: Emitter, matrix: Value, value: Value) -> Value:
    """The matrix times each of [before][count][behind]."""
    before, count, behind = value.shape
    if before == 1:
        made = product(e, matrix, reshaped(e.dense(value), (count, behind)))
    elif behind == 1:
        rows = reshaped(e.dense(value), (before, count))
        made = product(e, rows, _transposed(matrix))
    else:
        one = Value(matrix.array, matrix.meta.unsqueeze(0))
        made = product(e, one, value)
    return reshaped(made, (before, matrix.shape[0], behind))


# ------------------------------------------------------------------------------------ operators


def _middle(e: Emitter, value: Value, chosen: _Chosen) -> Value:
    """As [before][count][behind]."""
    before = math.prod(value.shape[: chosen.first])
    behind = math.prod(value.shape[chosen.behind :])
    return reshaped(e.dense(value), (before, chosen.count, behind))


def _check(value: Value) -> None:
    if value.dtype is not torch.float32:
        raise Unsupported(f"elements of {value.dtype} by indices")


def chosen(e: Emitter, value: Value, at: _Chosen) -> Value:
    _check(value)
    shape = (*value.shape[: at.first], *at.index.shape, *value.shape[at.behind :])
    places = at.index.reshape(-1)
    middle = _middle(e, value, at)
    made = _by_copies(e, middle, places)
    if made is None:
        made = _multiplied(e, _matrix(e, places, at.count), middle)
    return reshaped(made, shape)


def placed(e: Emitter, values: Value, shape: Shape, at: _Chosen) -> Value:
    """The gradient: each value at its place, added where several have the same one."""
    _check(values)
    places = at.index.reshape(-1)
    before, behind = math.prod(shape[: at.first]), math.prod(shape[at.behind :])
    middle = reshaped(e.dense(values), (before, len(places), behind))
    made = None
    if len(places) == at.count and len(places.unique()) == at.count:  # one value for each place
        made = _by_copies(e, middle, places.argsort())
    if made is None:
        made = _multiplied(e, _transposed(_matrix(e, places, at.count)), middle)
    return reshaped(made, shape)


@operator("index.Tensor", "_unsafe_index.Tensor")
def _index(e: Emitter, a: SimpleNamespace) -> Value:
    return chosen(e, a.self, _joined(a.self.shape, _constants(a.indices)))


@operator("index_select.default")
def _index_select(e: Emitter, a: SimpleNamespace) -> Value:
    return chosen(e, a.self, _along(a))


@operator("index_put.default", "_unsafe_index_put.default")
def _index_put(e: Emitter, a: SimpleNamespace) -> Value:
    if not a.accumulate:
        raise Unsupported("elements that are written by indices")
    at = _joined(a.self.shape, _constants(a.indices))
    shape = (*a.self.shape[: at.first], *at.index.shape, *a.self.shape[at.behind :])
    values = Value(a.values.array, a.values.meta.expand(shape))
    return _added(e, a.self, placed(e, values, a.self.shape, at))


@operator("index_add.default")
def _index_add(e: Emitter, a: SimpleNamespace) -> Value:
    if a.alpha != 1:
        raise Unsupported("a multiple that is added by indices")
    return _added(e, a.self, placed(e, a.source, a.self.shape, _along(a)))


def _along(a: SimpleNamespace) -> _Chosen:
    """One axis, and an index with one axis."""
    indices: List[Any] = [None] * (a.dim % len(a.self.shape)) + [a.index]
    return _joined(a.self.shape, _constants(indices))


def _added(e: Emitter, value: Value, more: Value) -> Value:
    if value.array.constant is not None and not bool(elements_of(value).any()):
        return more
    return e.elementwise("y = x0 + x1", [value, more], value.shape)
