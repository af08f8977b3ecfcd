"""How a value of Python's is looked at, to see later whether it is what it was.

Plain values are compared. What is always the same by being the same object, such as a class, is
compared by that. Of all others a view says what is in them, as a dictionary or a sequence of values
that are looked at in turn.
"""

from __future__ import annotations

import collections
import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import logging
import operator
import pathlib
import pickle
import random
import re
import sys
import threading
import types
import uuid
import weakref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy
import torch

from .errors import Declined

#: Compared by value: they cannot change themselves.
SCALARS = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    enum.Enum,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.finfo,
    torch.iinfo,
    numpy.generic,
    numpy.dtype,
    range,
    slice,
    type(...),
    type(NotImplemented),
    re.Pattern,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    decimal.Decimal,
    fractions.Fraction,
    pathlib.PurePath,
    uuid.UUID,
)

#: Compared by being the same object; to keep one keeps nothing else alive.
_SAME = (
    type,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.CodeType,
    types.ModuleType,
    property,
    staticmethod,
    classmethod,
    type(threading.Lock()),
    type(threading.RLock()),
    type(vars(collections.namedtuple("_Pair", "a"))["a"]),
)

_GENERATORS = (
    random.Random,
    numpy.random.Generator,
    numpy.random.RandomState,
    numpy.random.BitGenerator,
    torch.Generator,
)

_MOST_BYTES = 1 << 16
_OUTSIDE = frozenset("torch numpy convoy builtins typing functools".split())
_STANDARD = getattr(sys, "stdlib_module_names", frozenset(["abc", "collections", "enum", "typing"]))


def is_users(kind: type) -> bool:
    """Whether a class is neither PyTorch's, numpy's, Convoy's, nor of the standard library."""
    return is_users_name(str(kind.__module__))


def is_users_name(module: str) -> bool:
    """The same of a module of Python's."""
    package = module.partition(".")[0]
    return package not in _OUTSIDE and (package not in _STANDARD or package == "__main__")


def is_plain(value: Any, depth: int = 8) -> bool:
    """Whether a copy of it can be kept, and compared by value."""
    if isinstance(value, SCALARS) or is_always_same(value):
        return True
    if type(value) in (list, tuple, set, frozenset) and depth:
        return all(is_plain(each, depth - 1) for each in value)
    if type(value) is dict and depth:
        return all(is_plain(each, depth - 1) for pair in value.items() for each in pair)
    return False


def is_always_same(value: Any) -> bool:
    """Whether nothing but which object it is counts, and to keep it keeps nothing else alive."""
    kind = type(value)
    if isinstance(value, types.FunctionType):
        return value.__closure__ is None
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, (type(None), types.ModuleType, type))
    if kind is object or isinstance(value, _SAME):
        return True
    return kind.__module__ in ("typing", "types", "torch._ops", "torch._C")


def is_closure(value: Any) -> bool:
    """Whether it is a function that keeps other objects alive."""
    return isinstance(value, types.FunctionType) and value.__closure__ is not None


def parts_of(value: Any) -> Iterator[Any]:
    """All that is in a plain value."""
    if type(value) is dict:
        value = [*value.keys(), *value.values()]
    if type(value) in (list, tuple, set, frozenset):
        for each in value:
            yield from parts_of(each)
    else:
        yield value


def copied(value: Any) -> Any:
    """Of a plain value, with containers of its own."""
    if type(value) is dict:
        return {key: copied(each) for key, each in value.items()}
    if type(value) in (list, set):
        return type(value)(map(copied, value))
    if type(value) is tuple:
        made = tuple(map(copied, value))
        return value if all(map(operator.is_, made, value)) else made
    return value


#: Equal ones may differ: in the sign of zero, in digits, in being no number.
_ROUNDED = (float, complex, numpy.inexact, decimal.Decimal)


def _tagged(value: Any) -> Any:
    return type(value), repr(value) if isinstance(value, _ROUNDED) else value


