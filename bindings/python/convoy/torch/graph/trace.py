"""A module's forward and backward pass as one graph of ATen operators.

PyTorch's AOT Autograd traces; Dynamo, which before 2.7 miscompiles generators, has no part in it.
Its own compilers are not reached: the joint graph is taken where it would be cut in two. It is
imported when there is something to trace, since that takes longer than the rest of PyTorch.
"""

from __future__ import annotations

import contextlib
import gc
import linecache
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import torch

from . import filters, resampling
from .errors import Declined

Graph = torch.fx.GraphModule


class Traced(NamedTuple):
    """Placeholders are the tensors given, then gradients of outputs; results are what outputs and
    written inputs become, then the gradients of the tensors given, None for those without."""

    graph: Graph
    constants: Dict[str, torch.Tensor]  # that the module's code has made, by the graph's names
    forward: int  # how many results belong to the forward pass
    given: int  # how many placeholders are tensors given


#: Operators that PyTorch's own rules take apart into those of the table.
_APART = """_weight_norm_interface addr aminmax binary_cross_entropy binary_cross_entropy_backward
    binary_cross_entropy_with_logits celu channel_shuffle dist frac glu glu_backward heaviside
    huber_loss huber_loss_backward logit logit_backward logsumexp mse_loss mse_loss_backward
    pixel_shuffle pixel_unshuffle repeat roll smooth_l1_loss smooth_l1_loss_backward
    soft_margin_loss std_mean xlogy""".split()


def _rules() -> Dict[Any, Any]:
    """Which of them there are depends on PyTorch's version."""
    from torch._decomp import get_decompositions

    operators = [getattr(torch.ops.aten, name, None) for name in _APART]
    return dict(get_decompositions([each for each in operators if each is not None]))


class _Taken(Exception):
    """The graph is there; the rest is not wanted."""


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


@contextlib.contextmanager
def _whole_operators() -> Iterator[None]:
    """PyTorch 2 takes resampling apart into indexing, unless the rules are not there."""
    kept: List[Any] = []
    keys = torch._C.DispatchKey
    for name in (*resampling.OPERATORS, *filters.OPERATORS):
        for overload in resampling.OVERLOADS:
            op: Any = getattr(getattr(torch.ops.aten, name), overload, None)
            rules = getattr(op, "py_kernels", {})
            taken = {
                key: rules.pop(key)
                for key in (keys.CompositeImplicitAutograd, keys.Autograd)
                if key in rules
            }
            if taken:
                kept.append((op, taken))
                op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, taken in kept:
            op.py_kernels.update(taken)
            op._dispatch_cache.clear()


@contextlib.contextmanager
def _plain_attention() -> Iterator[None]:
    """Attention as products and softmax, not as one operator."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:  # before 2.3
        yield
        return
    with sdpa_kernel([SDPBackend.MATH]):
        yield


@contextlib.contextmanager
def _no_sources_kept() -> Iterator[None]:
    """PyTorch keeps the source of every graph that it makes for good, so that tracebacks can show
    it: some 15 KiB for each capture of a small network. What another thread makes meanwhile loses
    its own, too, and then its tracebacks lack a line."""
    loader = getattr(torch.fx.graph_module, "_loader", None)
    sources: Dict[str, str] = getattr(loader, "eval_cache", {})
    before = set(sources)
    try:
        yield
    finally:
        for name in set(sources) - before:
            sources.pop(name, None)
            linecache.cache.pop(name, None)


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Tracing makes a million objects that are in use; looking through them again and again, as
    Python's collector does, is a fifth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def trace(function: Callable[..., List[torch.Tensor]], given: Sequence[torch.Tensor]) -> Traced:
    """The graph of function(*given) and of its gradients. `given` are leaves, of which those that
    require gradients get them; on PyTorch 1 they are computed with, and may be written."""
    graph, forward = _joint_graph(function, given)
    found = _constants(graph)
    if found:
        _check_constants(found, _constants(_joint_graph(function, given)[0]))
    constants = {name: tensor.detach().clone() for name, tensor in found.items()}
    return Traced(graph, constants, forward, len(given))


def _joint_graph(function: Callable[..., Any], given: Sequence[torch.Tensor]) -> Tuple[Graph, int]:
    """The graph, and how many of its results are forward's."""
    from functorch.compile import aot_function  # type: ignore[import-untyped]

    taken: Dict[str, Any] = {}

    def partition(joint: Graph, inputs: Any, **more: Any) -> Any:
        spec: Any = joint._out_spec  # PyTorch 1 has nothing else that says how many
        forward = more.get("num_fwd_outputs") or spec.children_specs[0].num_leaves
        taken.update(graph=joint, forward=forward)
        raise _Taken

    def compile_forward(graph: Graph, inputs: Any) -> Any:
        if not taken:  # there are no gradients
            taken.update(graph=graph, forward=len(results_of(graph)))
        raise _Taken

    traced = aot_function(
        function,
        fw_compiler=compile_forward,
        bw_compiler=compile_forward,
        partition_fn=partition,
        decompositions=_rules(),
    )
    try:
        with _whole_operators(), _plain_attention(), _no_sources_kept(), _no_collections():
            traced(*given)
    except _Taken:
        pass
    except Exception as error:  # whatever a module's code does with what is no usual tensor
        raise Declined(f"it cannot be traced: {_first_line(error)}") from error
    if not taken:
        raise Declined("it computes nothing")
    return taken["graph"], taken["forward"]


def _constants(graph: Graph) -> Dict[str, torch.Tensor]:
    """Tensors that are no placeholders."""
    found: Dict[str, torch.Tensor] = {}
    for node in graph.graph.nodes:
        if node.op == "get_attr":
            tensor = getattr(graph, str(node.target))
            if not isinstance(tensor, torch.Tensor):
                raise Declined(f"its graph has a part of its own, {node.target}")
            found[str(node.target)] = tensor
    return found


def _check_constants(first: Dict[str, torch.Tensor], second: Dict[str, torch.Tensor]) -> None:
    """Tensors that the module's code makes anew each time, of the same values, are constants; one
    that somebody keeps may change, and nothing would tell."""
    if any(tensor is second.get(name) for name, tensor in first.items()):
        raise Declined("it reads a tensor that no module has as parameter, buffer or attribute")
    same = first.keys() == second.keys()
    if not same or not all(torch.equal(each, second[name]) for name, each in first.items()):
        raise Declined("it makes tensors of other values each time")


def results_of(graph: Graph) -> List[Any]:
    """The graph's results in order."""
    (output,) = [node for node in graph.graph.nodes if node.op == "output"]
    return torch.utils._pytree.tree_flatten(output.args[0])[0]
