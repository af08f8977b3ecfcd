"""From the nodes of a traced graph to steps: each operator by the table, what is not in it on the
host.

Operators of the host lie between stages of the graph. All of them that can be called at one time
are, so that a network falls into as few stages as possible.
"""

from __future__ import annotations

import operator as python_operator
from functools import partial
from typing import Any, Callable, Collection, Dict, Hashable, List, Optional, Sequence, Set

import torch

from ..._errors import ConvoyError
from ..._tensor import Tensor as DeviceTensor
from . import constants, operators, views
from .emitter import Emitter
from .engine import Engine
from .errors import Declined, Unsupported
from .steps import HostCall, HostStep, Steps
from .values import Array, Missing, Value, meta_of

Node = torch.fx.Node
Environment = Dict[Node, Any]


Finish = Callable[[Emitter], None]


class _Later(Exception):
    """An operator of PyTorch's reads what the stage being captured will make."""


class Lowering:
    """Nodes in order, with the values of those before them. A capture is open meanwhile."""

    def __init__(self, engine: Engine, environment: Environment, numbers: int) -> None:
        """numbers: how many numbers of values on the host are taken. `homes`: memory of PyTorch's
        for what its operators read of stages, by number."""
        self._engine, self._context = engine, engine.context
        self.environment = environment
        self.numbers = numbers
        self.reasons: Dict[str, str] = {}  # of operators on the host
        self._on_host: Set[Node] = set()
        self._shared: Dict[Hashable, Value] = {}
        self.homes: Dict[int, DeviceTensor] = {}
        self._step = HostStep(engine)
        self._stage, self._is_used = 0, False

    def lower(
        self, nodes: Sequence[Node], wanted: Collection[Node], finish: Optional[Finish] = None
    ) -> Steps:
        """All of the nodes; `wanted` are those whose values somebody reads afterwards. `finish`
        ends the last stage."""
        steps, left = Steps(), list(nodes)
        while left or finish:
            before = len(left), len(self.homes)
            self._step = HostStep(self._engine)
            draw = self._draw if self._engine.in_place else None
            emitter = Emitter(self._context, self._upload, self._shared, draw)
            self._begin_stage()
            self._segment(emitter, left, wanted)
            if not left and finish:
                finish(emitter)
                finish = None
            self.let_go({each for node in left for each in node.all_input_nodes} | set(wanted))
            self._end_stage(emitter, steps)
            if left and (len(left), len(self.homes)) == before:
                raise Declined(f"no way to carry out {operators.name_of(left[0].target)}")
        return steps

    def _begin_stage(self) -> None:
        if self._is_used:
            self._context.cut()
            self._stage += 1

    def _end_stage(self, emitter: Emitter, steps: Steps) -> None:
        """Only the first stage may have nothing in it."""
        steps.draws |= emitter.draws
        if self._step.calls or self._step.uploads:
            steps.steps.append(self._step)
        if self._stage or not emitter.is_empty:
            steps.steps.append(self._stage)
            self._is_used = True

    # ------------------------------------------------------------------------------ one segment

    def _segment(self, emitter: Emitter, left: List[Node], wanted: Collection[Node]) -> None:
        """Takes out of `left` what can be done."""
        waiting = []
        for node in left:
            ready = all(each in self.environment for each in node.all_input_nodes)
            if not ready or not self._carry_out(emitter, node):
                waiting.append(node)
        left[:] = waiting

    def let_go(self, read: Collection[Node]) -> None:
        """Of all others the tensors go before the capture ends, and so are internal to it."""
        for value in constants.values_in(list(self.environment.values())):
            value.array.end_capture()
        for node in [each for each in self.environment if each not in read]:
            del self.environment[node]

    def _carry_out(self, emitter: Emitter, node: Node) -> bool:
        environment = self.environment
        args = torch.fx.node.map_arg(node.args, lambda each: environment[each])
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda each: environment[each])
        target, args = views.by_elements(node.target, args)
        try:
            environment[node] = self._result(emitter, node, target, args, kwargs)
        except _Later:
            return False
        return True

    def _result(self, emitter: Emitter, node: Node, target: Any, args: Any, kwargs: Any) -> Any:
        if target is python_operator.getitem:
            return args[0][args[1]]
        if node not in self._on_host:
            try:
                return _emit(emitter, target, args, kwargs)
            except Unsupported as reason:
                self.reasons.setdefault(operators.name_of(target), str(reason))
                self._on_host.add(node)
            except ConvoyError as error:
                self.reasons.setdefault(operators.name_of(target), str(error))
                self._on_host.add(node)
        return self._call(emitter, node, target, args, kwargs)

    # ------------------------------------------------------------------------------ on the host

    def _call(self, emitter: Emitter, node: Node, target: Any, args: Any, kwargs: Any) -> Any:
        """Notes a call of the host, before the stage being captured."""
        if _writes(target):
            raise Declined(f"{operators.name_of(target)} writes in place")
        for value in constants.values_in(args, kwargs):
            self._check_readable(emitter, value.array)
        if "device" in kwargs:
            kwargs = {**kwargs, "device": self._engine.device}
        metas = _metas(node)
        made, numbers = [], []
        for meta in metas if isinstance(metas, list) else [metas]:
            number = self.number() if meta is not None else None
            numbers.append(number)
            made.append(None if meta is None else Value(Array(meta.numel(), number=number), meta))
        single = not isinstance(metas, list)
        name = operators.name_of(target)
        self._step.calls.append(HostCall(name, target, args, kwargs, tuple(numbers), single))
        return made[0] if single else tuple(made)

    def _draw(self, shape: Sequence[int], below: Optional[float], dtype: torch.dtype) -> Value:
        """Notes that PyTorch draws random numbers before the stage being captured."""
        number = self.number()
        target = partial(self._engine.draw, tuple(shape), below)
        self._step.calls.append(HostCall("random", target, (), {}, (number,), True, True))
        meta = meta_of(shape, dtype)
        return Value(Array(meta.numel(), number=number), meta)

    def _check_readable(self, emitter: Emitter, array: Array) -> None:
        """PyTorch's operators read what stages before this one have made."""
        if self._engine.in_place:
            self._give_home(emitter, array)
        if emitter.has_made(array):
            raise _Later

    def _give_home(self, emitter: Emitter, array: Array) -> None:
        """On a card they read it where it is: the stage that is captured puts it into PyTorch's
        memory, unless it is there."""
        is_on_host = array.constant is not None or array.number is not None
        if array.tensor is None or is_on_host or array.home is not None:
            return
        number, home = self.number(), self._engine.home(array.tensor)
        array.replace(home, home=number)
        self.homes[number] = home
        emitter.result(home, home.shape)

    def number(self) -> int:
        """One under which a value can be kept in a run."""
        self.numbers += 1
        return self.numbers - 1

    def _upload(self, array: Array) -> None:
        """A device's operation reads what the host has."""
        assert array.number is not None
        array.tensor = self._engine.upload(array.count)
        self._step.uploads.append((array.number, array.tensor))


