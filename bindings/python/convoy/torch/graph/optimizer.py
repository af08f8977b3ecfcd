"""The step of one of PyTorch's optimizers, carried out where captured networks run.

Taken are parameters whose last gradient such a network has computed, and which are dense, alone in
their memory and of PyTorch's own class; all others are PyTorch's to step, in the same call.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections import Counter
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch

from ... import _log
from ..._errors import argument_error
from .away import as_they_are, bring_home, is_away, is_plain
from .engine import Engine
from .rules import Rule, lacking, rule_for
from .untouched import Untouched
from .update import Bucket, Move, Updates

MOST_CAPTURES = 16  # of one optimizer's steps, before what changes all the time is left to PyTorch

FindEngine = Callable[[], Optional[Engine]]


def attach(optimizer: Any, engine: FindEngine) -> Any:
    """convoy.torch.optimizer(). `engine` finds where networks run now, if they do."""
    rule = rule_for(optimizer)
    if "step" in vars(optimizer):
        raise argument_error(
            "the optimizer's step was replaced before, as learning rate schedulers do it: call "
            "convoy.torch.optimizer() first"
        )
    # Within it PyTorch's is called without the hooks that PyTorch has around it: ours has them.
    plain = type(optimizer).step.__wrapped__
    stepper = Stepper(rule, plain, engine)

    @functools.wraps(plain)
    def step(self: Any, closure: Any = None) -> Any:
        return stepper.step(self, closure)

    hooked = getattr(torch.optim.Optimizer, "profile_hook_step", lambda function: function)
    optimizer.step = types.MethodType(hooked(step), optimizer)
    return optimizer


class _Wanted(NamedTuple):
    """A move, and under which names the optimizer has its states."""

    move: Move
    names: Tuple[str, ...]


class Stepper:
    """What an attached optimizer does instead of PyTorch's step, which is `plain`."""

    def __init__(self, rule: Rule, plain: Any, engine: FindEngine) -> None:
        self._rule, self._plain, self._engine = rule, plain, engine
        self._updates: weakref.WeakKeyDictionary[Engine, Updates] = weakref.WeakKeyDictionary()
        self._memory = _Memory()
        self._given_up = False

    def step(self, optimizer: Any, closure: Any) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            self._by_pytorch(optimizer, self._on_device(optimizer))
        return loss

    # ------------------------------------------------------------------------------ on the device

    def _on_device(self, optimizer: Any) -> Set[int]:
        """Ids of the parameters that were taken."""
        engine = None if self._given_up else self._engine()
        if engine is None or not engine.left:
            return set()
        with engine.lock:
            if engine.away.is_ended:
                return set()
            buckets = self._buckets(optimizer, engine)
            if not buckets:
                return set()
            updates = self._updates_on(engine)
            updates.run(engine, [bucket for bucket, _ in buckets])
            wanted = [each for _, several in buckets for each in several]
            self._note(optimizer, wanted)
            if updates.captures > MOST_CAPTURES:
                self._give_up()
            return {id(each.move.parameter) for each in wanted}

    def _updates_on(self, engine: Engine) -> Updates:
        if engine not in self._updates:
            self._updates[engine] = Updates(self._rule)
        return self._updates[engine]

    def _give_up(self) -> None:
        self._given_up = True
        self._updates.clear()
        _log.say("an optimizer's parameters or options change again and again: PyTorch steps them")

    def _buckets(self, optimizer: Any, engine: Engine) -> List[Tuple[Bucket, List[_Wanted]]]:
        with as_they_are():
            alone = self._memory.alone(optimizer)
            found: List[Tuple[Bucket, List[_Wanted]]] = []
            for group in optimizer.param_groups:
                if lacking(self._rule, group) is None:
                    found += self._buckets_of(optimizer, group, alone, engine)
            return found

    def _buckets_of(
        self, optimizer: Any, group: Dict[str, Any], alone: Set[int], engine: Engine
    ) -> List[Tuple[Bucket, List[_Wanted]]]:
        options, rate = self._rule.options(group), float(group["lr"])
        names = self._rule.states(options)
        by_count: Dict[float, List[_Wanted]] = {}
        for parameter in group["params"]:
            left = engine.left.get(id(parameter))
            gradient = parameter.grad
            if left is None or id(parameter) not in alone or not _like(gradient, parameter):
                continue
            state = optimizer.state.get(parameter, {})
            count = self._count(state, options)
            states = tuple(_state(state, name, parameter) for name in names)
            if count is None or not all(_is_usual(each, parameter) for each in states):
                continue
            del engine.left[id(parameter)]
            there = left.tensor if left.is_in(gradient) else None
            wanted = _Wanted(Move(parameter, gradient, there, states), names)
            by_count.setdefault(count, []).append(wanted)
        return [
            (Bucket(options, rate, count, [each.move for each in several]), several)
            for count, several in by_count.items()
        ]

    def _count(self, state: Dict[str, Any], options: Any) -> Optional[float]:
        """Steps that a parameter has behind it, as far as they matter; None if that is not to be
        known."""
        if self._rule.counts:
            count = state.get("step")
            return 0.0 if count is None else float(count) if _is_number(count) else None
        first = self._rule.tells_first(options) and state.get("momentum_buffer") is None
        return 0.0 if first else 1.0

    def _note(self, optimizer: Any, wanted: Sequence[_Wanted]) -> None:
        """In the optimizer's state, and for backward passes, as a step in place is seen by them."""
        steps = []
        with as_they_are():
            for move, names in wanted:
                _count_write(move.parameter)
                if names:
                    state = optimizer.state[move.parameter]
                    state.update(zip(names, move.states))
                if self._rule.counts:
                    steps.append(state.setdefault("step", torch.tensor(0.0)))
        if steps:
            torch._foreach_add_(steps, 1)

    # --------------------------------------------------------------------------------- by PyTorch

    def _by_pytorch(self, optimizer: Any, taken: Set[int]) -> None:
        """PyTorch's own step, of all other parameters."""
        groups = optimizer.param_groups
        before = [group["params"] for group in groups]
        rest = [[each for each in params if id(each) not in taken] for params in before]
        with as_they_are():
            moving = [each for params in rest for each in params if each.grad is not None]
        if taken and not moving:
            return
        if any(is_away(each) or _has_away(optimizer.state.get(each)) for each in moving):
            bring_home()
        try:
            for group, params in zip(groups, rest):
                group["params"] = params
            self._plain(optimizer)
        finally:
            for group, params in zip(groups, before):
                group["params"] = params


