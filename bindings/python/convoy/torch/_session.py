"""What enable() turns on: the two operators overridden, and what they need."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from .._context import Context
from .._lib import DeviceType
from .._records import Health
from . import _native
from ._check import check
from ._device import open_device
from ._operation import GRADIENTS, Operation, Tensor, admit
from ._routes import Fixed, Measured, Routes, Way
from ._statistics import PYTORCH, Statistics
from ._ways import ConvoyWay, PytorchWay

FORKED = "in a forked child"
MEASURED = "measured to be faster"


class Session:
    """Overrides aten::convolution and aten::convolution_backward for the CPU until close().

    Devices are opened by the first operation that needs them: not by importing, and not before a
    trainer has started the processes it starts.
    """

    def __init__(self, device: Optional[str], route: str) -> None:
        self.settings = device, route
        self.statistics = Statistics()
        self._routes: Optional[Routes] = None
        self._contexts: List[Context] = []  # the device's first
        self._last_health: Optional[Health] = None
        self._opening = threading.Lock()
        self._checked = os.environ.get("CONVOY_CHECK") == "1"
        self._forked = False
        _sessions.add(self)
        self._library: Any = torch.library.Library("aten", "IMPL")
        self._library.impl("convolution", self._convolution, "CPU")
        self._library.impl("convolution_backward", self._convolution_backward, "CPU")

    def close(self) -> None:
        """PyTorch's own kernels again; devices are given back."""
        library, self._library = self._library, None
        if hasattr(library, "_destroy"):
            library._destroy()
        del library  # PyTorch 1.13 unregisters when the object goes
        self._last_health = self.health()
        contexts, self._contexts, self._routes = self._contexts, [], None
        for context in contexts:
            context.close()

    @property
    def inherited(self) -> bool:
        """Whether it was made by a process of which this one is a forked child."""
        return self._forked

    def health(self) -> Optional[Health]:
        """What befell the device; None before the first operation."""
        return self._contexts[0].health() if self._contexts else self._last_health

    def after_fork(self) -> None:
        """A child, such as a DataLoader's worker, leaves device and cores to its parent."""
        self._forked = True
        self._opening = threading.Lock()
        self.statistics.after_fork()

    # -------------------------------------------------------------------------- the devices

    def _open(self, device: Optional[str]) -> ConvoyWay:
        way = ConvoyWay(open_device(device))
        self._contexts.append(way.context)
        return way

    def _opened(self) -> Routes:
        if self._routes is None:
            with self._opening:
                self._routes = self._routes or self._make_routes()
        return self._routes

    def _make_routes(self) -> Routes:
        device, route = self.settings
        first = self._open(device)
        if route == "convoy":
            return Fixed(first)
        here = [] if first.device.type == DeviceType.CPU_ENGINE else [self._open("cpu")]
        return Measured([first, *here, PytorchWay()])

    # ------------------------------------------------------------------------ the operators

    def _convolution(self, x: Tensor, w: Tensor, bias: Optional[Tensor], *geometry: Any) -> Tensor:
        at = FORKED if self._forked else admit(x, w, geometry, bias=bias)
        if isinstance(at, str):
            self.statistics.count(PYTORCH, "forward", at)
            return _native.forward(x, w, bias, *geometry)
        op = Operation("forward", at, geometry, x=x, w=w, bias=bias)
        return self._run(op, *self._opened().choose(op))

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
        ops = [Operation(name, at, geometry, x=x, w=w, dy=dy) for name in wanted]
        results = self._run_gradients(ops, bias_sizes)
        return tuple(results.get(name) for name in GRADIENTS)

    def _run_gradients(self, ops: Sequence[Operation], bias_sizes: Any) -> Dict[str, Any]:
        """The results by direction. What PyTorch computes, it computes in one call."""
        results: Dict[str, Any] = {}
        native: List[Operation] = []
        way: Optional[Way] = None
        for op in ops:
            result = None
            if way is None or op.direction != "backward_bias":  # that goes with the weights
                way, result = self._opened().choose(op)
            if way.name == PYTORCH and result is None:
                native.append(op)
            else:
                results[op.direction] = self._run(op, way, result)
        if native:
            results.update(_native.compute_together(native, bias_sizes))
        for op in native:
            self.statistics.count(PYTORCH, op.direction, MEASURED)
        return results

    def _run(self, op: Operation, way: Way, result: Optional[Tensor]) -> Tensor:
        """The result by that way, if it has not been computed already."""
        where = way.name
        if result is None:
            result, where = way.compute(op)
        if self._checked and where != PYTORCH:
            check(op, result, where)
        self.statistics.count(where, op.direction, MEASURED if where == PYTORCH else "")
        return result


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _after_fork() -> None:
    for session in list(_sessions):
        session.after_fork()


os.register_at_fork(after_in_child=_after_fork)
