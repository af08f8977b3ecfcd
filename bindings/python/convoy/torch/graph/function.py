"""A captured network as one function of PyTorch's autograd."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence

import torch

from ..._errors import WrongResultError
from ..._lib import Status
from .._card import Declined
from .._plainly import plainly
from .away import as_they_are
from .comparison import Comparison, Subject
from .pair import Pair
from .proof import Difference, Stops, at_once
from .rehearsal import differentiable_step

Tensors = Sequence[Optional[torch.Tensor]]


class Step(NamedTuple):
    """What a call of the network runs, and of what is given and of the results which matter."""

    pair: Pair
    subject: Subject
    given: List[torch.Tensor]
    written: Sequence[int]  # of what is given
    wanted: Sequence[int]  # of what is given: gets gradients
    differentiable: Sequence[int]  # results that have them
    checked: bool  # each step is compared with PyTorch's
    news: Any  # gets the new values of what is written


@contextmanager
def _as_pytorch() -> Iterator[None]:
    with plainly(), torch.enable_grad():
        yield


def _complain(found: Stops[Optional[Difference]]) -> None:
    worst = at_once(found)
    if worst is not None:
        raise WrongResultError(Status.ERR_WRONG, f"of a captured network {worst}")


def run_forward(step: Step) -> Any:
    """Results, the call for backward, and the step of PyTorch's that it is compared with."""
    values, news, call = step.pair.forward(step.given)
    step.news.update(news)
    beside = None
    if step.checked:
        with _as_pytorch():
            beside = Comparison(step.subject, step.pair.drawn(call))
            _complain(beside.forward(values, news))
    return values, call, beside


class Run(torch.autograd.Function):
    """run(step, *the given tensors that get gradients): the network's results."""

    @staticmethod
    def forward(ctx: Any, step: Step, *wanted: torch.Tensor) -> Any:
        values, ctx.call, ctx.beside = run_forward(step)
        ctx.step = step
        ctx.versions = _versions(step.given)
        # PyTorch sees to it that what backward reads has not been changed meanwhile.
        ctx.save_for_backward(*(step.given[at] for at in step.pair.read_by_backward))
        ctx.set_materialize_grads(False)
        there = set(step.differentiable)
        ctx.mark_non_differentiable(*(each for at, each in enumerate(values) if at not in there))
        return tuple(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Any:
        step = ctx.step
        _ = ctx.saved_tensors  # raises where there may be no backward pass any more
        tangents = [gradients[at] for at in step.differentiable]
        if all(each is None for each in tangents):
            return (None, *(None for _ in step.wanted))
        with step.pair.lock:
            if torch.is_grad_enabled():
                return (None, *_differentiable_gradients(ctx, tangents))
            found = _gradients(ctx, tangents)
            if ctx.call.instance.is_watched:
                _after_backward(ctx.call.instance.watch_gradients)
            return (None, *found)


def _after_backward(function: Any) -> None:
    """When PyTorch's backward pass is at its end, of which this is a part."""
    engine: Any = torch.autograd.Variable._execution_engine
    engine.queue_callback(function)


def _versions(tensors: Sequence[torch.Tensor]) -> List[int]:
    """Those made in inference mode have none."""
    with as_they_are():
        try:
            return [each._version for each in tensors]
        except RuntimeError:
            return [0 if each.is_inference() else each._version for each in tensors]


def _gradients(ctx: Any, tangents: Tensors) -> List[Optional[torch.Tensor]]:
    step = ctx.step
    if not step.pair.has_values(ctx.call):  # backward has been there before
        ctx.call = _again(ctx)
    try:
        found = step.pair.backward(ctx.call, tangents)
    except Declined:  # on a card, after a forward pass that was taken
        made = _by_pytorch(ctx, tangents)
        return [each if each is None else each.detach() for each in made]
    if ctx.beside is not None:
        with _as_pytorch():
            _complain(ctx.beside.backward(tangents, found))
    return [found[at] for at in step.wanted]


def _differentiable_gradients(ctx: Any, tangents: Tensors) -> List[Optional[torch.Tensor]]:
    """Gradients of which gradients will be asked for: those are PyTorch's to find."""
    step = ctx.step
    step.pair.is_differentiated_twice = True
    if not step.pair.has_values(ctx.call):
        ctx.call = _again(ctx)
    return _by_pytorch(ctx, tangents)


def _by_pytorch(ctx: Any, tangents: Tensors) -> List[Optional[torch.Tensor]]:
    """Both passes anew, with the random numbers of the captured one."""
    step = ctx.step
    with _as_pytorch():
        return differentiable_step(
            step.subject.body,
            step.subject.held,
            step.subject.arguments,
            step.pair.drawn(ctx.call),
            step.written,
            [step.given[at] for at in step.wanted],
            dict(zip(step.differentiable, tangents)),
        )


def _again(ctx: Any) -> Any:
    """The values that a backward pass before this one has given up, computed anew."""
    step = ctx.step
    there = [at for at in range(len(step.given)) if at not in step.written]
    versions = _versions(step.given)
    if any(versions[at] != ctx.versions[at] for at in there):
        raise RuntimeError(
            "a tensor that the network was computed from has been changed since: Convoy would need "
            "it to go backward through the network once more"
        )
    _, _, call = step.pair.forward(step.given, ctx.call)
    return call
