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
from .between import ASKED, Apart, between, without_moved
from .comparison import Comparison, Subject
from .pair import Pair
from .proof import Difference, Stops, at_once
from .rehearsal import computed_again, differentiable_step

Tensors = Sequence[Optional[torch.Tensor]]

TWICE = "gradients of its gradients are asked for"


class Step(NamedTuple):
    """What a call of the network runs, and of what is given and of the results which matter."""

    pair: Pair
    subject: Subject
    given: List[torch.Tensor]
    written: Sequence[int]  # of what is given
    wanted: Sequence[int]  # of what is given: gets gradients
    differentiable: Sequence[int]  # results that have them
    apart: Optional[Apart]  # None where there is one at most
    strides: Sequence[Any]  # of results, where they are not the usual ones
    checked: bool  # each step is compared with PyTorch's
    news: Any  # gets the new values of what is written

    def saved(self, at: int) -> List[torch.Tensor]:
        """What the gradient of a result reads of what is given."""
        read = self.pair.read_by[self.differentiable.index(at)]
        return [self.given[each] for each in read]

    def between(self, run: Any, at: int, gradient: torch.Tensor) -> List[Any]:
        """By PyTorch: gradients of the results that result `at` depends on."""
        assert self.apart is not None
        self.pair.left_because = ASKED
        twice = torch.is_grad_enabled()
        tangents = [gradient if each == at else None for each in self.differentiable]
        with self.pair.lock:
            drawn = _drawn(run, tangents)
        with _as_pytorch(), computed_again(*self.subject[:3], drawn, self.written) as results:
            return between(results, at, self.apart.behind[at], gradient, twice)


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
    if step.checked:
        step = step._replace(subject=step.subject.as_it_is())
    values, news, call = step.pair.forward(step.subject.given if step.checked else step.given)
    values = [_in_layout(each, strides) for each, strides in zip(values, step.strides)]
    step.news.update(news)
    beside = None
    if step.checked:
        with _as_pytorch():
            beside = Comparison(step.subject, step.pair.drawn(call))
            _complain(beside.forward(values, news))
    return values, call, beside


def _in_layout(result: torch.Tensor, strides: Any) -> torch.Tensor:
    """With the strides that PyTorch's own result has."""
    if strides is None:
        return result
    kind = {"dtype": result.dtype, "device": result.device}
    return torch.empty_strided(result.shape, strides, **kind).copy_(result)


class Run(torch.autograd.Function):
    """run(step, *the given tensors that get gradients): the network's results."""

    @staticmethod
    def forward(ctx: Any, step: Step, *wanted: torch.Tensor) -> Any:
        values, ctx.call, ctx.beside = run_forward(step)
        ctx.step, ctx.moved = step, {}
        ctx.versions = _versions(step.given)
        # PyTorch sees to it that what backward reads has not been changed meanwhile.
        if step.apart is None:
            ctx.save_for_backward(*(step.given[at] for at in step.pair.read_by_backward))
        ctx.set_materialize_grads(False)
        there = set(step.differentiable)
        ctx.mark_non_differentiable(*(each for at, each in enumerate(values) if at not in there))
        return tuple(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Any:
        step = ctx.step
        if step.apart is None:
            _ = ctx.saved_tensors  # raises where there may be no backward pass any more
        came = {at: gradients[at] for at in step.differentiable}
        tangents = [*(came if step.apart is None else without_moved(ctx, came)).values()]
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
        ctx.call = _again(ctx, tangents)
    try:
        found = step.pair.backward(ctx.call, tangents)
    except Declined:  # on a card, after a forward pass that was taken
        made = _by_pytorch(ctx, tangents)
        return [each if each is None else each.detach() for each in made]
    if ctx.beside is not None:
        with _as_pytorch():
            _complain(ctx.beside.backward(tangents, found, ctx.beside.gradients(tangents)))
    return [found[at] for at in step.wanted]


def _differentiable_gradients(ctx: Any, tangents: Tensors) -> List[Optional[torch.Tensor]]:
    """Gradients of which gradients will be asked for: those are PyTorch's to find."""
    step = ctx.step
    step.pair.left_because = TWICE
    return _by_pytorch(ctx, tangents)


def _by_pytorch(ctx: Any, tangents: Tensors) -> List[Optional[torch.Tensor]]:
    """Both passes anew, with the random numbers of the captured one."""
    step = ctx.step
    with _as_pytorch():
        return differentiable_step(
            step.subject.body,
            step.subject.held,
            step.subject.arguments,
            _drawn(ctx, tangents),
            step.written,
            [step.given[at] for at in step.wanted],
            dict(zip(step.differentiable, tangents)),
        )


def _drawn(ctx: Any, tangents: Tensors) -> Optional[List[torch.Tensor]]:
    """The random numbers of the captured forward pass."""
    if not ctx.step.pair.has_values(ctx.call):
        ctx.call = _again(ctx, tangents)
    return ctx.step.pair.drawn(ctx.call)


def _again(ctx: Any, tangents: Tensors) -> Any:
    """The values that a backward pass before this one has given up, computed anew."""
    step = ctx.step
    versions = _versions(step.given)
    if any(versions[at] != ctx.versions[at] for at in step.pair.needed(tangents)):
        raise RuntimeError(
            "a tensor that the network was computed from has been changed since: Convoy would need "
            "it to go backward through the network once more"
        )
    _, _, call = step.pair.forward(step.given, ctx.call)
    return call
