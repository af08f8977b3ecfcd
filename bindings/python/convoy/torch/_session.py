"""What enable() turns on: the two operators overridden, and what they need."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Optional, Tuple

import torch

from .._context import Context
from .._records import Health
from . import _engine, _native
from ._device import open_device
from ._operation import GRADIENTS, Operation, Tensor, admit
from ._statistics import PYTORCH, Statistics

FORKED = "in a forked child"


class Session:
    """Overrides aten::convolution and aten::convolution_backward for the CPU until close().

    The context is opened by the first operation that needs it: not by importing, and not before
    a trainer has started the processes it starts.
    """

    def __init__(self, device: Optional[str] = None) -> None:
        self.device = device
        self.statistics = Statistics()
        self._context: Optional[Context] = None
        self._last_health: Optional[Health] = None
        self._opening = threading.Lock()
        self._forked = False
        _sessions.add(self)
        self._library: Any = torch.library.Library("aten", "IMPL")
        self._library.impl("convolution", self._convolution, "CPU")
        self._library.impl("convolution_backward", self._convolution_backward, "CPU")

    def close(self) -> None:
        """PyTorch's own kernels again; the device is given back."""
        library, self._library = self._library, None
        if hasattr(library, "_destroy"):
            library._destroy()
        del library  # PyTorch 1.13 unregisters when the object goes
        context, self._context = self._context, None
        if context is not None:
            self._last_health = context.health()
            context.close()

    def context(self) -> Context:
        with self._opening:
            if self._context is None:
                self._context = open_device(self.device)
            return self._context

    @property
    def inherited(self) -> bool:
        """Whether it was made by a process of which this one is a forked child."""
        return self._forked

    def health(self) -> Optional[Health]:
        """What befell the device; None before the first operation."""
        return self._last_health if self._context is None else self._context.health()

    def after_fork(self) -> None:
        """A child, such as a DataLoader's worker, leaves device and cores to its parent."""
        self._forked = True
        self._opening = threading.Lock()
        self.statistics.after_fork()

    # ------------------------------------------------------------------------ the operators

    def _convolution(
        self, x: Tensor, w: Tensor, bias: Optional[Tensor], *geometry: Any
    ) -> Tensor:
        at = FORKED if self._forked else admit(x, w, geometry, bias=bias)
        if isinstance(at, str):
            self.statistics.count(PYTORCH, "forward", at)
            return _native.forward(x, w, bias, *geometry)
        return self._run(Operation("forward", at, geometry, x=x, w=w, bias=bias))

    def _convolution_backward(
        self, dy: Tensor, x: Tensor, w: Tensor, bias_sizes: Any, *rest: Any
    ) -> Tuple[Optional[Tensor], ...]:
        geometry, mask = rest[:-1], rest[-1]
        wanted = [name for name, needed in zip(GRADIENTS, mask) if needed]
        at = FORKED if self._forked else admit(x, w, geometry, dy=dy)
        if isinstance(at, str):
            for name in wanted:
                self.statistics.count(PYTORCH, name, at)
            return _native.backward(dy, x, w, bias_sizes, *rest)
        results = {
            name: self._run(Operation(name, at, geometry, x=x, w=w, dy=dy)) for name in wanted
        }
        return tuple(results.get(name) for name in GRADIENTS)

    def _run(self, operation: Operation) -> Tensor:
        result, where = _engine.compute(self.context(), operation)
        self.statistics.count(where, operation.direction)
        return result


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _after_fork() -> None:
    for session in list(_sessions):
        session.after_fork()


os.register_at_fork(after_in_child=_after_fork)