def _has_away(state: Optional[Dict[str, Any]]) -> bool:
    return state is not None and any(map(is_away, state.values()))


def _is_number(value: Any) -> bool:
    return type(value) is torch.Tensor and value.numel() == 1 and value.is_floating_point()


def _like(tensor: Any, parameter: torch.Tensor) -> bool:
    """Whether it may be a parameter's gradient or state."""
    if not is_plain(tensor) and type(tensor) is not Untouched:
        return False
    is_dense = tensor.layout is torch.strided and tensor.is_cpu
    return is_dense and tensor.dtype is torch.float32 and tensor.shape == parameter.shape


def _is_usual(tensor: Any, parameter: torch.Tensor) -> bool:
    return _like(tensor, parameter) and tensor.is_contiguous()


def _state(state: Dict[str, Any], name: str, parameter: torch.Tensor) -> torch.Tensor:
    """What PyTorch has of it, zeros at first."""
    found = state.get(name)
    return torch.zeros(parameter.shape, dtype=torch.float32) if found is None else found


def _write_nothing(parameter: torch.Tensor) -> None:
    parameter.detach().view(-1)[:0].zero_()


#: Has a parameter's version go up. PyTorch 1 has no function for it.
_count_write: Any = getattr(torch.autograd.graph, "increment_version", _write_nothing)


def _memory_of(tensor: torch.Tensor) -> Any:
    """Where it is, and how many bytes there are."""
    storage: Any = getattr(tensor, "untyped_storage", tensor.storage)()
    return storage.data_ptr(), storage.nbytes()


class _Memory:
    """Which of an optimizer's parameters are alone in their memory. Others change with those that
    they share it with, which nobody would tell."""

    def __init__(self) -> None:
        self._seen: List[Tuple[int, int]] = []
        self._alone: Set[int] = set()

    def alone(self, optimizer: Any) -> Set[int]:
        """Their ids. They are looked at again when one of them lies elsewhere."""
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        seen = [(id(each), each.data_ptr()) for each in parameters]
        if seen != self._seen:
            self._seen = seen
            self._alone = _alone(parameters)
        return self._alone


def _alone(parameters: Sequence[torch.Tensor]) -> Set[int]:
    usual = [each for each in parameters if is_plain(each) and each.layout is torch.strided]
    found = Counter(_memory_of(each)[0] for each in usual)
    return {
        id(each)
        for each in usual
        if isinstance(each, torch.nn.Parameter)
        and _is_usual(each, each)
        and not each.is_inference()
        and found[each.data_ptr()] == 1
        and _memory_of(each)[1] == each.numel() * each.element_size()
    }
