"""One captured network: a module in one mode, for arguments of one kind."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch
from torch.utils._pytree import tree_unflatten

from . import backward_code
from .arguments import Arguments
from .away import as_they_are
from .between import apart, hand_out, notice_inputs
from .body import Body
from .comparison import Comparison, Subject
from .engine import Engine
from .errors import Declined
from .function import Run, Step, run_forward
from .guard import Guard, hooked
from .inside import Inside
from .instance import Source
from .noting import Noting
from .pair import Pair
from .proof import Difference, Stops
from .rehearsal import (
    Place,
    Rehearsal,
    check_written,
    copies,
    more,
    rehearse,
)
from .state import PARAMETER, Held, held_by, in_place_of
from .trace import Traced, trace
from .transcript import Transcript, is_due

#: Operators of PyTorch's that a network may have in a step; each divides a graph.
MOST_HOST_CALLS = 6

_MOST_INDICES = 1 << 18


def _is_constant(held: Held, engine: Engine) -> bool:
    """Whether it is not where the network's tensors are: numbers of the host, beside a card."""
    small = held.tensor.numel() <= _MOST_INDICES and held.tensor.is_cpu
    return small and held.kind != PARAMETER and not engine.has(held.tensor)


def _check_held(held: Sequence[Held], engine: Engine) -> None:
    for each in held:
        tensor = each.tensor
        if _is_constant(each, engine):
            continue
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise Declined(f"{each.name} is a {type(tensor).__name__}")
        if not engine.has(tensor) or tensor.layout is not torch.strided:
            raise Declined(f"{each.name} is no dense tensor {engine.where}")
        if tensor.requires_grad and not tensor.is_leaf:
            raise Declined(f"{each.name} is computed outside of the network")
        if tensor.is_floating_point() and tensor.dtype is not torch.float32:
            raise Declined(f"{each.name} is {str(tensor.dtype).rpartition('.')[2]}")


def _is_index(held: Held) -> bool:
    """Whether its values belong to what is captured, as those of a window's relative positions do:
    no device has a type for them. In each step they are compared, so there may not be many."""
    return held.tensor.dtype in (torch.int64, torch.int32) and held.tensor.numel() <= _MOST_INDICES


class Unproved(Declined):
    """Captured it gives something else than PyTorch does."""


