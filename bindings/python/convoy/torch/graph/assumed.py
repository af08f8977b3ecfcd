"""What the program knows of values that forward reads: convoy.torch.assume()."""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any, Dict, List, NamedTuple, Set, Tuple

import torch

from ..._errors import argument_error
from ..._values import shown
from . import declined

_MOST_SHOWN = 12


class _Entry(NamedTuple):
    of: Any  # weak reference to the module
    paths: Tuple[str, ...]


_entries: Dict[int, _Entry] = {}  # by id: a module need not have a hash


def assume(module: Any, paths: Tuple[Any, ...]) -> Any:
    """convoy.torch.assume()."""
    if not isinstance(module, torch.nn.Module):
        raise argument_error(f"module is {shown(module)}, no torch.nn.Module")
    if not paths:
        raise argument_error("no path of a value is named")
    for path in paths:
        _found(module, path)
    key, before = id(module), _paths(module)
    _entries[key] = _Entry(weakref.ref(module, lambda ref: _forget(key, ref)), before + paths)
    declined.ask_again()
    return module


def _forget(key: int, ref: Any) -> None:
    if key in _entries and _entries[key].of is ref:
        del _entries[key]


def _paths(module: torch.nn.Module) -> Tuple[str, ...]:
    found = _entries.get(id(module))
    return found.paths if found is not None and found.of() is module else ()


def _found(module: torch.nn.Module, path: Any) -> Tuple[Any, str, Any]:
    """What has the value, the name that it has there, and the value."""
    if not isinstance(path, str):
        raise argument_error(f"a path is {shown(path)}, no text")
    names = path.split(".")
    for count in range(len(names) - 1, 0, -1):
        there = sys.modules.get(".".join(names[:count]))
        if there is not None and not hasattr(module, names[0]):
            return _followed(there, names[count:], path)
    return _followed(module, names, path)


def _followed(value: Any, names: List[str], path: str) -> Tuple[Any, str, Any]:
    for name in names:
        if not hasattr(value, name):
            raise argument_error(f"{shown(path)}: {_named(value)} has no {name}; {_known(value)}")
        owner, value = value, getattr(value, name)
    if isinstance(value, (torch.Tensor, torch.nn.Module)):
        raise argument_error(f"{shown(path)} is a {type(value).__name__}, which each step reads")
    return owner, names[-1], value


def _named(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))


def _known(value: Any) -> str:
    """What could have been meant."""
    there = getattr(value, "__dict__", {})
    names = [each for each in there if not each.startswith("_") and each != "training"]
    values = [each for each in names if not isinstance(there[each], types.ModuleType)]
    listed = ", ".join(values[:_MOST_SHOWN]) or "nothing"
    return f"there is {listed}" + (" and more" if len(values) > _MOST_SHOWN else "")


def of(module: torch.nn.Module) -> Tuple[Tuple[str, str], ...]:
    """All that is assumed of the module and those inside, as names of modules and paths."""
    if not _entries:
        return ()
    inside = module.named_modules()
    return tuple((name, path) for name, each in inside for path in _paths(each))


class Assumed:
    """Where the values are, of a module and those inside."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.places: Set[Tuple[int, str]] = set()  # ids of what has them, and names
        self.values: Set[int] = set()  # ids of those that have attributes of their own
        self._alive: List[Any] = []  # as long as ids are compared
        for each in module.modules():
            for path in _paths(each):
                self._add(*_found(each, path))

    def _add(self, owner: Any, name: str, value: Any) -> None:
        owners = [owner, *type(owner).__mro__]
        if isinstance(owner, (types.ModuleType, type)):
            owners = [owner, *getattr(owner, "__mro__", ()), vars(owner)]
        self.places.update((id(each), name) for each in owners)
        if hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            self.values.add(id(value))
        self._alive.append((owners, value))

    def names_of(self, module: torch.nn.Module) -> Set[str]:
        """Attributes of a module."""
        return {name for there, name in self.places if there == id(module)}

    def has(self, owner: Any, place: Any) -> bool:
        return bool(self.places) and isinstance(place, str) and (id(owner), place) in self.places
