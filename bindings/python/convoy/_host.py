"""The operations on arrays: synchronous, on the caller's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

import numpy as np

from ._arrays import as_input, as_output, check_apart, pointer
from ._conv import Geometry, Layout, Shape, layout
from ._errors import argument_error, check
from ._lib import EpilogueStruct, RunStruct
from ._load import library
from ._records import Run, values_of
from ._values import shown

if TYPE_CHECKING:
    from ._context import Context


def fill(context: Context, run: Optional[Run], function: Callable[..., int]) -> None:
    """Calls it with the context's pointer and the struct that tells of the run, and fills `run`."""
    if not isinstance(run, (Run, type(None))):
        raise argument_error(f"run is {shown(run)}, not a convoy.Run to be filled")
    struct = None if run is None else RunStruct()
    with context._handle as handle:
        check(function(handle, struct))
    if run is not None and struct is not None:
        vars(run).update(values_of(Run, struct))


def call(context: Context, function: Callable[..., int], run: Optional[Run], *args: Any) -> None:
    """Calls a C operation and fills `run`."""
    fill(context, run, lambda handle, struct: function(handle, *args, struct))


def need_output(out: Any, accumulate: bool) -> None:
    if accumulate and out is None:
        raise argument_error("accumulate adds to out, and no out is given")


def _output(
    out: Any, shape: Shape, inputs: Sequence[Optional[np.ndarray]], accumulate: bool = False
) -> np.ndarray:
    need_output(out, accumulate)
    if out is None:
        return np.empty(shape, np.float32)
    array = as_output(out, "out", shape)
    check_apart(array, inputs)
    return array


def forward(
    context: Context,
    x: Any,
    w: Any,
    bias: Any,
    epilogue: EpilogueStruct,
    out: Any,
    run: Optional[Run],
    geometry: Geometry,
) -> np.ndarray:
    x, w = as_input(x, "x"), as_input(w, "w")
    at = layout(x.shape, w.shape, geometry)
    bias = None if bias is None else as_input(bias, "bias", at.y_shape[1:2])
    y = _output(out, at.y_shape, [x, w, bias])
    arrays = at.x_extents, pointer(x), at.w_extents, pointer(w), pointer(bias)
    call(context, library.convoy_forward_host, run, at.conv, *arrays, epilogue, pointer(y))
    return y


def backward_data(
    context: Context,
    dy: Any,
    w: Any,
    x_shape: Shape,
    out: Any,
    accumulate: bool,
    run: Optional[Run],
    geometry: Geometry,
) -> np.ndarray:
    w = as_input(w, "w")
    at = layout(x_shape, w.shape, geometry)
    dy = as_input(dy, "dy", at.y_shape)
    dx = _output(out, at.x_shape, [dy, w], accumulate)
    arrays = at.x_extents, pointer(dy), at.w_extents, pointer(w), float(accumulate), pointer(dx)
    call(context, library.convoy_backward_data_host, run, at.conv, *arrays)
    return dx


def backward_weights(
    context: Context,
    x: Any,
    dy: Any,
    w_shape: Shape,
    out: Any,
    accumulate: bool,
    run: Optional[Run],
    geometry: Geometry,
) -> np.ndarray:
    x = as_input(x, "x")
    at = layout(x.shape, w_shape, geometry)
    dy = as_input(dy, "dy", at.y_shape)
    dw = _output(out, at.w_shape, [x, dy], accumulate)
    arrays = at.x_extents, pointer(x), at.w_extents, pointer(dy), float(accumulate), pointer(dw)
    call(context, library.convoy_backward_weights_host, run, at.conv, *arrays)
    return dw


def backward_bias(
    context: Context, dy: Any, out: Any, accumulate: bool, run: Optional[Run]
) -> np.ndarray:
    dy = as_input(dy, "dy")
    at = bias_layout(dy.shape)
    db = _output(out, at.y_shape[1:2], [dy], accumulate)
    arrays = at.x_extents, at.w_extents, pointer(dy), float(accumulate), pointer(db)
    call(context, library.convoy_backward_bias_host, run, at.conv, *arrays)
    return db


def bias_layout(dy_shape: Shape) -> Layout:
    """Any convolution with this output has the same sum: here one that keeps each channel."""
    channels = dy_shape[1] if len(dy_shape) > 1 else 1
    return layout(dy_shape, (channels,) + (1,) * (len(dy_shape) - 1), {"groups": channels})
