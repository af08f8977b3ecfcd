"""Python's values on their way into the C library, whose types are narrower.

ctypes cuts an integer that is too long and ends a text at its first NUL, both without a word: what
goes through here arrives as it was, or is refused with what it was.
"""

from __future__ import annotations

import enum
import math
import operator
import os
from typing import Any, Dict, Optional, Tuple, Type, TypeVar

import numpy as np

from ._errors import argument_error

Member = TypeVar("Member", bound=enum.IntEnum)

_LARGEST_FLOAT = (2 - 2**-23) * 2.0**127
_MOST_SHOWN = 160


def shown(value: Any) -> str:
    """A value within a sentence, whatever it is and however long."""
    if isinstance(value, int) and value.bit_length() > _MOST_SHOWN:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."


def _index(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise argument_error(f"{name} is {shown(value)}, not an integer") from None


def integer(value: Any, name: str, bits: int = 64) -> int:
    """An int that fits that many bits, signed."""
    number = _index(value, name)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise argument_error(f"{name} is {shown(number)}, which does not fit {bits} bits")
    return number


def unsigned(value: Any, name: str, bits: int = 64) -> int:
    """An int from 0 on that fits that many bits."""
    number = _index(value, name)
    if number < 0:
        raise argument_error(f"{name} is {shown(number)}, which is negative")
    if number >= 2**bits:
        raise argument_error(f"{name} is {shown(number)}, which does not fit {bits} bits")
    return number


def address(value: Any, name: str) -> int:
    """What a pointer can hold in a program's own memory."""
    number = integer(value, name)
    if number < 0:
        raise argument_error(f"{name} is {number}, not an address")
    return number


def real(value: Any, name: str) -> float:
    """A number as float64. What of it is legal is the library's to say."""
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise argument_error(f"{name} is {shown(value)}, not a number")
    try:
        return float(value)
    except (ArithmeticError, TypeError, ValueError, RuntimeError):  # 10**999, an array of several
        raise argument_error(f"{name} is {shown(value)}, not one number of float64") from None


def finite(value: Any, name: str) -> float:
    """A number that is finite as float32 too."""
    number = value if type(value) is float else real(value, name)
    if not math.fabs(number) <= _LARGEST_FLOAT:
        raise argument_error(f"{name} is {number}, not a finite float32")
    return number


def flag(value: Any, name: str) -> bool:
    """True or False, 1 or 0. Anything else, such as the word "no", Python would take for true."""
    if not isinstance(value, (bool, int, np.bool_)) or value not in (0, 1):
        raise argument_error(f"{name} is {shown(value)}, not True or False")
    return bool(value)


def switch_variable(name: str) -> bool:
    """Whether a variable of the environment is on, as those of convoy.h are; unset it is off."""
    value = os.environ.get(name) or "0"
    if value not in ("0", "1", "off", "on"):
        raise argument_error(f"{name} is {shown(value)}; it may be 0, 1, off or on")
    return value in ("1", "on")


def c_text(value: Any, name: str) -> Optional[bytes]:
    """A text as C reads it, up to the first NUL; None stays None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise argument_error(f"{name} is {shown(value)}, not a text")
    if "\0" in value:
        raise argument_error(f"{name} is {shown(value)}, which has a NUL in it")
    try:
        return value.encode()
    except UnicodeEncodeError:  # half a pair of surrogates, as in names of files that are no UTF-8
        raise argument_error(f"{name} is {shown(value)}, not Unicode") from None


def one_of(value: Any, table: Dict[Any, Any], name: str) -> int:
    """What the table has for the value."""
    try:
        return int(table[value])
    except (KeyError, TypeError):  # TypeError: nothing that a table could have
        known = ", ".join(repr(key) for key in table)
        raise argument_error(f"{name} is {shown(value)}, not one of {known}") from None


def member(value: Any, choices: Type[Member], name: str) -> Member:
    """One of an enum, by its name in any case or by its number."""
    known: Dict[Any, Member] = {each.name.lower(): each for each in choices}
    try:
        return known[value.lower()] if isinstance(value, str) else choices(integer(value, name))
    except (KeyError, ValueError):
        given = f"{name} is {shown(value)}"
        raise argument_error(f"{given}, not one of {', '.join(known)}") from None


def are_integers(value: Any) -> bool:
    """Whether it is a tuple of Python's own integers: what most calls bring, told quickly."""
    return type(value) is tuple and {*map(type, value)} == {int}


def shape_of(value: Any, name: str) -> Tuple[int, ...]:
    """The extents of a shape."""
    if are_integers(value) and -(2**63) <= min(value) and max(value) < 2**63:
        return tuple(value)
    try:
        extents = tuple(value)
    except TypeError:
        raise argument_error(f"{name} is {shown(value)}, not a sequence of extents") from None
    return tuple(integer(extent, name) for extent in extents)
