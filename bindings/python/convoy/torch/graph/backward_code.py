"""Functions of autograd that are written in Python, inside of a module: their code is a part of its
backward pass. A captured network computes what it computes, and runs none of it; so it may do
nothing else, such as count, note or write."""

from __future__ import annotations

import builtins
import dis
import inspect
import math
from types import ModuleType
from typing import Any, Iterable, Iterator, Optional, Sequence, Set, Tuple

import torch

_PURE = frozenset(
    """abs all any bool dict divmod enumerate float int isinstance len list max min None pow range
    reversed round set slice sorted str sum tuple type zip True False NotImplementedError
    RuntimeError ValueError TypeError AssertionError""".split()
)

#: Operations of Python's that write what others may see. Elements are written of what the code has
#: made itself, since nothing else that it reaches has any, but for tensors that it was given.
_WRITES = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "DELETE_", "IMPORT_")

#: Functions of PyTorch's that do more than compute.
_OTHERS = frozenset("distributed save load register_hook numpy item tolist".split())

_VALUES = (
    *(bool, int, float, complex, str, type(None)),
    *(torch.dtype, torch.device, torch.memory_format, torch.layout),
)


def _nodes(results: Sequence[torch.Tensor]) -> Iterable[Any]:
    """All of autograd's graph."""
    seen: Set[Any] = set()
    left = [each.grad_fn for each in results if each.grad_fn is not None]
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left += [each for each, _ in node.next_functions if each is not None]
    return seen


def _is_value(value: Any, *more: type) -> bool:
    """One that nobody can change."""
    if isinstance(value, tuple):
        return all(_is_value(each, *more) for each in value)
    return isinstance(value, (*_VALUES, *more))


def _is_known(value: Any, seen: Set[Any]) -> bool:
    """Whether whatever is called of it only computes."""
    if isinstance(value, ModuleType):
        return value is math or value.__name__.split(".")[0] == "torch"
    if inspect.isfunction(value) and not str(value.__module__).startswith("torch."):
        return value in seen or _only_computes(value, seen)
    return _is_value(value) or str(getattr(value, "__module__", "")).split(".")[0] == "torch"


def _codes(code: Any) -> Iterator[Any]:
    yield code
    for each in code.co_consts:
        if inspect.iscode(each):  # of comprehensions
            yield from _codes(each)


def _only_computes(function: Any, seen: Set[Any]) -> bool:
    """`seen`: functions that are looked at already."""
    seen.add(function)
    function = inspect.unwrap(function)
    if not inspect.isfunction(function) or function.__closure__:
        return False
    return all(
        _is_harmless(each, function.__globals__, seen)
        for code in _codes(function.__code__)
        for each in dis.get_instructions(code)
    )


def _is_harmless(at: dis.Instruction, names: Any, seen: Set[Any]) -> bool:
    if at.opname.startswith(_WRITES) or at.argval in _OTHERS:
        return False
    if at.opname in ("LOAD_ATTR", "LOAD_METHOD") and _is_in_place(at.argval):
        return False
    if at.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
        return True
    if at.argval in names:
        return _is_known(names[at.argval], seen)
    return at.argval in _PURE and hasattr(builtins, at.argval)


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _parts(node: Any) -> Tuple[Any, Any]:
    """The function's class, and what computes its gradients."""
    of = node._forward_cls
    own = of.vjp if of.backward is torch.autograd.Function.backward else of.backward
    return of, own


_PYTHON: Any = torch.autograd.function.BackwardCFunction


def reason(results: Sequence[torch.Tensor]) -> Optional[str]:
    """Why a network with these results cannot be captured; None if nothing speaks against it."""
    for node in _nodes(results):
        if isinstance(node, _PYTHON):
            of, own = _parts(node)
            known = all(_is_value(each, torch.Tensor) for each in vars(node).values())
            if not known or not _only_computes(own, set()):
                return f"its function {of.__name__} may do more than compute gradients"
    return None
