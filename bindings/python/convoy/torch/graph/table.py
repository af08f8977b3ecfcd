"""The table of operators: how each is made of Convoy's operations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable, Dict

from .emitter import Emitter

Emit = Callable[[Emitter, SimpleNamespace], Any]

#: By the operator's name without "aten." in front, as "add.Tensor". An entry gets the operator's
#: arguments by the names that PyTorch's schema has for them, tensors as values; it returns a value,
#: or a tuple of them with None for results that nobody asks for.
OPERATORS: Dict[str, Emit] = {}


def operator(*names: str) -> Callable[[Emit], Emit]:
    """Enters a function under these names."""

    def enter(emit: Emit) -> Emit:
        for name in names:
            assert name not in OPERATORS, name
            OPERATORS[name] = emit
        return emit

    return enter


def name_of(target: Any) -> str:
    """Of an operator in a traced graph."""
    name = str(target)
    return name[len("aten.") :] if name.startswith("aten.") else name


def bound(target: Any, args: Any, kwargs: Any) -> SimpleNamespace:
    """A call's arguments by name, with the schema's defaults."""
    found: Dict[str, Any] = {}
    for at, argument in enumerate(target._schema.arguments):
        if at < len(args):
            found[argument.name] = args[at]
        else:
            found[argument.name] = kwargs.get(argument.name, argument.default_value)
    return SimpleNamespace(**found)
