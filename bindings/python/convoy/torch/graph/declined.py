"""Modules that the program leaves to PyTorch: convoy.torch.decline()."""

from __future__ import annotations

import weakref
from typing import Any, Dict, NamedTuple, Optional

import torch

from ..._errors import argument_error
from ..._values import shown


class _Entry(NamedTuple):
    of: Any  # weak reference to the module
    why: str


_entries: Dict[int, _Entry] = {}  # by id: a module need not have a hash
_calls = [0]


def decline(module: Any, why: str) -> Any:
    """convoy.torch.decline()."""
    if not isinstance(module, torch.nn.Module):
        raise argument_error(f"module is {shown(module)}, no torch.nn.Module")
    if not isinstance(why, str):
        raise argument_error(f"why is {shown(why)}, no text")
    said = "the program declines it" + (f": {why}" if why else "")
    key = id(module)
    _entries[key] = _Entry(weakref.ref(module, lambda ref: _forget(key, ref)), said)
    ask_again()
    return module


def _forget(key: int, ref: Any) -> None:
    if key in _entries and _entries[key].of is ref:
        del _entries[key]


def ask_again() -> None:
    """The program has said something of a module."""
    _calls[0] += 1


def count() -> int:
    """How often it has: what was asked before that many is to be asked again."""
    return _calls[0]


def reason(module: torch.nn.Module) -> Optional[str]:
    """Why the module is declined; None if it is not."""
    found = _entries.get(id(module))
    return found.why if found is not None and found.of() is module else None


def reason_inside(module: torch.nn.Module) -> Optional[str]:
    """Why the module cannot be captured, if one inside of it is declined."""
    for name, each in module.named_modules():
        if each is not module and reason(each) is not None:
            return f"{name} is left to PyTorch: {reason(each)}"
    return None
