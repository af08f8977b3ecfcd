"""Average pooling on tensors: windows from keywords, and the extents of what is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

from ._arrays import as_input
from ._conv import per_axis, sides
from ._errors import argument_error, shape_error
from ._host import call
from ._lib import MAX_DIMS, Axes, WindowStruct
from ._load import library
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import flag, integer, shape_of

if TYPE_CHECKING:
    from ._context import Context


def _window(
    rank: int, extent: Any, stride: Any, padding: Any, count_padding: Any
) -> WindowStruct:
    extents = [integer(each, "extent") for each in per_axis(extent, rank, "extent")]
    steps = extents if stride is None else per_axis(stride, rank, "stride")
    begin, end = sides(padding, rank)
    return WindowStruct(
        rank=rank,
        count_padding=flag(count_padding, "count_padding"),
        extent=Axes(*extents),
        stride=Axes(*(integer(each, "stride") for each in steps)),
        pad_begin=begin,
        pad_end=end,
    )


def _rank_of(shape: Sequence[int]) -> int:
    if not 3 <= len(shape) <= MAX_DIMS:
        raise shape_error(f"{len(shape)} extents: maps have 3, 4 or 5, batch and channels first")
    return len(shape) - 2


def _pooled(shape: Sequence[int], window: WindowStruct) -> Tuple[int, ...]:
    """Extents of the means; what does not fit is the library's to refuse."""
    out = list(shape[:2])
    for axis, extent in enumerate(shape[2:]):
        room = extent + window.pad_begin[axis] + window.pad_end[axis] - window.extent[axis]
        out.append(max(room, 0) // max(window.stride[axis], 1) + 1)
    return tuple(out)


def average_pool(
    context: Context, x: Any, geometry: Tuple[Any, ...], out: Any, run: Optional[Run]
) -> Any:
    """Context.average_pool()."""
    if not isinstance(x, Tensor):
        array = as_input(x, "x")
        _rank_of(array.shape)
        if out is not None:
            raise argument_error("out is for tensors; of an array a new one is returned")
        return average_pool(context, context.tensor(array), geometry, None, run).read()
    window = _window(_rank_of(x.shape), *geometry)
    y = Tensor(context, _pooled(x.shape, window)) if out is None else out
    pointers = tensor_pointer(x, context, "x"), tensor_pointer(y, context, "out")
    call(context, library.convoy_average_pool, run, window, *pointers)
    return y


def average_pool_backward(
    context: Context, dy: Any, x_shape: Any, geometry: Tuple[Any, ...], out: Any, run: Optional[Run]
) -> Any:
    """Context.average_pool_backward()."""
    if not isinstance(dy, Tensor):
        array = context.tensor(as_input(dy, "dy"))
        if out is not None:
            raise argument_error("out is for tensors; of an array a new one is returned")
        return average_pool_backward(context, array, x_shape, geometry, None, run).read()
    shape = shape_of(x_shape, "x_shape")
    window = _window(_rank_of(shape), *geometry)
    dx = Tensor(context, shape) if out is None else out
    pointers = tensor_pointer(dy, context, "dy"), tensor_pointer(dx, context, "out")
    call(context, library.convoy_average_pool_backward, run, window, *pointers)
    return dx
