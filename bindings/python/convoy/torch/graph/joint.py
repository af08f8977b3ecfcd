"""A traced graph cut into its forward and its backward pass."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch

from .errors import Declined
from .table import name_of
from .trace import Traced, results_of

Node = torch.fx.Node


#: Operators that draw random numbers.
DRAWING = frozenset(
    """native_dropout.default bernoulli.p bernoulli.default bernoulli_.float bernoulli_.default
    rand.default rand_like.default randn.default randn_like.default randint.default
    randint_like.default randperm.default uniform_.default uniform.default normal_.default
    normal_functional.default normal.float_Tensor normal.Tensor_float normal.Tensor_Tensor
    multinomial.default exponential_.default geometric_.default""".split()
)


def _before(ends: Iterable[Any]) -> Set[Node]:
    """All nodes that these are computed from, and they themselves."""
    found: Set[Node] = set()
    left = [each for each in ends if isinstance(each, Node)]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left.extend(node.all_input_nodes)
    return found


class Joint(NamedTuple):
    """Nodes are calls of operators, in order."""

    given: List[Node]  # placeholders of parameters, buffers and inputs
    tangents: List[Node]  # placeholders of the gradients of results that have them
    zeros: List[Node]  # of those that have none, as PyTorch 1 has them
    attributes: List[Node]  # constants
    results: List[Any]  # the network's
    news: Dict[int, Optional[Node]]  # what sources that are written become; None: it is in place
    counters: List[int]  # sources that are written some more than they were
    gradients: List[Any]  # of what is given, None for those without
    forward: List[Node]
    backward: List[Node]
    crossing: List[Node]  # what backward reads of forward's values and of what is given
    draws: List[Node]  # operators of forward that draw random numbers
    reached: List[int]  # for each gradient the tangents it depends on, as bits
    read_by: List[Set[Node]]  # for each tangent what its gradients are computed from...
    needed_by: List[Set[Node]]  # ...and all that this is computed from


def cut(
    traced: Traced, outputs: int, differentiable: Sequence[int], written: Sequence[int]
) -> Joint:
    """What forward's results need belongs to forward, the rest of what gradients need to backward.

    outputs: how many of forward's results are the network's; before them PyTorch 2 has the new
    values of what is written, while PyTorch 1 has operators that write in place. differentiable:
    which of them have gradients."""
    nodes = list(traced.graph.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    calls = [node for node in nodes if node.op == "call_function"]
    given = placeholders[: traced.given]
    tangents, zeros = _tangents(placeholders[traced.given :], outputs, differentiable)
    results = results_of(traced.graph)
    ahead, gradients = results[: traced.forward], results[traced.forward :]
    news, counters = _news(ahead[: len(ahead) - outputs], given, written)
    ahead = ahead[len(ahead) - outputs :]
    first = _before([*ahead, *news.values()])
    second = _before(gradients) - first
    forward = [node for node in calls if node in first]
    backward = [node for node in calls if node in second]
    read = {each for node in backward for each in node.all_input_nodes}
    read |= {each for each in gradients if isinstance(each, Node)}
    later = {*backward, *tangents, *zeros}
    attributes = [node for node in nodes if node.op == "get_attr"]
    crossing = [node for node in nodes if node in read and node not in later]
    crossing = [node for node in crossing if node not in attributes]
    draws = [node for node in forward if name_of(node.target) in DRAWING]
    if any(name_of(node.target) in DRAWING for node in backward):
        raise Declined("its gradients draw random numbers")
    bits = _bits(tangents, backward)
    reached = [bits.get(each, 0) if isinstance(each, Node) else 0 for each in gradients]
    read_by = [_read(1 << at, bits, backward) for at in range(len(tangents))]
    return Joint(
        given,
        tangents,
        zeros,
        attributes,
        ahead,
        news,
        counters,
        gradients,
        forward,
        backward,
        crossing,
        draws,
        reached,
        read_by,
        [_before(each) for each in read_by],
    )


def _tangents(
    placeholders: List[Node], outputs: int, differentiable: Sequence[int]
) -> Tuple[List[Node], List[Node]]:
    if len(placeholders) == len(differentiable) or not placeholders:
        return placeholders, []
    if len(placeholders) != outputs:
        raise Declined(f"{len(placeholders)} gradients for {outputs} results")
    there = [placeholders[at] for at in differentiable]
    return there, [each for each in placeholders if each not in there]


def _bits(tangents: Sequence[Node], backward: Sequence[Node]) -> Dict[Node, int]:
    """For each node of the backward pass the tangents it depends on."""
    bits: Dict[Node, int] = {node: 1 << at for at, node in enumerate(tangents)}
    for node in backward:
        together = 0
        for each in node.all_input_nodes:
            together |= bits.get(each, 0)
        bits[node] = together
    return bits


def _read(bit: int, bits: Dict[Node, int], backward: Sequence[Node]) -> Set[Node]:
    """What those that depend on a tangent read of others than the backward pass."""
    depending = [node for node in backward if bits[node] & bit]
    return {each for node in depending for each in node.all_input_nodes if each not in bits}


def _news(
    results: Sequence[Any], given: Sequence[Node], written: Sequence[int]
) -> Tuple[Dict[int, Optional[Node]], List[int]]:
    if len(results) not in (0, len(written)):
        raise Declined(f"{len(results)} of {len(written)} tensors that it writes were traced")
    news: Dict[int, Optional[Node]] = {}
    counters: List[int] = []
    for at, node in zip(written, results or [None] * len(written)):
        if _is_counted(node, given[at]):
            counters.append(at)
        else:
            news[at] = node
    return news, counters


def _is_counted(node: Any, placeholder: Node) -> bool:
    """Whether the node is the placeholder plus a number, or several, as a batch norm's count of
    batches is. PyTorch 1 leaves that out of what it traces, since nobody reads it."""
    if node is None:
        val = placeholder.meta["tensor_meta"]
        return val.dtype is torch.int64 and tuple(val.shape) == ()
    while node is not placeholder:
        adds = isinstance(node, Node) and name_of(node.target) == "add.Tensor" and not node.kwargs
        if not adds or not isinstance(node.args[1], int):
            return False
        node = node.args[0]
    return True
