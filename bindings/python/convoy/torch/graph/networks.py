"""Which modules are captured, when, and who runs a call.

The outermost module that is called is captured when arguments of one kind come the second time.
Where its own code cannot be captured, the modules that it calls are the outermost ones then.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from contextlib import contextmanager
from typing import Any, Callable, Dict, Hashable, Iterator, Optional

import torch

from .._plainly import plainly
from .._statistics import PYTORCH
from . import surroundings
from .arguments import Arguments, arguments_of
from .body import FORWARD, PASS_ON, Body
from .engine import Engine
from .errors import Declined
from .network import Network
from .turns import Turns

Plain = Callable[..., Any]

_KINDS = 8  # of arguments for which a module is captured at a time
_SEEN = 256  # kinds of arguments that are remembered
_CHANGES = 4  # times that a module may have changed before it is left alone

GRAPH = "graph"


class _Record:
    """What is known of a module."""

    def __init__(self, module: torch.nn.Module, body: Body) -> None:
        self.name = type(module).__name__
        self.body = body
        self.seen: "OrderedDict[Hashable, None]" = OrderedDict()
        self.networks: "OrderedDict[Hashable, Network]" = OrderedDict()
        self.declined: Dict[Hashable, str] = {}
        self.passes_on: Optional[str] = None  # why modules inside are captured instead
        self.changes = 0


class Networks:
    """Of one session. `count(name, what, reason)` counts calls; `checked`: each step is compared
    with PyTorch's."""

    def __init__(
        self, engine: Engine, count: Callable[[str, str, str], None], checked: bool
    ) -> None:
        self._engine, self._count, self._checked = engine, count, checked
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
        if record.passes_on is not None:
            return plain(module, *args, **kwargs)
        with self._turns:
            return self._outermost(record, module, args, kwargs, plain)

    def _outermost(
        self, record: _Record, module: torch.nn.Module, args: Any, kwargs: Any, plain: Plain
    ) -> Any:
        self._local.inside = True
        try:
            arguments, network, why = self._chosen(record, module, args, kwargs)
            if network is None:
                self._count(record.name, PYTORCH, why)
                return plain(module, *args, **kwargs)
            self._count(record.name, GRAPH, "")
            return network.run(module, arguments, self._checked)
        finally:
            self._local.inside = False

    def _chosen(self, record: _Record, module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        """The arguments and the network that runs them, or None and the reason why none does."""
        why = surroundings.reason()
        if why is not None:
            return None, None, why
        try:
            arguments = arguments_of(args, kwargs)
        except Declined as reason:
            return None, None, str(reason)
        key = arguments.key, torch.is_grad_enabled(), module.training
        try:
            return arguments, self._network(record, module, arguments, key), ""
        except Declined as reason:
            return arguments, None, str(reason)

    def _network(
        self, record: _Record, module: torch.nn.Module, arguments: Arguments, key: Hashable
    ) -> Network:
        network = record.networks.get(key)
        if network is not None:
            changed = network.guard.changed()
            if network.pair.is_differentiated_twice:
                record.declined[key] = "gradients of its gradients are asked for"
            elif changed is None:
                record.networks.move_to_end(key)
                return network
            else:
                self._forget(record, changed)
        if key in record.declined:
            raise Declined(record.declined[key])
        if key not in record.seen:
            _remember(record.seen, key, None, _SEEN)
            raise Declined("the first call of its kind")
        return self._captured(record, module, arguments, key)

    def _forget(self, record: _Record, changed: str) -> None:
        """The module is not what it was. Each change costs a capture, so there is an end to it."""
        record.networks.clear()
        record.declined.clear()
        record.changes += 1
        if record.changes > _CHANGES:
            record.passes_on = f"it changes again and again: {changed}"

    def _captured(
        self, record: _Record, module: torch.nn.Module, arguments: Arguments, key: Hashable
    ) -> Network:
        if not self._turns.begin_alone():
            raise Declined("another thread is inside a module")
        try:
            with plainly(), self._engine.lock, _normal_mode():
                network = Network(self._engine, module, record.body, arguments)
        except Exception as error:  # an unforeseen one shall not end a training either
            unforeseen = "" if isinstance(error, Declined) else f"{type(error).__name__}: "
            record.declined[key] = f"{unforeseen}{error}"
            raise Declined(record.declined[key]) from error
        finally:
            self._turns.end_alone()
        _remember(record.networks, key, network, _KINDS)
        return network

    # ----------------------------------------------------------------------------------- records

    def _record(self, module: torch.nn.Module, body: Body) -> _Record:
        key = id(module), body.name
        found = self._records.get(key)
        if found is not None and found[0]() is module:
            return found[1]
        record = _Record(module, body)
        if body is FORWARD and isinstance(module, tuple(PASS_ON)):
            record.passes_on = "it passes calls on"
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
