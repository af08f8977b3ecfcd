"""The ways an operation can be carried out: a Convoy context, or PyTorch's own kernels. A card is
one, too (_card.py)."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Protocol, Tuple

from .._context import Context
from .._lib import DeviceType
from . import _engine, _native, _remote
from ._copies import Copies
from ._operation import Operation, Tensor
from ._statistics import PYTORCH

_SHARE = 4  # one byte in so many of a device may hold copies for backward


class Way(Protocol):
    """`name` is "pytorch" or the id of a device, which `device` describes."""

    name: str
    device: Any

    def compute(self, op: Operation) -> Tuple[Tensor, str]: ...

    def forget(self, operands: Iterable[Tensor]) -> None: ...


class ConvoyWay:
    """Through a context. `name` is the id of its device."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.device = context.device
        self.name = self.device.id
        self._copies: Optional[Copies] = None
        if self.device.type != DeviceType.CPU_ENGINE:
            self._copies = Copies(context, self.device.memory_bytes // _SHARE)

    def compute(self, op: Operation) -> Tuple[Tensor, str]:
        """The result, and where it was computed: elsewhere, if the device failed."""
        if self._copies is None:
            return _engine.compute(self.context, op), self.name
        return _remote.compute(self.context, self._copies, op)

    def forget(self, operands: Iterable[Tensor]) -> None:
        """These will have to be sent again."""
        if self._copies is not None:
            for operand in operands:
                self._copies.forget(operand)


class PytorchWay:
    """By PyTorch's own kernels."""

    name, device = PYTORCH, None

    def compute(self, op: Operation) -> Tuple[Tensor, str]:
        return _native.compute(op), PYTORCH

    def forget(self, operands: Iterable[Tensor]) -> None:
        """Nothing is kept."""
