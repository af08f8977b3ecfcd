"""Copies between strided views (convoy_copy), of which all moves are made."""

from __future__ import annotations

from ctypes import byref
from typing import List, NamedTuple, Sequence

from ..._context import Context
from ..._host import call
from ..._lib import BOX_AXES, BoxStruct
from ..._load import library
from ..._tensor import Tensor as DeviceTensor
from .errors import Unsupported


class Axis(NamedTuple):
    """Of the result: its extent; how many elements are taken from the operand, how far apart they
    are there, and at which places of the result, from `begin` on, they go."""

    extent: int
    taken: int
    stride: int
    begin: int = 0
    step: int = 1


def box(
    context: Context,
    source: DeviceTensor,
    axes: Sequence[Axis],
    offset: int,
    out: DeviceTensor,
    fill: float = 0.0,
) -> None:
    """Copies from the source, from element `offset` on; what else the result has becomes `fill`."""
    if len(axes) > BOX_AXES:
        raise Unsupported(f"a copy of {len(axes)} axes")
    listed: List[Axis] = list(axes) or [Axis(1, 1, 0)]
    struct = BoxStruct(axes=len(listed), offset=offset, fill=fill)
    for at, axis in enumerate(listed):
        struct.extent[at], struct.count[at] = axis.extent, axis.taken
        struct.stride[at], struct.begin[at], struct.step[at] = axis.stride, axis.begin, axis.step
    pointers = source._owned.pointer, out._owned.pointer
    call(context, library.convoy_copy, None, byref(struct), *pointers)
