"""What stands for one thing outside of Python's memory, and gives it back in the end.

Python copies an object by its attributes, so that two of them would give one thing back. Neither
copy.copy, copy.deepcopy nor pickle, all of which ask __reduce_ex__, get that far.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

from ._release import release


class Single:
    """Base of what cannot be copied or pickled; `_instead` says what to do."""

    __slots__ = ()
    _instead = "it stands for one thing outside of Python"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: {self._instead}")


class Owned(Single):
    """A pointer that C gave away: `free` gets it back when nobody has this object any more."""

    __slots__ = ("pointer", "_free")

    def __init__(self, pointer: Any, free: Callable[[Any], Any]) -> None:
        self.pointer, self._free = pointer, free

    def __del__(self) -> None:
        release(partial(self._free, self.pointer))
