"""Operations on a device that is not this processor; what forward sends is kept for backward."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import torch

from .._context import Context
from .._conv import Geometry
from .._records import Run
from ._copies import Copies
from ._operation import Operation, Tensor, in_format, keywords


def _forward(context: Context, copies: Copies, op: Operation, run: Run) -> Any:
    keep = torch.is_grad_enabled()
    x, w = copies.send(op.x, keep), copies.send(op.w, keep)
    bias = None if op.bias is None else copies.send(op.bias, False)
    return context.forward(x, w, bias, run=run, **_geometry(op))


def _backward_data(context: Context, copies: Copies, op: Operation, run: Run) -> Any:
    dy, w = copies.find(op.dy), copies.find(op.w)
    return context.backward_data(dy, w, op.at.x_shape, run=run, **_geometry(op))


def _backward_weights(context: Context, copies: Copies, op: Operation, run: Run) -> Any:
    x, dy = copies.find(op.x), copies.find(op.dy)
    return context.backward_weights(x, dy, op.at.w_shape, run=run, **_geometry(op))


def _backward_bias(context: Context, copies: Copies, op: Operation, run: Run) -> Any:
    return context.backward_bias(copies.find(op.dy), run=run)


def _geometry(op: Operation) -> Geometry:
    return keywords(op.geometry, len(op.at.x_shape) - 2)


_DIRECTIONS: Dict[str, Callable[[Context, Copies, Operation, Run], Any]] = {
    "forward": _forward,
    "backward_data": _backward_data,
    "backward_weights": _backward_weights,
    "backward_bias": _backward_bias,
}


def compute(context: Context, copies: Copies, op: Operation) -> Tuple[Tensor, str]:
    """The result, and the id of the device that computed it."""
    run = Run()
    there = _DIRECTIONS[op.direction](context, copies, op, run)
    like = op.x if op.dy is None else op.dy
    result = like.new_empty(there.shape)
    there.read(result.numpy())
    if op.direction != "backward_bias":
        result = in_format(result, op)
    return result, run.device
