"""Resampling on tensors: modes and scales as the library takes them, and extents of results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

from ._arrays import as_input
from ._conv import per_axis
from ._errors import argument_error, shape_error
from ._host import call
from ._lib import MAX_DIMS, Interpolation, ResamplingStruct
from ._load import library
from ._move import of_either
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import member, real, shape_of, shown

if TYPE_CHECKING:
    from ._context import Context


def _rank_of(shape: Sequence[int], name: str) -> int:
    if not 3 <= len(shape) <= MAX_DIMS:
        raise shape_error(f"{name} has {len(shape)} extents: maps have 3, 4 or 5")
    return len(shape) - 2


def _scales(scale: Any, rank: int) -> Tuple[float, ...]:
    if scale is None:
        return (0.0,) * rank
    scales = tuple(real(each, "scale") for each in per_axis(scale, rank, "scale"))
    if not all(each > 0.0 and math.isfinite(each) for each in scales):
        raise argument_error(f"scale is {shown(scale)}; it must be above 0")
    return scales


def _struct(mode: Any, scale: Any, rank: int) -> ResamplingStruct:
    struct = ResamplingStruct(rank=rank, mode=member(mode, Interpolation, "mode"))
    for axis, each in enumerate(_scales(scale, rank)):
        struct.scale[axis] = each
    return struct


def _extents(x: Sequence[int], extents: Any, scale: Any, rank: int) -> Tuple[int, ...]:
    """The spatial extents of y, which may follow from the scale."""
    if extents is None and scale is None:
        raise argument_error("neither the extents of the result nor a scale is given")
    if extents is None:
        scales = _scales(scale, rank)
        return tuple(math.floor(each * by) for each, by in zip(x[2:], scales))
    given = (extents,) * rank if hasattr(extents, "__index__") else extents
    shape = shape_of(given, "extents")
    if len(shape) != rank:
        raise argument_error(f"extents are {shown(extents)}: {len(shape)} entries for {rank} axes")
    return shape


def forward(
    context: Context, x: Any, extents: Any, mode: Any, scale: Any, out: Any, run: Optional[Run]
) -> Any:
    """Context.resample()."""

    def make(tensor: Tensor, result: Any) -> Tensor:
        rank = _rank_of(tensor.shape, "x")
        struct = _struct(mode, scale, rank)
        shape = (*tensor.shape[:2], *_extents(tensor.shape, extents, scale, rank))
        y = Tensor(context, shape) if result is None else result
        pointers = tensor_pointer(tensor, context, "x"), tensor_pointer(y, context, "out")
        call(context, library.convoy_resample, run, struct, *pointers)
        return y

    return of_either(context, x if isinstance(x, Tensor) else as_input(x, "x"), out, make)


def backward(
    context: Context, dy: Any, x_shape: Any, mode: Any, scale: Any, out: Any, run: Optional[Run]
) -> Any:
    """Context.resample_backward()."""

    def make(tensor: Tensor, result: Any) -> Tensor:
        shape = shape_of(x_shape, "x_shape")
        struct = _struct(mode, scale, _rank_of(shape, "x_shape"))
        dx = Tensor(context, shape) if result is None else result
        pointers = tensor_pointer(tensor, context, "dy"), tensor_pointer(dx, context, "out")
        call(context, library.convoy_resample_backward, run, struct, *pointers)
        return dx

    return of_either(context, dy if isinstance(dy, Tensor) else as_input(dy, "dy"), out, make)
