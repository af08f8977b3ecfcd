"""The tensors that a module computes with, and others in their place for the length of a trace."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import torch

PARAMETER, BUFFER, ATTRIBUTE = "parameter", "buffer", "attribute"


class _Attributes:
    """A module's, as a dictionary that does not keep the module alive: `vars(module)` may."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = weakref.ref(module)

    def _there(self) -> Dict[str, Any]:
        return getattr(self._module(), "__dict__", {})

    def get(self, name: str) -> Any:
        return self._there().get(name)

    def __getitem__(self, name: str) -> Any:
        return self._there()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._there()[name] = value


class Held(NamedTuple):
    """A tensor, and all places of modules where it is: one may be shared by several layers."""

    kind: str
    name: str
    tensor: torch.Tensor
    places: List[Tuple[Any, str]]


def _places(module: torch.nn.Module) -> Iterator[Tuple[str, str, Any, str]]:
    for prefix, each in module.named_modules():
        dot = prefix + "." if prefix else ""
        attributes = {
            name: None for name, value in each.__dict__.items() if isinstance(value, torch.Tensor)
        }
        for name in each._parameters:
            yield PARAMETER, dot + name, each._parameters, name
        for name in each._buffers:
            yield BUFFER, dot + name, each._buffers, name
        for name in attributes:
            yield ATTRIBUTE, dot + name, _Attributes(each), name


def held_by(module: torch.nn.Module) -> List[Held]:
    """Parameters, buffers, and tensors that are plain attributes, of the module and all in it."""
    found: Dict[int, Held] = {}
    for kind, name, where, key in _places(module):
        tensor = where[key]
        if tensor is None:
            continue
        held = found.setdefault(id(tensor), Held(kind, name, tensor, []))
        held.places.append((where, key))
    return list(found.values())


@contextmanager
def in_place_of(held: Sequence[Held], tensors: Sequence[torch.Tensor]) -> Iterator[List[str]]:
    """The module computes with these. Afterwards the list has the names of those in whose place it
    has put something else itself, which stays undone."""
    replaced: List[str] = []
    before = [(where, key, where.get(key)) for each in held for where, key in each.places]
    try:
        for each, tensor in zip(held, tensors):
            for where, key in each.places:
                where[key] = tensor
        yield replaced
        for each, tensor in zip(held, tensors):
            if any(where.get(key) is not tensor for where, key in each.places):
                replaced.append(each.name)
    finally:
        for where, key, tensor in before:
            where[key] = tensor
