"""What enable() turns on: what the two operators do, and the devices that they need."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .. import _log
from .._context import Context
from .._lib import DeviceType
from .._release import release
from .._values import switch_variable
from . import _native
from ._cards import Cards
from ._check import check
from ._device import computes_on_processor, open_device, threads_and_team
from ._findings import Findings
from ._operation import GRADIENTS, Operation, Tensor, admit
from ._routes import Fixed, Measured, Routes
from ._statistics import FORKED, MEASURED, PYTORCH, State, Statistics
from ._ways import ConvoyWay, PytorchWay, Way
from .graph.engine import Engine
from .graph.networks import Networks
from .graph.on_card import CardEngine, Engines


def _close(contexts: List[Context]) -> None:
    for context in contexts:
        release(context.close)


def _state_of(context: Context) -> State:
    return State(context.health(), context.description)


class Settings(NamedTuple):
    """What enable() was called with."""

    device: Optional[str]
    route: str
    require_device: Optional[bool]
    verbose: bool


def _opener(settings: Settings) -> Callable[[], Context]:
    """Opens the device for networks. It does not hold the session, which those may outlive."""

    def open_it() -> Context:
        context = open_device(settings.device, require_device=settings.require_device)
        if settings.verbose:
            _log.say(f"networks run on {context.description}")
        return context

    return open_it


class _Devices:
    """Contexts and the choice between them. An operation holds this as long as it lasts: they are
    closed when the session and the last operation have let go."""

    def __init__(self, settings: Settings) -> None:
        self._contexts: List[Context] = []  # the device's first
        weakref.finalize(self, _close, self._contexts)
        self.routes = self._make_routes(settings)

    def _open(self, device: Optional[str], **options: Any) -> ConvoyWay:
        way = ConvoyWay(open_device(device, **options))
        self._contexts.append(way.context)
        return way

    def _make_routes(self, settings: Settings) -> Routes:
        first = self._open(settings.device, require_device=settings.require_device)
        if settings.verbose:
            _log.say(f"convolutions run on {first.context.description}")
        if settings.route == "convoy":
            return Fixed(first)
        here = [] if first.device.type == DeviceType.CPU_ENGINE else [self._open("cpu")]
        return Measured([first, *here, PytorchWay()])

    def state(self) -> State:
        return _state_of(self._contexts[0])


class Session:
    """Carries out aten::convolution and aten::convolution_backward until close().

    Devices are opened by the first operation that needs them: not by importing, and not before a
    trainer has started the processes it starts.
    """

    def __init__(self, settings: Settings, platform: Any = None) -> None:
        self.settings = settings
        self.statistics = Statistics()
        self.findings = Findings(switch_variable("CONVOY_STRICT"))
        self._devices: Optional[_Devices] = None
        self._closed = False
        self._last_states: List[State] = []
        self._last_lines: List[str] = []
        self._opening = threading.Lock()
        self._checked = switch_variable("CONVOY_CHECK")
        self._forked = False
        self.cards: Optional[Cards] = None
        if platform is not None and not computes_on_processor(settings.device):
            how = settings.route, self.statistics, self._checked, threads_and_team
            self.cards = Cards(platform, *how)
        self._engines: Optional[Engines] = self._make_engines(platform)
        self._networks: Optional[Networks] = Networks(
            self._engines,
            self.statistics.count_network,
            self.findings,
            settings.route == "measured",
            self._checked,
        )
        _sessions.add(self)

    def _make_engines(self, platform: Any) -> Engines:
        def card(index: int) -> CardEngine:
            return CardEngine(platform, index, threads_and_team)

        return Engines(Engine(_opener(self.settings)), platform, card if self.cards else None)

    def close(self) -> None:
        """Devices are given back, once operations of other threads that use them are over, and
        backward passes of captured networks. Those that come later PyTorch computes."""
        self._last_states, self._last_lines = self.states(), self.lines()
        engines, self._closed = self._engines, True
        self._devices = self.cards = None
        self._engines = self._networks = None
        if engines is not None and not self._forked:
            engines.here.away.end()

    @property
    def networks(self) -> Optional[Networks]:
        """Those that run as graphs, where there may be any."""
        graphs = self.settings.route != "convoy" and not self._forked and not self._closed
        return self._networks if graphs else None

    @property
    def engine(self) -> Optional[Engine]:
        """Where networks run that have their tensors on the host, if any has."""
        engines = None if self.networks is None else self._engines
        return engines.here if engines is not None and engines.here.is_open else None

    @property
    def inherited(self) -> bool:
        """Whether it was made by a process of which this one is a forked child."""
        return self._forked

    def lines(self) -> List[str]:
        """For the report: captured networks, and those that were found to be something else."""
        networks = self._networks
        captured = self._last_lines if networks is None else networks.lines()
        return captured if self._closed else [*captured, *self.findings.lines()]

    def states(self) -> List[State]:
        """How the devices are that were used, or were when they were closed."""
        if self._closed:
            return self._last_states
        devices, cards, engines = self._devices, self.cards, self._engines
        here = [] if devices is None else [devices.state()]
        if not here and engines is not None:
            here = [_state_of(each) for each in engines.contexts()]
        return here if cards is None else here + cards.states()

    def after_fork(self) -> None:
        """A child, such as a DataLoader's worker, leaves device and cores to its parent."""
        self._forked = True
        self._opening = threading.Lock()
        self.statistics.after_fork()
        if self.cards is not None:
            self.cards.after_fork()

    def _opened(self) -> Optional[_Devices]:
        """None after close()."""
        devices = self._devices
        if devices is None and not self._closed:
            with self._opening:
                devices = self._devices = self._devices or _Devices(self.settings)
            if self._closed:  # meanwhile: this operation is the last
                self._devices = None
        return devices

    # ------------------------------------------------------------------------ the operators

    def convolution(self, x: Tensor, w: Tensor, bias: Optional[Tensor], *geometry: Any) -> Tensor:
        at = FORKED if self._forked else admit(x, w, geometry, bias=bias)
        if isinstance(at, str):
            self.statistics.count(PYTORCH, "forward", at)
            return _native.forward(x, w, bias, *geometry)
        devices = self._opened()
        if devices is None:
            return _native.forward(x, w, bias, *geometry)
        op = Operation("forward", at, geometry, x=x, w=w, bias=bias)
        try:
            return self._run(op, *devices.routes.choose(op))
        finally:
            del devices  # a traceback that is kept shall not keep it

    def convolution_backward(
        self, dy: Tensor, x: Tensor, w: Tensor, bias_sizes: Any, *rest: Any
    ) -> Tuple[Optional[Tensor], ...]:
        geometry, mask = rest[:-1], rest[-1]
        wanted = [name for name, needed in zip(GRADIENTS, mask) if needed]
        at = FORKED if self._forked else admit(x, w, geometry, dy=dy)
        if isinstance(at, str):
            for name in wanted:
                self.statistics.count(PYTORCH, name, at)
            return _native.backward(dy, x, w, bias_sizes, *rest)
        devices = self._opened()
        if devices is None:
            return _native.backward(dy, x, w, bias_sizes, *rest)
        ops = [Operation(name, at, geometry, x=x, w=w, dy=dy) for name in wanted]
        try:
            results = self._run_gradients(ops, devices.routes, bias_sizes)
        finally:
            del devices
        return tuple(results.get(name) for name in GRADIENTS)

    def _run_gradients(
        self, ops: Sequence[Operation], routes: Routes, bias_sizes: Any
    ) -> Dict[str, Any]:
        """The results by direction. What PyTorch computes, it computes in one call."""
        results: Dict[str, Any] = {}
        native: List[Operation] = []
        way: Optional[Way] = None
        for op in ops:
            result = None
            if way is None or op.direction != "backward_bias":  # that goes with the weights
                way, result = routes.choose(op)
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