def is_same(a: Any, b: Any) -> bool:
    """Whether plain values are alike to the last bit: not 1 and 1.0, nor 0.0 and -0.0."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in (list, tuple):
        return len(a) == len(b) and are_same(a, b)
    if kind is dict:
        return len(a) == len(b) and are_same(a, b) and are_same(a.values(), b.values())
    if kind in (set, frozenset):
        return bool(set(map(_tagged, a)) == set(map(_tagged, b)))
    return repr(a) == repr(b) if isinstance(a, _ROUNDED) else bool(a == b)


def are_same(a: Any, b: Any) -> bool:
    """The same of two sequences of them."""
    return all(map(operator.is_, a, b)) or all(map(is_same, a, b))


def has_numbers(value: Any) -> bool:
    """Whether there is one in a plain value."""
    numbers = (int, float, complex, numpy.generic, decimal.Decimal)
    return any(isinstance(each, numbers) for each in parts_of(value))


def size_of(value: Any) -> int:
    """How many values there are in a plain one."""
    if type(value) is dict:
        return 1 + sum(map(size_of, value.values()))
    if type(value) in (list, tuple, set, frozenset):
        return 1 + sum(map(size_of, value))
    return 1


# ---------------------------------------------------------------------------------------- views


class View(NamedTuple):
    """content(value) is what is in it. named: of names, of which those matter that code names.
    put_back(value, content) makes it what it was."""

    content: Callable[[Any], Any]
    named: bool = False
    put_back: Optional[Callable[[Any, Any], None]] = None


def _fill_dict(value: Dict[Any, Any], before: Any) -> None:
    value.clear()
    value.update(before)


def _fill_list(value: List[Any], before: Any) -> None:
    value[:] = before


def _fill_deque(value: Any, before: Any) -> None:
    value.clear()
    value.extend(before)


def _fill_vars(value: Any, before: Any) -> None:
    vars(value).update(before)


def _slots(value: Any) -> Dict[str, Any]:
    found = dict(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            name = _mangled(kind, name)
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _mangled(kind: type, name: str) -> str:
    private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if private else name


def _bytes_of(array: Any) -> Any:
    return array.dtype.str, array.shape, array.tobytes()


def _fill_array(value: Any, before: Any) -> None:
    value[...] = numpy.frombuffer(before[2], value.dtype).reshape(value.shape)


def _small_tensor(tensor: torch.Tensor) -> Any:
    flat = tensor.detach().contiguous().reshape(-1)
    values = flat.tolist() if flat.numel() <= 16 else flat.numpy().tobytes()
    return tuple(tensor.shape), tensor.dtype, tensor.device, values


def _large_tensor(tensor: torch.Tensor) -> Any:
    version = 0 if tensor.is_inference() else tensor._version
    return tuple(tensor.shape), tensor.dtype, tensor.data_ptr(), version


def _draws(value: Any) -> Any:
    """The state of something that gives random numbers."""
    if isinstance(value, random.Random):
        return (pickle.dumps(value.getstate()),)
    if isinstance(value, torch.Generator):
        return (value.get_state().numpy().tobytes(),)
    if isinstance(value, numpy.random.RandomState):
        return (pickle.dumps(value.get_state(legacy=False)),)
    bits = getattr(value, "bit_generator", value)
    return (pickle.dumps(bits.state),)


def _draw_again(value: Any, before: Any) -> None:
    (state,) = before
    if isinstance(value, random.Random):
        value.setstate(pickle.loads(state))
    elif isinstance(value, torch.Generator):
        value.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif isinstance(value, numpy.random.RandomState):
        value.set_state(pickle.loads(state))
    else:
        getattr(value, "bit_generator", value).state = pickle.loads(state)


def _cells(function: Any) -> Dict[str, Any]:
    names = function.__code__.co_freevars
    return {name: _contents(cell) for name, cell in zip(names, function.__closure__ or ())}


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _fill_cells(function: Any, before: Any) -> None:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name in before:
            cell.cell_contents = before[name]


def _fill_object(value: Any, before: Dict[str, Any]) -> None:
    for name, each in before.items():
        object.__setattr__(value, name, each)


def _fill_class(value: type, before: Dict[str, Any]) -> None:
    for name, each in before.items():
        setattr(value, name, each)


class _Grown(int):
    """A count, which is equal to an earlier one unless it has begun anew."""

    __hash__ = int.__hash__

    def __eq__(self, earlier: object) -> bool:
        return isinstance(earlier, int) and int(self) >= int(earlier)


_UNSET = "<unset>"

OBJECT = View(vars, True, _fill_vars)
VARS = View(vars, put_back=_fill_vars)
SLOTS = View(_slots, True, _fill_object)
CLASS = View(vars, True, _fill_class)
NAMESPACE = View(lambda names: names, True, dict.update)
CELLS = View(_cells, put_back=_fill_cells)
FUNCTION = View(lambda f: (f.__code__, f.__defaults__, f.__kwdefaults__))
DICT = View(lambda value: value, put_back=_fill_dict)
KINDRED_DICT = View(dict.copy, put_back=_fill_dict)
LIST = View(lambda value: value, put_back=_fill_list)
TUPLE = View(tuple)
DEQUE = View(list, put_back=_fill_deque)
BYTES = View(lambda value: (bytes(value),))
ARRAY = View(_bytes_of, put_back=_fill_array)
SMALL_TENSOR, LARGE_TENSOR = View(_small_tensor), View(_large_tensor)
GENERATOR = View(_draws, put_back=_draw_again)
CACHE = View(lambda f: (_Grown(f.cache_info().hits), *f.cache_info()[1::2], f.__wrapped__))
VARIABLE = View(lambda variable: (variable.get(_UNSET),))

#: The first that a value is an instance of.
_VIEWS: List[Tuple[Any, View]] = [
    (_GENERATORS, GENERATOR),
    (functools.partial, View(lambda f: (f.func, f.args, f.keywords))),
    (functools.partialmethod, OBJECT),
    (types.MethodType, View(lambda method: (method.__func__, method.__self__))),
    (types.BuiltinFunctionType, View(lambda f: (f.__name__, f.__self__))),
    (type(functools.lru_cache()(lambda: None)), CACHE),
    (weakref.ref, View(lambda ref: (ref(),))),
    (contextvars.ContextVar, VARIABLE),
    (logging.Logger, View(lambda logger: (logger.name, logger.level, logger.disabled))),
    (types.MappingProxyType, DICT),
    (collections.deque, DEQUE),
    ((bytearray,), BYTES),
]


def _of_array(value: Any, path: str) -> View:
    if value.dtype.hasobject or value.nbytes > _MOST_BYTES:
        raise Declined(f"it reads {path}, {_size_of_array(value)}, which is not watched")
    return ARRAY


def _size_of_array(value: Any) -> str:
    return "an array of objects" if value.dtype.hasobject else f"an array of {value.nbytes} bytes"


def _of_tensor(value: torch.Tensor) -> View:
    is_small = value.is_cpu and value.numel() <= _MOST_BYTES // 8
    plain = value.layout is torch.strided and value.dtype is not torch.bfloat16
    return SMALL_TENSOR if is_small and plain and not value.is_quantized else LARGE_TENSOR


_CONTAINERS: List[Tuple[type, View, View]] = [
    (dict, DICT, KINDRED_DICT),
    (list, LIST, View(list.copy, put_back=_fill_list)),
    (tuple, TUPLE, TUPLE),
]


def _of_container(value: Any) -> Optional[View]:
    for kind, view, kindred in _CONTAINERS:
        if isinstance(value, kind):
            return view if type(value) is kind else kindred
    return None


def views_of(value: Any, path: str) -> List[View]:
    """How it is looked at. Raises Declined for what cannot be looked at without changing it."""
    if isinstance(value, numpy.ndarray):
        return [_of_array(value, path)]
    if isinstance(value, torch.Tensor):
        return [_of_tensor(value)]
    for kind, view in _VIEWS:
        if isinstance(value, kind):
            return [view]
    container = _of_container(value)
    if container is not None:
        return [container, of_object(value)] if getattr(value, "__dict__", None) else [container]
    if hasattr(type(value), "__next__") or not _has_names(value):
        raise Declined(f"it reads {path}, a {type(value).__name__}, which is not watched")
    return [of_object(value)]


def of_object(value: Any) -> View:
    """Of one whose attributes have names."""
    if not hasattr(value, "__dict__") or _has_slots(type(value)):
        return SLOTS
    return OBJECT if is_users(type(value)) else VARS


def _has_slots(kind: type) -> bool:
    return any(each.__dict__.get("__slots__") for each in kind.__mro__)


def _has_names(value: Any) -> bool:
    """Whether all that is in it has names: an object of a class that is written in Python."""
    if type(value).__module__ in ("_io", "io", "_asyncio", "_ctypes"):
        return False
    kinds = type(value).__mro__
    return hasattr(value, "__dict__") or any("__slots__" in vars(each) for each in kinds)
