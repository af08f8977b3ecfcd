"""Pooling on tensors: windows from keywords, and the extents of what is made."""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Tuple

from ._arrays import as_input
from ._conv import per_axis, sides
from ._errors import argument_error, check, shape_error
from ._host import call
from ._lib import MAX_DIMS, Axes, WindowStruct
from ._load import library
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import flag, integer, shape_of

if TYPE_CHECKING:
    from ._context import Context


class Window(NamedTuple):
    """What a call says of its windows."""

    extent: Any
    stride: Any
    padding: Any
    dilation: Any
    count_padding: Any
    ceil_mode: Any


def _struct(window: Window, rank: int) -> WindowStruct:
    extents = _integers(window.extent, rank, "extent")
    begin, end = sides(window.padding, rank)
    return WindowStruct(
        rank=rank,
        count_padding=flag(window.count_padding, "count_padding"),
        ceil_mode=flag(window.ceil_mode, "ceil_mode"),
        extent=Axes(*extents),
        stride=Axes(
            *(extents if window.stride is None else _integers(window.stride, rank, "stride"))
        ),
        pad_begin=begin,
        pad_end=end,
        dilation=Axes(*_integers(window.dilation, rank, "dilation")),
    )


def _integers(value: Any, rank: int, name: str) -> Sequence[int]:
    return [integer(each, name) for each in per_axis(value, rank, name)]


def _rank_of(shape: Sequence[int]) -> int:
    if not 3 <= len(shape) <= MAX_DIMS:
        raise shape_error(f"{len(shape)} extents: maps have 3, 4 or 5, batch and channels first")
    return len(shape) - 2


def _pooled(shape: Sequence[int], window: WindowStruct) -> Tuple[int, ...]:
    y_shape = (c_int64 * MAX_DIMS)()
    check(library.convoy_pool_shape(byref(window), (c_int64 * MAX_DIMS)(*shape), y_shape))
    return tuple(y_shape[: len(shape)])


def _no_out(out: Any) -> None:
    if out is not None:
        raise argument_error("out is for tensors; of an array a new one is returned")


def forward(
    context: Context, name: str, x: Any, window: Window, out: Any, run: Optional[Run]
) -> Any:
    """Context.max_pool() and Context.average_pool()."""
    if not isinstance(x, Tensor):
        array = as_input(x, "x")
        _rank_of(array.shape)
        _no_out(out)
        return forward(context, name, context.tensor(array), window, None, run).read()
    struct = _struct(window, _rank_of(x.shape))
    y = Tensor(context, _pooled(x.shape, struct)) if out is None else out
    pointers = tensor_pointer(x, context, "x"), tensor_pointer(y, context, "out")
    call(context, getattr(library, "convoy_" + name), run, struct, *pointers)
    return y


def max_backward(
    context: Context, x: Any, dy: Any, window: Window, out: Any, run: Optional[Run]
) -> Any:
    """Context.max_pool_backward()."""
    if not isinstance(x, Tensor) and not isinstance(dy, Tensor):
        left, right = context.tensor(as_input(x, "x")), context.tensor(as_input(dy, "dy"))
        _no_out(out)
        return max_backward(context, left, right, window, None, run).read()
    pointers = tensor_pointer(x, context, "x"), tensor_pointer(dy, context, "dy")
    struct = _struct(window, _rank_of(x.shape))
    dx = Tensor(context, x.shape) if out is None else out
    last = tensor_pointer(dx, context, "out")
    call(context, library.convoy_max_pool_backward, run, struct, *pointers, last)
    return dx


def average_backward(
    context: Context, dy: Any, x_shape: Any, window: Window, out: Any, run: Optional[Run]
) -> Any:
    """Context.average_pool_backward()."""
    if not isinstance(dy, Tensor):
        array = context.tensor(as_input(dy, "dy"))
        _no_out(out)
        return average_backward(context, array, x_shape, window, None, run).read()
    shape = shape_of(x_shape, "x_shape")
    struct = _struct(window, _rank_of(shape))
    dx = Tensor(context, shape) if out is None else out
    pointers = tensor_pointer(dy, context, "dy"), tensor_pointer(dx, context, "out")
    call(context, library.convoy_average_pool_backward, run, struct, *pointers)
    return dx
