"""CONVOY_CHECK=1: every result of Convoy is compared with PyTorch's before it is handed out.

Both round: each may be 4 (len + 2) 2^-24 sum|a||b| from the exact result (convoy.h), len being the
number of terms of the sum. The sum of magnitudes is the same operation on the operands' magnitudes.
"""

from __future__ import annotations

import math
from typing import Optional

import torch

from .._errors import WrongResultError
from .._lib import Status
from . import _native
from ._operation import Operation, Tensor, describe

_UNIT = 2.0**-24


def _terms(op: Operation) -> int:
    """An upper bound of the number of terms that are summed for one element of the result."""
    at = op.at
    taps = math.prod(at.w_shape[2:])
    places = at.y_shape[0] * math.prod(at.y_shape[2:])
    inputs = at.x_shape[0] * math.prod(at.x_shape[2:])
    lengths = {
        "forward": taps * max(at.w_shape[:2]) + 1,  # 1: the bias
        "backward_data": taps * max(at.w_shape[:2]),
        "backward_weights": max(places, inputs),
        "backward_bias": places,
    }
    return lengths[op.direction]


def _magnitudes(op: Operation) -> Operation:
    def absolute(tensor: Optional[Tensor]) -> Optional[Tensor]:
        return None if tensor is None else tensor.detach().abs()

    return op._replace(
        x=absolute(op.x), w=absolute(op.w), bias=absolute(op.bias), dy=absolute(op.dy)
    )


def check(op: Operation, result: Tensor, where: str) -> None:
    """Raises WrongResultError if rounding alone does not explain the difference from PyTorch."""
    wanted = _native.compute(op)
    bound = _native.compute(_magnitudes(op)).mul_(8 * (_terms(op) + 2) * _UNIT)
    excess = (result - wanted).abs_() - bound
    wrong = ~(excess <= 0) & ~(torch.isnan(result) & torch.isnan(wanted)) & (result != wanted)
    if bool(wrong.any()):
        raise WrongResultError(
            Status.ERR_WRONG,
            f"{where} and PyTorch differ in {int(wrong.sum())} of {result.numel()} elements of "
            f"{describe(op)}, the largest by {float((result - wanted).abs().max()):.3g}",
        )
