"""Which modules are captured, when, and who runs a call.

The outermost module that is called is captured when arguments of one kind come the second time.
Where that cannot be, the modules that it calls are the outermost ones for such calls.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Dict, Hashable, Iterator, List, NamedTuple, Optional, Tuple, Union

import torch

from ... import _log
from .._budget import Budget
from .._card import RECORDED
from .._card import Declined as DeclinedOnCard
from .._findings import Finding, Findings
from .._kept import Problem
from .._plainly import leave_backward, plainly
from .._statistics import PYTORCH
from . import assumed, declined, surroundings, told
from .arguments import Arguments, arguments_of
from .away import bring_home
from .body import FORWARD, PASS_ON, Body
from .choices import Choices, described
from .contest import GRAPH, Contest
from .engine import Engine
from .errors import Declined
from .guard import has_hooks
from .network import Network, Unproved
from .on_card import Engines
from .proof import Stops
from .prospect import Prospect
from .random_state import untouched
from .turns import Turns

Plain = Callable[..., Any]
_HasRoom = Callable[[float, float], bool]  # whether seconds, and steps of PyTorch's, may be spent

_KINDS = 8  # of arguments for which a module is captured at a time
_SEEN = 256  # kinds of arguments that are remembered
_CHANGES = 4  # times that a module may have changed before it is left alone

_TRIES = 3  # batches with which a captured network is compared before it is given up

MEASURED = "measured to be faster"
IN_PARTS = "measured to be faster in parts"
FIRST = "the first call of its kind"
ITS_TURN = "its turn while both ways are measured"
PUT_OFF = "capturing it is put off: it would take too large a part of the time so far"
PROVING = "being compared in float64, a part in each call"
PASSES_ON = "it passes calls on"

_STEPS = 2  # in float64, that a call may take
# What a capture and its proof take: seconds, seconds for each module inside, steps of PyTorch's.
_CAPTURE, _EACH, _PASSES = 0.2, 0.008, 6.0
_EXACT = (0.0, 6.0)  # a step in float64: seconds, steps of PyTorch's
_PROMISING = 2.0  # times as fast as PyTorch in the proof: worth its steps in float64 at once


class _Call(NamedTuple):
    """What is asked for: a network for these arguments, under `key`, where they are."""

    module: torch.nn.Module
    arguments: Arguments
    key: Hashable
    engine: Engine


class _Proof:
    """Of a captured network, which may take several calls."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._stops: Optional[Stops[None]] = None

    def may_go_on(self, has_room: _HasRoom) -> bool:
        """Whether a step in float64 may take its time now."""
        return self.network.lead >= _PROMISING or has_room(*_EXACT)

    def go_on(self, call: _Call, has_room: _HasRoom) -> bool:
        """Whether it is proved; if it is not yet, a later call goes on. Raises Unproved; then that
        call begins anew, with another batch."""
        if self._stops is None:
            self._stops = self.network.prove(self.network.subject(call.module, call.arguments))
        try:
            for at, _ in enumerate(self._stops):
                if at == _STEPS or not self.may_go_on(has_room):
                    return False
        except Unproved:
            self._stops = None
            raise
        return True


