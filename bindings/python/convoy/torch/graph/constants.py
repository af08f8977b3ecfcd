"""What does not depend on a network's inputs is computed once, on the host."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Iterator, NamedTuple

import torch

from .table import name_of
from .values import Array, Value, constant, host_tensor, meta_of

_MOST = 1 << 24  # elements that the host is given to compute a constant from


def _like(args: Any) -> Any:
    """Extents and type of the first argument."""
    return args[0].shape, args[0].dtype


def _new(args: Any) -> Any:
    return args[1], args[0].dtype


def _plain(args: Any) -> Any:
    return args[0], torch.get_default_dtype()


def _full(args: Any) -> Any:
    return args[0], torch.tensor(args[1]).dtype


class _Fill(NamedTuple):
    layout: Callable[[Any], Any]
    number: Callable[[Any], Any]


def _is(number: int) -> Callable[[Any], int]:
    return lambda args: number


def _argument(at: int) -> Callable[[Any], Any]:
    return lambda args: args[at]


#: Operators that give all elements one number: extents and type, unless it is named, and which.
_FILLS: Dict[str, _Fill] = {
    "zeros.default": _Fill(_plain, _is(0)),
    "zeros_like.default": _Fill(_like, _is(0)),
    "new_zeros.default": _Fill(_new, _is(0)),
    "ones.default": _Fill(_plain, _is(1)),
    "ones_like.default": _Fill(_like, _is(1)),
    "new_ones.default": _Fill(_new, _is(1)),
    "full.default": _Fill(_full, _argument(1)),
    "full_like.default": _Fill(_like, _argument(1)),
    "new_full.default": _Fill(_new, _argument(2)),
    "fill.Scalar": _Fill(_like, _argument(1)),
    "zero.default": _Fill(_like, _is(0)),
}

#: Operators that leave memory as it is.
_EMPTY: Dict[str, Callable[[Any], Any]] = {
    "empty.memory_format": _plain,
    "empty_like.default": _like,
    "new_empty.default": _new,
    "new_empty_strided.default": _new,
}


def _filled(name: str, args: Any, kwargs: Any) -> Value:
    shape, dtype = _FILLS[name].layout(args)
    number = _FILLS[name].number(args)
    one = torch.full((), number, dtype=kwargs.get("dtype") or dtype)
    return constant(one.expand(tuple(shape)))


def _unwritten(name: str, args: Any, kwargs: Any) -> Value:
    shape, dtype = _EMPTY[name](args)
    meta = meta_of(shape, kwargs.get("dtype") or dtype)
    return Value(Array(math.prod(meta.shape)), meta)


# -------------------------------------------------------------------------------------- folding


def values_in(*arguments: Any) -> Iterator[Value]:
    """All values among arguments, in lists too."""
    for argument in arguments:
        if isinstance(argument, Value):
            yield argument
        elif isinstance(argument, (tuple, list)):
            yield from values_in(*argument)
        elif isinstance(argument, dict):
            yield from values_in(*argument.values())


def swapped(arguments: Any, swap: Callable[[Value], Any]) -> Any:
    """The arguments with something else for each value."""
    if isinstance(arguments, Value):
        return swap(arguments)
    if isinstance(arguments, (tuple, list)):
        return type(arguments)(swapped(each, swap) for each in arguments)
    if isinstance(arguments, dict):
        return {name: swapped(each, swap) for name, each in arguments.items()}
    return arguments


def _on_host(value: Value) -> torch.Tensor:
    assert value.array.constant is not None
    return host_tensor(value, value.array.constant)


def elements_of(value: Value) -> torch.Tensor:
    """A constant's."""
    return _on_host(value)


def _in_order(value: Value) -> torch.Tensor:
    """With all elements in memory, also those that are kept once since they are repeated."""
    return _on_host(value).contiguous()


#: Operators that go by an operand's memory, not by its extents and strides.
_OF_MEMORY = frozenset(["as_strided.default", "as_strided_scatter.default"])


def _as_value(made: Any) -> Any:
    if isinstance(made, torch.Tensor):
        return constant(made)
    return tuple(map(_as_value, made)) if isinstance(made, (tuple, list)) else made


_RANDOM = frozenset("bernoulli normal rand randn randint randperm uniform dropout".split())


def _is_pure(target: Any) -> bool:
    """Whether it gives the same each time, and writes nothing."""
    name = str(target._schema.name).rpartition("::")[2]
    return not name.endswith("_") and not any(each in name for each in _RANDOM)


def fold(target: Any, args: Any, kwargs: Any) -> Any:
    """The constant that an operator gives, or None where it gives none."""
    name = name_of(target)
    if name in _FILLS:
        return _filled(name, args, kwargs)
    if name in _EMPTY:
        return _unwritten(name, args, kwargs)
    operands = list(values_in(args, kwargs))
    if not _is_pure(target) or sum(each.size for each in operands) > _MOST:
        return None
    if any(each.array.constant is None for each in operands):
        return None
    read = _in_order if name in _OF_MEMORY else _on_host
    with torch.no_grad():
        return _as_value(target(*swapped(args, read), **swapped(kwargs, read)))
