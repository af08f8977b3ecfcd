"""Elementwise programs and their reductions: a text, and what the library makes of it."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._errors import argument_error, check
from ._keywords import keywords
from ._lib import PROGRAM_TEXT
from ._load import library
from ._single import Owned
from ._values import c_text, shown

# No expression has two names side by side, so this is found in the text of a reduction only.
_REDUCED = re.compile(r" over ((?:[nczhw] )+)of ")


def _text(value: Any, name: str) -> bytes:
    if value is None:
        raise argument_error(f"{name} is None, not a text")
    text = c_text(value, name)
    assert text is not None
    return text


class Program:
    """What is computed of each element: Program("v = m * v + g; w = w - rate * v").

    docs/programs_language.md is the language. A program never changes and belongs to no context:
    any thread may use it, copying it gives itself, and it is pickled as its text. Two are equal if
    their texts, in canonical form and with their names, are.
    """

    __slots__ = ("_owned", "_text", "_inputs", "_results", "__weakref__")
    _owned: Owned
    _text: str
    _inputs: Tuple[str, ...]
    _results: Tuple[str, ...]

    @keywords()
    def __init__(self, text: str) -> None:
        self._take(library.convoy_program_parse, _text(text, "text"))

    @classmethod
    @keywords()
    def named(cls, name: str) -> Program:
        """One of those that have a name: "silu", "adamw"; names() has all. The CPU engine has a
        loop of its own for each."""
        program = cls.__new__(cls)
        program._take(library.convoy_program_named, _text(name, "name"))
        return program

    @staticmethod
    def names() -> List[str]:
        """The names that named() takes."""
        return _listed(library.convoy_program_name)

    @keywords()
    def gradient(self, *inputs: str) -> Program:
        """The program of a loss's gradients for these inputs, at most 4; without any, for all.

        It reads those of the inputs that it needs and, for each result r, "d_r", the loss's
        gradient for r; its results are "d_x" for each input x, as full arrays: of an input that was
        one number, or one per channel, they are to be summed.
        """
        names = [_text(name, "input") for name in inputs]
        for name in names:
            if not name or b" " in name:
                raise argument_error(f"{shown(name.decode())} is no name of an input")
        program = type(self).__new__(type(self))
        wanted = b" ".join(names) if names else None
        program._take(library.convoy_program_gradient, self._owned.pointer, wanted)
        return program

    def _take(self, make: Callable[..., int], *arguments: Any) -> None:
        made = ctypes.c_void_p()
        check(make(*arguments, ctypes.byref(made)))
        owned = Owned(made.value, library.convoy_program_free)
        text = ctypes.create_string_buffer(PROGRAM_TEXT)
        check(library.convoy_program_text(made, text, PROGRAM_TEXT))
        for name, value in (
            ("_owned", owned),
            ("_text", text.value.decode()),
            ("_inputs", tuple(_listed(library.convoy_program_input, made))),
            ("_results", tuple(_listed(library.convoy_program_result, made))),
        ):
            object.__setattr__(self, name, value)

    @property
    def text(self) -> str:
        """The program in its canonical form, with its own names."""
        return self._text

    @property
    def inputs(self) -> Tuple[str, ...]:
        """Names of the inputs, in the order in which apply() takes them."""
        return self._inputs

    @property
    def results(self) -> Tuple[str, ...]:
        """Names of the results, in the order in which apply() returns them."""
        return self._results

    @property
    def reduced(self) -> str:
        """The axes that a reduction goes over, such as "nhw"; "" of an elementwise program."""
        found = _REDUCED.search(self._text)
        return found[1].replace(" ", "") if found else ""

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"convoy.Program({self._text!r})"

    def __eq__(self, other: Any) -> Any:
        return self._text == other._text if isinstance(other, Program) else NotImplemented

    def __hash__(self) -> int:
        return hash((Program, self._text))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a program never changes: {name!r} cannot be set")

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: Dict[int, Any]) -> Program:
        return self

    def __reduce__(self) -> Any:
        return type(self), (self._text,)


def _listed(name_of: Callable[..., Optional[bytes]], *of: Any) -> List[str]:
    """The names that a function has for 0, 1 and so on until it has none."""
    names: List[str] = []
    while True:
        name = name_of(*of, len(names))
        if name is None:
            return names
        names.append(name.decode())
