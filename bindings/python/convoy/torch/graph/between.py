"""Results that depend on one another, as feature maps and what a head makes of them do.

A captured network gives all its results by one function of autograd. Where it has several, each
gets a node of its own behind that, so that PyTorch finds between them what it would: a hook on a
result is called when a gradient comes there, a backward pass of one leaves the others alone. What
comes to a result by way of others, which is a part of what the captured backward pass computes,
only matters to who asks for the gradient there: by a hook, retain_grad() or as an input of
torch.autograd.grad(). Then PyTorch computes that part, as a gradient between the results, and what
comes to the captured backward pass is made less by it. That is right, and slow, so afterwards the
module is left to PyTorch.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple

import torch

ASKED = "gradients between its results are asked for"


class Apart(NamedTuple):
    """Of a network's results that have gradients: `order` are their places so that each comes after
    those it depends on, which `behind` has, the nearest last."""

    order: List[int]
    behind: Dict[int, List[int]]


def _edge(result: torch.Tensor) -> Tuple[Any, int]:
    return result.grad_fn, result.output_nr


def _edges_before(result: torch.Tensor) -> Set[Tuple[Any, int]]:
    """All edges of autograd's graph that lead on from the result's own."""
    found: Set[Tuple[Any, int]] = set()
    seen, left = {result.grad_fn}, [result.grad_fn]
    while left:
        edges = [each for each in left.pop().next_functions if each[0] is not None]
        found.update(edges)
        new = {node for node, _ in edges} - seen
        seen |= new
        left += new
    return found


def apart(results: Sequence[torch.Tensor], differentiable: Sequence[int]) -> Apart:
    """As PyTorch's own `results` say."""
    before = {at: _edges_before(results[at]) for at in differentiable}
    behind = {
        at: [other for other in differentiable if other != at and _edge(results[other]) in edges]
        for at, edges in before.items()
    }
    order = sorted(differentiable, key=lambda at: len(behind[at]))
    places = {at: place for place, at in enumerate(order)}
    return Apart(order, {at: sorted(those, key=places.__getitem__) for at, those in behind.items()})


class Result(torch.autograd.Function):
    """Result.apply(run, at, raw, saved, *behind): result `at`, which `raw` is for the network's
    function, whose node is `run`. `saved`: what its gradient is computed from, and may not change.
    """

    @staticmethod
    def forward(ctx: Any, run: Any, at: int, raw: torch.Tensor, saved: Any, *behind: Any) -> Any:
        ctx.run, ctx.at, ctx.behind = run, at, behind
        ctx.nodes = [each.grad_fn for each in behind]
        ctx.is_asked = False
        ctx.save_for_backward(*saved)
        ctx.set_materialize_grads(False)
        return raw.detach()  # the same memory, and no view of it

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        _ = ctx.saved_tensors  # raises where there may be no backward pass any more
        passed_on: List[Any] = [None for _ in ctx.behind]
        if gradient is not None and _is_asked(ctx):
            passed_on = ctx.run.step.between(ctx.run, ctx.at, gradient)
        ctx.run.moved[ctx.at] = passed_on
        return (None, None, gradient, None, *passed_on)


def _is_asked(ctx: Any) -> bool:
    """Whether somebody wants the gradient of a result that this one depends on."""
    return any(
        node.is_asked or each._backward_hooks or each.retains_grad
        for node, each in zip(ctx.nodes, ctx.behind)
    )


_Node: Any = getattr(Result, "_backward_cls", None)


def _notice_hooks(name: str) -> None:
    """Nodes are asked for by hooks of their own, too."""
    original = getattr(_Node, name, None)
    if original is None:  # PyTorch 1 has no register_prehook
        return

    def register(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.is_asked = True
        return original(self, *args, **kwargs)

    setattr(_Node, name, register)


_notice_hooks("register_hook")
_notice_hooks("register_prehook")


_Engine: Any = torch._C._ImperativeEngine  # type: ignore[attr-defined]


class _Noticing(_Engine):  # type: ignore[misc]
    """PyTorch's, which everything that goes backward calls. `inputs` are what gradients are wanted
    of, tensors or edges."""

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        inputs = kwargs.get("inputs") or (args[4] if len(args) > 4 else ())
        for each in inputs:
            node = each.grad_fn if isinstance(each, torch.Tensor) else each[0]
            if isinstance(node, _Node):
                node.is_asked = True
        return super().run_backward(*args, **kwargs)


def notice_inputs() -> None:
    """From now on, for good."""
    where: Any = torch.autograd.Variable
    if type(where._execution_engine) is _Engine:
        where._execution_engine = _Noticing()


def hand_out(found: Apart, raw: Sequence[torch.Tensor], saved: Any) -> List[torch.Tensor]:
    """The results for `raw`, which the network's function has given. saved(at): as for Result."""
    results, run = list(raw), raw[found.order[0]].grad_fn
    for at in found.order:
        behind = [results[each] for each in found.behind[at]]
        results[at] = Result.apply(run, at, raw[at], saved(at), *behind)
    return results


def between(
    results: Sequence[torch.Tensor], at: int, behind: Sequence[int], gradient: Any, twice: bool
) -> List[Any]:
    """PyTorch's gradients of what is behind a result, by each way that leads through no other
    result, None where there is none. `twice`: they are differentiated, too."""
    found: Dict[int, Any] = {}
    for each in reversed(behind):
        there = [(other, made) for other, made in found.items() if made is not None]
        ends = [results[at], *(results[other] for other, _ in there)]
        along = [gradient, *(-made for _, made in there)]
        (found[each],) = torch.autograd.grad(
            ends,
            [results[each]],
            along,
            allow_unused=True,
            retain_graph=True,
            create_graph=twice,
        )
    return [found[each] for each in behind]


def without_moved(run: Any, tangents: Dict[int, Any]) -> Dict[int, Any]:
    """The gradients of results that the captured backward pass is given: by result, without what
    has come from other results in the same pass."""
    left = dict(tangents)
    for at, those in run.step.apart.behind.items():
        if tangents[at] is None:  # not a part of this pass
            continue
        for each, made in zip(those, run.moved.get(at, ())):
            if made is not None:
                left[each] = -made if left[each] is None else left[each] - made
    return left