class Network:
    """Captured, but not proved. To be made with the engine's lock held."""

    def __init__(
        self, engine: Engine, module: torch.nn.Module, body: Body, arguments: Arguments
    ) -> None:
        name = hooked(list(module.named_modules()))
        if name is not None:
            raise Declined(f"{name} has hooks")
        self._held = held_by(module)
        self._tensors = [each.tensor for each in self._held]
        _check_held(self._held, engine)
        self._laid_out = [each.stride() for each in self._tensors]
        self.guard = Guard(module, self._held)
        self._body = body
        subject = self.subject(module, arguments)
        self._transcript = Transcript(subject.names)
        found = self._rehearsed(subject, body.traced is None)
        self._shapes = [each.shape for each in found.results]
        if body.traced is not None:
            subject = subject._replace(body=self._captured_body(module))
            self._rehearsed(subject, True)
        # What is not dense was a copy that is, as it has to be when that is compared.
        pairs = zip(self._tensors, found.given)
        self._loose = [at for at, (a, b) in enumerate(pairs) if a.stride() != b.stride()]
        self.calls = self.compared = 0  # how many, and that which was compared last
        self.is_doubted = False  # the next call is to be compared
        unsteady = self.difference(module, arguments)
        if unsteady is not None:
            raise Declined(f"it is not the same each time: {unsteady}")
        self.calls = 1  # this one
        traced = self._traced(subject)
        self._remember(found)
        written, held = set(found.written), len(self._held)
        fixed = {at for at in range(held) if at not in written and _is_index(self._held[at])}
        constant = {at for at in range(held) if _is_constant(self._held[at], engine)}
        if constant & written:
            raise Declined(f"it writes a tensor that is not {engine.where}")
        self.guard.fix([self._held[at] for at in sorted(fixed - constant)], engine.in_place)
        self.guard.fix([self._held[at] for at in sorted(constant)], False)
        sources = [
            Source(each, at < held, at in written, at in fixed | constant)
            for at, each in enumerate(subject.given)
        ]
        self._engine = engine
        self.pair = Pair(engine, traced, sources, len(found.results), found.differentiable)
        self._counters: Dict[int, List[int]] = {}  # by what is added to them in each step
        for at in self.pair.counters:
            self._counters.setdefault(more(found, at), []).append(at)
        self._check_host_calls()
        self._seconds = {"here": 0.0, "pytorch": 0.0}  # of the proof's passes

    @property
    def lead(self) -> float:
        """How many times as long PyTorch's passes took as the network's own when it was proved."""
        return self._seconds["pytorch"] / max(self._seconds["here"], 1e-9)

    @contextmanager
    def _timed(self, where: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self._engine.settle()
        self._seconds[where] += time.perf_counter() - begin

    def subject(self, module: torch.nn.Module, arguments: Arguments) -> Subject:
        """What computes. It keeps the module alive, which the network does not."""
        return Subject(partial(self._body.function, module), self._held, arguments)

    def _captured_body(self, module: torch.nn.Module) -> Callable[..., Any]:
        """The code that is traced."""
        if self._body.traced is None:
            return partial(self._body.function, module)
        return partial(self._body.traced, module, self._shapes)

    # --------------------------------------------------------------------------------- comparing

    def is_due(self) -> bool:
        """Of a call that is counted: whether the module's code is to be compared now."""
        self.calls += 1
        return self.is_doubted or is_due(self.calls)

    def is_laid_out_anew(self) -> bool:
        """Whether a tensor that it holds has other strides than when it was captured, by which
        PyTorch chooses operators."""
        with as_they_are():
            return [each.stride() for each in self._tensors] != self._laid_out

    def difference(self, module: torch.nn.Module, arguments: Arguments) -> Optional[str]:
        """What the module's code does now and did not when it was captured; None if nothing."""
        body = self._captured_body(module)
        loose = [self._held[at] for at in self._loose]
        dense = {at: copies([self._tensors[at]])[0] for at in self._loose}
        given = [dense.get(at, each) for at, each in enumerate(self._tensors)]
        try:
            with in_place_of(loose, list(dense.values())):
                found = self._transcript.difference(given, body, arguments)
        except MemoryError:  # another time, perhaps
            return None
        if found is None:
            self.compared, self.is_doubted = self.calls, False
        else:
            self.guard.restore()
        return found

    # --------------------------------------------------------------------------------- capturing

    def _rehearsed(self, subject: Subject, noted: bool) -> Rehearsal:
        """`noted`: it is this body that is going to be traced."""
        inside, noting = Inside(), Noting(self.guard.watch, self._body.operators)
        try:
            with noting if noted else nullcontext():
                found = rehearse(
                    subject.body,
                    subject.held,
                    subject.arguments,
                    subject.given,
                    inside=inside,
                    transcript=self._transcript if noted else None,
                )
            check_written(self._held, found)
            inside.reason = inside.reason or backward_code.reason(found.results)
            changed = self.guard.changed_attribute()
            if changed is not None:
                raise Declined(f"it changes its attribute {changed}")
            noting.settle()
            self.guard.watch.check()
            return found
        finally:
            self.guard.restore()
            if inside.reason is not None:
                raise Declined(inside.reason)

    def _traced(self, subject: Subject) -> Traced:
        body, held, arguments = subject.body, subject.held, subject.arguments

        def function(*given: torch.Tensor) -> List[torch.Tensor]:
            args, kwargs = arguments.filled(list(given[len(held) :]))
            with in_place_of(held, given):
                returned = body(*args, **kwargs)
            leaves = torch.utils._pytree.tree_flatten(returned)[0]
            results = {id(each): each for each in leaves if isinstance(each, torch.Tensor)}
            return [each.clone() for each in results.values()]

        def leaf(tensor: torch.Tensor) -> torch.Tensor:
            there = tensor.detach().to("cpu", copy=True)  # operators are the same everywhere then
            return there.requires_grad_(tensor.requires_grad)

        given = [leaf(each) for each in subject.given]
        try:
            with in_place_of(held, given):  # the module's code may be a part of a backward pass
                traced = trace(function, given)
            self.guard.watch.check()
            return traced
        finally:
            self.guard.restore()

    def _remember(self, found: Rehearsal) -> None:
        self._spec, self._leaves = found.spec, found.leaves
        self._written, self._silently = found.written, found.silently
        self.differentiable = found.differentiable
        self._strides = [_unusual_strides(each) for each in found.results]
        self._apart = None
        if len(found.differentiable) > 1:
            self._apart = apart(found.results, found.differentiable)
            notice_inputs()
        self._wanted = [at for at, each in enumerate(found.given) if each.requires_grad]

    def _check_host_calls(self) -> None:
        names = [each.name for each in self.pair.host_calls]
        if len(names) > MOST_HOST_CALLS:
            listed = ", ".join(dict.fromkeys(names))
            raise Declined(f"{len(names)} operators that Convoy has not: {listed}")

    # ------------------------------------------------------------------------------------- steps

    def run(self, module: torch.nn.Module, arguments: Arguments, checked: bool) -> Any:
        """What the module returns, and what it writes written. `checked`: compared with PyTorch's,
        and a difference raised."""
        subject = self.subject(module, arguments)
        with self._engine.lock:
            results, news = self._results(subject, arguments, checked)
            self._write(news)
            return self._returned(results)

    def _results(self, subject: Subject, arguments: Arguments, checked: bool) -> Any:
        """The network's, and by source the new values of what it writes."""
        given = [*self._tensors, *arguments.tensors]
        to = self._written, self._wanted, self.differentiable, self._apart, self._strides
        step = Step(self.pair, subject, given, *to, checked, {})
        if torch.is_grad_enabled() and self._wanted:
            results = Run.apply(step, *(given[at] for at in self._wanted))
            if self._apart is not None:
                results = hand_out(self._apart, results, step.saved)
        else:
            results, _, _ = run_forward(step)
        return results, step.news

    def _write(self, news: Dict[int, torch.Tensor]) -> None:
        with torch.no_grad():
            if news:
                _copy_all([self._written_as(at) for at in news], list(news.values()))
            for step, counters in self._counters.items():
                torch._foreach_add_([self._held[at].tensor for at in counters], step)

    def _written_as(self, at: int) -> torch.Tensor:
        """With a new version, or without, as PyTorch does it: it compares versions later on."""
        tensor = self._held[at].tensor
        return tensor.data if at in self._silently else tensor

    def _returned(self, results: Sequence[torch.Tensor]) -> Any:
        leaves = [
            results[each.at] if isinstance(each, Place) else each for each in self._leaves
        ]
        return tree_unflatten(leaves, self._spec)

    # ------------------------------------------------------------------------------------- proof

    def prove(self, subject: Subject) -> Stops[None]:
        """Raises Unproved unless it computes what PyTorch does with these arguments. The network's
        own passes are over before the first stop."""
        subject = subject.as_it_is()
        with self._timed("here"):
            results, news, call = self.pair.forward(subject.given)
        with self._timed("pytorch"):
            beside = Comparison(subject, self.pair.drawn(call))
        if self._body.traced is not None and any(bool((each == 0).any()) for each in results):
            raise Unproved("a part of it is zero, which proves nothing of how it is computed")
        backward = self._compared_backward(call, beside) if self.differentiable else None
        worst = yield from beside.forward(results, news)
        if backward is not None and worst is None:
            worst = yield from backward
        if worst is not None:
            raise Unproved(f"captured it gives something else: {worst}")
        self.guard.release()

    def _gradients(self, beside: Comparison, tangents: List[torch.Tensor]) -> Any:
        """By PyTorch. What a function of the program's reads in its backward pass counts, too."""
        noting = Noting(self.guard.watch, self._body.operators)
        with noting:
            wanted = beside.gradients(tangents)
        noting.settle()
        self.guard.watch.check()
        return wanted

    def _compared_backward(self, call: Any, beside: Comparison) -> Stops[Optional[Difference]]:
        tangents = _tangents([beside.results[at] for at in self.differentiable])
        with self._timed("here"):
            made = self.pair.backward(call, tangents)
        with self._timed("pytorch"):
            wanted = self._gradients(beside, tangents)
        self.pair.without = [at for at, each in enumerate(wanted) if each is None]
        return beside.backward(tangents, made, wanted)


def _unusual_strides(result: torch.Tensor) -> Any:
    """None where they are those of elements in order, also along axes of one element. What is
    repeated has memory of its own here."""
    usual, strides = torch.empty(result.shape, device="meta").stride(), result.stride()
    return None if strides == usual or 0 in strides else strides


def _copy_one_by_one(to: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> None:
    for each, value in zip(to, values):
        each.copy_(value)


_copy_all = getattr(torch, "_foreach_copy_", _copy_one_by_one)  # PyTorch 2.1 and newer


def _tangents(results: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """Gradients to try it with, the same each time."""
    numbers = torch.Generator().manual_seed(1)
    return [torch.randn(each.shape, generator=numbers).to(each.device) for each in results]
