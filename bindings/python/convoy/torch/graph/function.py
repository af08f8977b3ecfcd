"""A captured network as one function of PyTorch's autograd."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence

import torch

from .pair import Pair


class Step(NamedTuple):
    """What a call of the network runs: the pair, and which of the given tensors get gradients."""

    pair: Pair
    given: List[torch.Tensor]
    wanted: List[int]  # given tensors that require gradients
    differentiable: List[int]  # results that do
    results: Any  # gets the new values of what is written


class Run(torch.autograd.Function):
    """run(step, *the given tensors that require gradients): the network's results."""

    @staticmethod
    def forward(ctx: Any, step: Step, *wanted: torch.Tensor) -> Any:
        values, news, call = step.pair.forward(step.given)
        step.results.update(news)
        ctx.step, ctx.call = step, call
        ctx.save_for_backward(*step.given)  # PyTorch sees to it that they are not changed meanwhile
        ctx.set_materialize_grads(False)
        there = set(step.differentiable)
        ctx.mark_non_differentiable(*(each for at, each in enumerate(values) if at not in there))
        return tuple(values)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Any:
        step, pair = ctx.step, ctx.step.pair
        given = ctx.saved_tensors
        tangents = [gradients[at] for at in step.differentiable]
        if all(each is None for each in tangents):
            return (None, *(None for _ in step.wanted))
        if not pair.has_values(ctx.call):  # backward has been there before
            _, _, ctx.call = pair.forward(given, ctx.call)
        found = pair.backward(ctx.call, tangents)
        return (None, *(found[at] for at in step.wanted))