def _emit(emitter: Emitter, target: Any, args: Any, kwargs: Any) -> Any:
    name = operators.name_of(target)
    if any(isinstance(each, Missing) for each in args) and name not in _FINDS_PLACES:
        raise Declined(f"{name} reads {next(e.what for e in args if isinstance(e, Missing))}")
    folded = constants.fold(target, args, kwargs) if hasattr(target, "_schema") else None
    if folded is not None:
        return folded
    if name in views.VIEWS:
        return views.view(emitter, name, target, args, kwargs)
    if name in views.COPIES:
        return views.copy(args[0])
    emit = operators.OPERATORS.get(name)
    if emit is not None:
        return emit(emitter, operators.bound(target, args, kwargs))
    emit = operators.OPERATORS.get(name.replace("_.", "."))
    if emit is None:
        raise Unsupported("no operation of Convoy's")
    return _in_place(emitter, emit, operators.bound(target, args, kwargs))


def _in_place(emitter: Emitter, emit: operators.Emit, arguments: Any) -> Value:
    """An operator such as "relu_", which PyTorch 1 traces as it is."""
    value = arguments.self
    emitter.write(value, emit(emitter, arguments))
    return value


def _writes(target: Any) -> bool:
    """Whether an operator writes its arguments."""
    schema = getattr(target, "_schema", None)
    infos = [each.alias_info for each in schema.arguments] if schema else []
    return any(each is not None and each.is_write for each in infos)


#: Gradients that find the places of maxima again instead of reading them.
_FINDS_PLACES = frozenset(f"max_pool{rank}d_with_indices_backward.default" for rank in (2, 3))


def _metas(node: Node) -> Any:
    """How PyTorch's results look: one, or a list with None for what is no tensor."""
    val = node.meta.get("val", node.meta.get("tensor_meta"))
    if isinstance(val, (tuple, list)) and not hasattr(val, "dtype"):
        return [_meta(each) for each in val]
    if val is not None:
        return _meta(val)
    parts: List[Any] = [each for each in node.users if each.target is python_operator.getitem]
    if not parts:
        raise Declined(f"what {operators.name_of(node.target)} gives is not known")
    metas: List[Optional[torch.Tensor]] = [None] * (1 + max(each.args[1] for each in parts))
    for each in parts:
        metas[each.args[1]] = _metas(each)
    return metas


def _meta(val: Any) -> Optional[torch.Tensor]:
    return meta_of(val.shape, val.dtype) if hasattr(val, "dtype") else None