class _Pace:
    """Seconds from one call to the next, as long as they are PyTorch's."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self.seconds = 10.0

    def note(self) -> None:
        """A call begins."""
        now = time.monotonic()
        self.seconds, self._begun = min(self.seconds, now - self._begun), now


class _Record:
    """What is known of a module."""

    def __init__(self, module: torch.nn.Module, body: Body) -> None:
        self.name = type(module).__name__
        self.body = body
        self.seen: "OrderedDict[Hashable, _Pace]" = OrderedDict()
        self.networks: "OrderedDict[Hashable, Network]" = OrderedDict()
        self.declined: Dict[Hashable, str] = {}
        self.ways: Dict[Hashable, str] = {}  # that are faster
        # A body that has to be written anew to be traced has another one inside.
        self.why_not = MEASURED if body.traced is None else IN_PARTS
        self.problems: Dict[Hashable, Problem] = {}  # under which a choice is written down
        self.contests: Dict[Hashable, Contest] = {}  # of networks that are being measured
        # Of networks that there was no room for, None once it was granted what it is worth.
        self.prospects: "OrderedDict[Hashable, Optional[Prospect]]" = OrderedDict()
        self._modules = 0  # inside, once they were counted
        self.proofs: Dict[Hashable, _Proof] = {}  # that go on
        self.failures: Dict[Hashable, int] = {}
        self.passes_on: Optional[str] = None  # why modules inside are captured instead
        self.changes = 0
        self.asked = 0  # what the program had said of modules, when it was last asked for it
        self.assumed: Any = ()  # what the program knows of values that it reads
        self.is_left: Optional[str] = None  # why the program leaves it to PyTorch

    def ask(self, module: torch.nn.Module) -> None:
        """What the program has said of the module, and of those inside."""
        self.asked = declined.count()
        self.is_left = declined.reason(module)
        if assumed.of(module) != self.assumed:
            self.assumed = assumed.of(module)
            self._begin_anew()
        self.passes_on = self.passes_on or declined.reason_inside(module)
        if self.is_left or self.passes_on:
            self._clear()

    def cost(self, module: torch.nn.Module) -> Tuple[float, float]:
        """Of a capture and its proof: seconds, and steps of PyTorch's. Each call that is put off
        asks for it, so the modules are counted once."""
        self._modules = self._modules or sum(1 for _ in module.modules())
        return _CAPTURE + _EACH * self._modules, _PASSES

    def _begin_anew(self) -> None:
        self._clear()
        self.changes = 0
        if self.passes_on != PASSES_ON:
            self.passes_on = None

    def _clear(self) -> None:
        tables = self.networks, self.declined, self.ways, self.problems, self.contests, self.proofs
        for table in tables:
            table.clear()  # type: ignore[attr-defined]

    def leave(self, key: Hashable, why: str) -> None:
        """To PyTorch, calls of this kind."""
        self.declined[key] = why
        for table in self.networks, self.contests:
            table.pop(key, None)  # type: ignore[attr-defined]
        for network in self.networks.values():
            network.is_doubted = True

    def forget(self, changed: str) -> None:
        """The module is not what it was. Each change costs a capture, so there is an end to it."""
        self._clear()
        self.changes += 1
        if self.changes > _CHANGES:
            self.passes_on = f"it changes again and again: {changed}"


class Networks:
    """Of one session. `count(name, what, reason)` counts calls. `measured`: captured are those that
    are faster so. `checked`: each step is compared with PyTorch's."""

    def __init__(
        self,
        engines: Engines,
        count: Callable[[str, str, str], None],
        findings: Findings,
        measured: bool = False,
        checked: bool = False,
    ) -> None:
        self._engines, self._count, self._findings = engines, count, findings
        self._measured, self._checked = measured, checked
        self._choices: Dict[Engine, Choices] = {}
        self._budget = Budget()
        # By the module's id and the body's name: a weak reference to the module, and the record.
        self._records: Dict[Any, Any] = {}
        self._lock = threading.RLock()
        self._local = threading.local()
        self._turns = Turns()

    # ------------------------------------------------------------------------------------- calls

    def call(
        self,
        module: torch.nn.Module,
        args: Any,
        kwargs: Any,
        plain: Plain,
        body: Body = FORWARD,
    ) -> Any:
        """A module is called, or a part of it. `plain` is PyTorch's own way."""
        if getattr(self._local, "inside", False) or not module._modules:
            return plain(module, *args, **kwargs)
        record = self._record(module, body)
        if record.asked != declined.count():
            record.ask(module)
        if record.is_left is not None:
            return self._left(record, module, args, kwargs, plain)
        if record.passes_on is not None:
            if record.passes_on != PASSES_ON:
                self._count(record.name, PYTORCH, record.passes_on)
            return plain(module, *args, **kwargs)
        if body is FORWARD and has_hooks(module):
            return self._between_hooks(record, module, args, kwargs, plain)
        with self._turns:
            return self._outermost(record, module, args, kwargs, plain)

    def _left(
        self, record: _Record, module: torch.nn.Module, args: Any, kwargs: Any, plain: Plain
    ) -> Any:
        """To PyTorch, and all modules inside."""
        self._count(record.name, PYTORCH, record.is_left or "")
        self._local.inside = True
        try:
            bring_home()
            with self._turns:
                return plain(module, *args, **kwargs)
        finally:
            self._local.inside = False

    @property
    def is_checked(self) -> bool:
        """Whether each step is compared with PyTorch."""
        return self._checked

    def lines(self) -> List[str]:
        """Of captured networks, for the report."""
        there = [record for _, record in list(self._records.values())]
        networks = [(each, *pair) for each in there for pair in list(each.networks.items())]
        return told.lines((each.name, key[-1], network) for each, key, network in networks)

    def is_captured_elsewhere(self) -> bool:
        """Whether another thread is about to capture a network."""
        return self._turns.is_alone_elsewhere()

    def _between_hooks(
        self, record: _Record, module: torch.nn.Module, args: Any, kwargs: Any, plain: Plain
    ) -> Any:
        """PyTorch calls the module's hooks, and in between a stand-in for its forward function,
        which the module has only until then."""
        where = module.__dict__
        before = where.get("forward")

        def restore() -> None:
            if where.get("forward") is forward:
                where.pop("forward") if before is None else where.update(forward=before)

        def forward(*args: Any, **kwargs: Any) -> Any:
            restore()
            with self._turns:
                return self._outermost(record, module, args, kwargs, FORWARD.function)

        where["forward"] = forward
        try:
            return plain(module, *args, **kwargs)
        finally:
            restore()

    def _outermost(
        self, record: _Record, module: torch.nn.Module, args: Any, kwargs: Any, plain: Plain
    ) -> Any:
        self._local.inside = True
        try:
            arguments, chosen, why = self._chosen(record, module, args, kwargs)
            if isinstance(chosen, Network):
                try:
                    results = chosen.run(module, arguments, self._checked)
                    self._count(record.name, GRAPH, "")
                    return results
                except DeclinedOnCard as error:
                    chosen, why = PYTORCH, error.reason
            self._count(record.name, chosen, why)
            self._local.inside = why not in (IN_PARTS, *record.declined.values())
            if self._local.inside:
                bring_home()  # compiled code looks at memory without asking
            if not self._is_plain(record, chosen, why):
                return plain(module, *args, **kwargs)
            leave_backward(True)
            prospect = self._local.__dict__.pop("prospect", None)
            with plainly(), nullcontext() if prospect is None else prospect.observing():
                return plain(module, *args, **kwargs)
        finally:
            self._local.inside = False

    def _is_plain(self, record: _Record, chosen: str, why: str) -> bool:
        """Whether a call is PyTorch's alone, its convolutions too. Where the whole will be
        captured, measuring each of them would be for nothing."""
        if chosen != PYTORCH:
            return False
        hopeful = not (record.networks or record.declined)
        return why in (MEASURED, ITS_TURN, PUT_OFF, PROVING) or (why == FIRST and hopeful)

    def _chosen(self, record: _Record, module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        """The arguments, and the network that runs them; or another way, and the reason."""
        why = surroundings.reason()
        if why is not None:
            return None, PYTORCH, why
        try:
            arguments = arguments_of(args, kwargs)
            engine = self._engine_of(arguments)
            key = arguments.key, torch.is_grad_enabled(), module.training
            return arguments, *self._way(record, _Call(module, arguments, key, engine))
        except Declined as reason:
            return None, PYTORCH, str(reason)

    def _engine_of(self, arguments: Arguments) -> Engine:
        engine = self._engines.of(arguments.tensors[0])
        for each in arguments.tensors:
            if not engine.has(each):
                raise Declined(f"an argument is no tensor {engine.where}")
        reason = engine.reason()
        if reason is not None:
            raise Declined(reason)
        return engine

    def _way(self, record: _Record, call: _Call) -> Tuple[Union[Network, str], str]:
        key, recording = call.key, call.engine.recording
        network = record.networks.get(key)
        if network is not None and self._holds(record, network, call, recording):
            record.networks.move_to_end(key)
            contest = None if recording else record.contests.get(key)
            return (network, "") if contest is None else self._faster(record, key, network, contest)
        if key in record.declined:
            raise Declined(record.declined[key])
        if key in record.ways:
            return record.ways[key], record.why_not
        if recording:
            raise Declined(RECORDED)
        if key not in record.seen:
            _remember(record.seen, key, _Pace(), _SEEN)
            raise Declined(FIRST)
        record.seen[key].note()
        return self._captured(record, call)

    def _faster(
        self, record: _Record, key: Hashable, network: Network, contest: Contest
    ) -> Tuple[Union[Network, str], str]:
        """The network, or PyTorch where that is faster, or its turn is."""
        way = contest.way()
        if contest.is_over:
            record.contests.pop(key, None)
            if way != GRAPH:
                record.networks.pop(key, None)
                record.ways[key] = way
        if way == GRAPH:
            return network, ""
        return way, record.why_not if contest.is_settled else ITS_TURN

    def _holds(self, record: _Record, network: Network, call: _Call, recording: bool) -> bool:
        """Whether a network may still be used for the module."""
        changed = network.guard.changed(recording)
        if network.pair.left_because is not None:
            record.declined[call.key] = network.pair.left_because
            return False
        if changed is not None:
            record.forget(changed)
            return False
        return recording or not network.is_due() or self._agrees(record, network, call)

    def _agrees(self, record: _Record, network: Network, call: _Call) -> bool:
        """Whether the module's code does what it did. Where it does not, the module's networks for
        other arguments are asked with their next call."""
        if network.is_laid_out_anew():
            record.forget("a tensor's strides")
            return False
        with _normal_mode(), plainly():
            found = network.difference(call.module, call.arguments)
        if found is None:
            return True
        record.leave(call.key, found)
        self._findings.note(Finding(record.name, network.calls - network.compared - 1, found))
        return False

    def _choices_of(self, engine: Engine) -> Choices:
        if engine not in self._choices:
            self._choices[engine] = Choices(engine)
        return self._choices[engine]

    def _captured(self, record: _Record, call: _Call) -> Tuple[Union[Network, str], str]:
        """A new network; or the way that was faster."""
        known = self._known(record, call)
        if known == PYTORCH:
            record.ways[call.key] = PYTORCH
            return PYTORCH, record.why_not
        pace = record.seen[call.key]

        def has_room(seconds: float, steps: float) -> bool:
            in_all = seconds + steps * pace.seconds
            return known is not None or self._budget.has_room(in_all)

        proof = record.proofs.get(call.key)
        if proof is None:
            may_go_on = self._may_begin(record, call, has_room)
        else:
            may_go_on = proof.may_go_on(has_room)
        if not may_go_on:
            raise Declined(PUT_OFF)
        if not self._turns.begin_alone():
            raise Declined("another thread is inside a module")
        try:
            with self._budget.spending(), _log.shown_meanwhile(f"capturing {record.name}"):
                network = self._new_network(record, call, has_room)
        finally:
            self._turns.end_alone()
        if known is None:
            problem = record.problems[call.key]
            contest = Contest(self._choices_of(call.engine), problem, call.engine.settle)
            record.contests[call.key] = contest
        _remember(record.networks, call.key, network, _KINDS)
        return network, ""

    def _may_begin(self, record: _Record, call: _Call, has_room: _HasRoom) -> bool:
        """Whether a capture may take its time now, with what the network is granted if need be."""
        cost = record.cost(call.module)
        return has_room(*cost) or (self._is_judged(record, call) and has_room(*cost))

    def _is_judged(self, record: _Record, call: _Call) -> bool:
        """Whether what the network may save has been granted; if not, this call is observed, and
        the next one judges it."""
        prospect = record.prospects.get(call.key, Prospect())
        if prospect is not None and not (prospect.is_observed or call.engine.is_device):
            _remember(record.prospects, call.key, prospect, _SEEN)
            self._local.prospect = prospect
            return False
        if prospect is not None:
            _remember(record.prospects, call.key, None, _SEEN)
            with self._budget.spending(), call.engine.lock:
                step = record.seen[call.key].seconds
                saving = 1.0 if call.engine.is_device else prospect.saving(call.engine, step)
            self._budget.grant(saving)
        return True

    def _known(self, record: _Record, call: _Call) -> Optional[str]:
        """The way that is faster, if it was measured before or is not to be measured."""
        if not self._measured:
            return GRAPH
        if call.key not in record.problems:
            bring_home()  # the module is looked at
            record.problems[call.key] = described(call.module, record.body.name, call.key)
        known = self._choices_of(call.engine).known(record.problems[call.key])
        return known if known in (GRAPH, PYTORCH) else None

    def _new_network(self, record: _Record, call: _Call, has_room: _HasRoom) -> Network:
        bring_home()  # the module is looked at, and compared with
        try:
            with _normal_mode(), untouched(call.arguments.tensors):
                return self._proved(record, call, has_room)
        except Exception as error:  # an unforeseen one shall not end a training either
            why = f"{error}" if isinstance(error, Declined) else f"{type(error).__name__}: {error}"
            if call.key not in record.proofs:
                record.declined[call.key] = why
            raise Declined(why) from error

    def _proved(self, record: _Record, call: _Call, has_room: _HasRoom) -> Network:
        key = call.key
        with call.engine.lock, plainly():
            proof = record.proofs.pop(key, None)
            if proof is None or proof.network.guard.changed() is not None:
                proof = _Proof(Network(call.engine, call.module, record.body, call.arguments))
            try:
                is_proved = proof.go_on(call, has_room)
            except Unproved:
                record.failures[key] = record.failures.get(key, 0) + 1
                if record.failures[key] < _TRIES:
                    record.proofs[key] = proof
                raise
            if not is_proved:
                record.proofs[key] = proof
                raise Declined(PROVING)
        return proof.network

    # ----------------------------------------------------------------------------------- records

    def _record(self, module: torch.nn.Module, body: Body) -> _Record:
        key = id(module), body.name
        found = self._records.get(key)
        if found is not None and found[0]() is module:
            return found[1]
        record = _Record(module, body)
        if body is FORWARD and isinstance(module, tuple(PASS_ON)):
            record.passes_on = PASSES_ON
        gone = weakref.ref(module, lambda ref: self._drop(key, ref))
        with self._lock:
            self._records[key] = gone, record
        return record

    def _drop(self, key: Any, ref: Any) -> None:
        with self._lock:
            found = self._records.get(key)
            if found is not None and found[0] is ref:
                del self._records[key]


@contextmanager
def _normal_mode() -> Iterator[None]:
    """Not that of inference, whose tensors have no versions; gradients as they are wanted."""
    wanted = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.set_grad_enabled(wanted):
        yield


def _remember(table: "OrderedDict[Hashable, Any]", key: Hashable, value: Any, most: int) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > most:
        table.popitem(last=False)
