"""A captured network as one function of PyTorch's autograd."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional

import torch

from .pair import Pair


class Step(NamedTuple):
    """What a call of the network runs: the pair, and which of the given tensors get gradients."""

    pair: Pair
    given: List[torch.Tensor]
    written: List[int]  # of the given tensors
    wanted: List[int]  # given tensors that require gradients
    differentiable: List[int]  # results that do
    news: Any  # gets the new values of what is written


class Run(torch.autograd.Function):
    """run(step, *the given tensors that require gradients): the network's results."""

    @staticmethod
    def forward(ctx: Any, step: Step, *wanted: torch.Tensor) -> Any:
        values, news, call = step.pair.forward(step.given)
        step.news.update(news)
        ctx.step, ctx.call = step, call
        ctx.versions = [each._version for each in step.given]
        # PyTorch sees to it that what backward reads has not been changed meanwhile.
        ctx.save_for_backward(*(step.given[at] for at in step.pair.read_by_backward))
        ctx.set_materialize_grads(False)
        there = set(step.differentiable)
        ctx.mark_non_differentiable(*(each for at, each in enumerate(values) if at not in there))
        return tuple(values)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Any:
        step, pair = ctx.step, ctx.step.pair
        _ = ctx.saved_tensors  # raises where there may be no backward pass any more
        tangents = [gradients[at] for at in step.differentiable]
        if all(each is None for each in tangents):
            return (None, *(None for _ in step.wanted))
        with pair.lock:
            if not pair.has_values(ctx.call):  # backward has been there before
                ctx.call = _again(ctx)
            found = pair.backward(ctx.call, tangents)
        return (None, *(found[at] for at in step.wanted))


def _again(ctx: Any) -> Any:
    """The values that a backward pass before this one has given up, computed anew."""
    step = ctx.step
    there = [at for at in range(len(step.given)) if at not in step.written]
    if any(step.given[at]._version != ctx.versions[at] for at in there):
        raise RuntimeError(
            "a tensor that the network was computed from has been changed since: Convoy would need "
            "it to go backward through the network once more"
        )
    _, _, call = step.pair.forward(step.given, ctx.call)
    return call
