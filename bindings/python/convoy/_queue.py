"""The operations on tensors: checked and enqueued here, computed later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._conv import Geometry, Shape, layout
from ._errors import shape_error
from ._host import bias_layout, call, need_output
from ._lib import EpilogueStruct
from ._load import library
from ._records import Run
from ._tensor import Tensor, tensor_pointer

if TYPE_CHECKING:
    from ._context import Context


def _output(
    context: Context, out: Optional[Tensor], shape: Shape, accumulate: bool = False
) -> Tensor:
    need_output(out, accumulate)
    return Tensor(context, shape) if out is None else out


def forward(
    context: Context,
    x: Any,
    w: Any,
    bias: Any,
    epilogue: EpilogueStruct,
    out: Any,
    run: Optional[Run],
    geometry: Geometry,
) -> Tensor:
    operands = [
        tensor_pointer(x, context, "x"),
        tensor_pointer(w, context, "w"),
        None if bias is None else tensor_pointer(bias, context, "bias"),
    ]
    at = layout(x.shape, w.shape, geometry)
    y = _output(context, out, at.y_shape)
    out_pointer = tensor_pointer(y, context, "out")
    call(context, library.convoy_forward, run, at.conv, *operands, epilogue, out_pointer)
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
) -> Tensor:
    operands = [tensor_pointer(dy, context, "dy"), tensor_pointer(w, context, "w")]
    at = layout(x_shape, w.shape, geometry)
    dx = _matching(_output(context, out, at.x_shape, accumulate), at.x_shape)
    result = float(accumulate), tensor_pointer(dx, context, "out")
    call(context, library.convoy_backward_data, run, at.conv, *operands, *result)
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
) -> Tensor:
    operands = [tensor_pointer(x, context, "x"), tensor_pointer(dy, context, "dy")]
    at = layout(x.shape, w_shape, geometry)
    dw = _matching(_output(context, out, at.w_shape, accumulate), at.w_shape)
    result = float(accumulate), tensor_pointer(dw, context, "out")
    call(context, library.convoy_backward_weights, run, at.conv, *operands, *result)
    return dw


def backward_bias(
    context: Context, dy: Any, out: Any, accumulate: bool, run: Optional[Run]
) -> Tensor:
    operand = tensor_pointer(dy, context, "dy")
    at = bias_layout(dy.shape)
    db = _output(context, out, at.y_shape[1:2], accumulate)
    result = float(accumulate), tensor_pointer(db, context, "out")
    call(context, library.convoy_backward_bias, run, at.conv, operand, *result)
    return db


def _matching(out: Tensor, shape: Shape) -> Tensor:
    """C takes the shape of a gradient from its tensor, so a wrong one must not get there."""
    if isinstance(out, Tensor) and out.shape != tuple(shape):
        raise shape_error(f"out has shape {out.shape}, it must be {tuple(shape)}")
    return out
