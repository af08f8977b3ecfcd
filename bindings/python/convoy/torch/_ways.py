"""The ways an operation can be carried out: a Convoy context, or PyTorch's own kernels."""

from __future__ import annotations

from typing import Tuple

from .._context import Context
from . import _engine, _native
from ._operation import Operation, Tensor
from ._statistics import PYTORCH


class ConvoyWay:
    """Through a context. `name` is the id of its device."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.device = context.device
        self.name = self.device.id

    def compute(self, op: Operation) -> Tuple[Tensor, str]:
        """The result, and where it was computed: elsewhere, if the device failed."""
        return _engine.compute(self.context, op)


class PytorchWay:
    name = PYTORCH

    def compute(self, op: Operation) -> Tuple[Tensor, str]:
        return _native.compute(op), PYTORCH
