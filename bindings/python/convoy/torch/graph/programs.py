"""Texts of programs, filled in: operators differ in their numbers, and in what is an operand."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..._program import Program
from .errors import Unsupported

_SMALLEST = 2.0**-126  # normal number of float32
_LARGEST = (2 - 2**-23) * 2.0**127


@functools.lru_cache(maxsize=4096)
def program(text: str) -> Program:
    """The program of a text; a network has the same few many times."""
    return Program(text)


def literal(value: Any) -> str:
    """A number of Python's as a program has it."""
    number = float(value)
    if math.isnan(number):
        return "nan"
    if math.isinf(number) or abs(number) > _LARGEST * (1 + 2**-25):
        return "inf" if number > 0 else "(-inf)"
    if number != 0 and abs(number) < _SMALLEST:
        raise Unsupported(f"the number {number!r} is too small for float32")
    return repr(number) if number >= 0 and not math.copysign(1, number) < 0 else f"({number!r})"
