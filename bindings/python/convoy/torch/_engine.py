"""Operations on the CPU engine: on the memory of PyTorch's tensors, without numpy between."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Optional

from .._context import Context
from .._errors import check
from .._load import library
from ._operation import Operation, Tensor, in_format


def _address(tensor: Optional[Tensor]) -> Any:
    """The elements as C takes them; None stays None. The caller keeps the tensor."""
    return None if tensor is None else ctypes.c_float.from_address(tensor.data_ptr())


def _forward(handle: int, op: Operation) -> Tensor:
    x, w = op.x.contiguous(), op.w.contiguous()
    bias = None if op.bias is None else op.bias.contiguous()
    y = x.new_empty(op.at.y_shape)
    operands = op.at.x_extents, _address(x), op.at.w_extents, _address(w), _address(bias)
    check(library.convoy_forward_host(handle, op.at.conv, *operands, None, _address(y), None))
    return in_format(y, op)


def _backward_data(handle: int, op: Operation) -> Tensor:
    dy, w = op.dy.contiguous(), op.w.contiguous()
    dx = dy.new_empty(op.at.x_shape)
    operands = op.at.x_extents, _address(dy), op.at.w_extents, _address(w), 0.0, _address(dx)
    check(library.convoy_backward_data_host(handle, op.at.conv, *operands, None))
    return in_format(dx, op)


def _backward_weights(handle: int, op: Operation) -> Tensor:
    x, dy = op.x.contiguous(), op.dy.contiguous()
    dw = dy.new_empty(op.at.w_shape)
    operands = op.at.x_extents, _address(x), op.at.w_extents, _address(dy), 0.0, _address(dw)
    check(library.convoy_backward_weights_host(handle, op.at.conv, *operands, None))
    return in_format(dw, op)


def _backward_bias(handle: int, op: Operation) -> Tensor:
    dy = op.dy.contiguous()
    db = dy.new_empty(op.at.y_shape[1:2])
    operands = op.at.x_extents, op.at.w_extents, _address(dy), 0.0, _address(db)
    check(library.convoy_backward_bias_host(handle, op.at.conv, *operands, None))
    return db


_DIRECTIONS: Dict[str, Callable[[int, Operation], Tensor]] = {
    "forward": _forward,
    "backward_data": _backward_data,
    "backward_weights": _backward_weights,
    "backward_bias": _backward_bias,
}


def compute(context: Context, op: Operation) -> Tensor:
    with context._handle as handle:
        return _DIRECTIONS[op.direction](handle, op)
