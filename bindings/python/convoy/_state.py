"""The state of a training in a file."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from ._errors import argument_error, check
from ._graph import Graph
from ._keywords import keywords
from ._lib import STATE_EXTRA, STATE_MISSING
from ._load import library
from ._single import Owned, Single
from ._tensor import Tensor, tensor_pointer
from ._values import c_text, flag, integer, shown

if TYPE_CHECKING:
    from ._context import Context

Path = Union[str, "os.PathLike[str]"]


class _Numbers:
    """Whole numbers where C finds them."""

    def __init__(self, value: Any, name: str) -> None:
        self.one = not isinstance(value, (list, tuple))
        values = self._checked(value, name)
        self.array = (ctypes.c_int64 * len(values))(*values)

    def _checked(self, value: Any, name: str) -> Tuple[int, ...]:
        given = (value,) if self.one else tuple(value)
        return tuple(integer(each, name) for each in given)

    def set(self, value: Any, name: str) -> None:
        if isinstance(value, (list, tuple)) == self.one:
            raise argument_error(f"{name} is {shown(value)}: not as it was added")
        values = self._checked(value, name)
        if len(values) != len(self.array):
            raise argument_error(f"{name} has {len(self.array)} numbers, not {len(values)}")
        self.array[:] = values

    def get(self) -> Union[int, Tuple[int, ...]]:
        return self.array[0] if self.one else tuple(self.array)


def _path(path: Any) -> bytes:
    try:
        name = os.fsencode(path)
    except TypeError:
        raise argument_error(f"path is {shown(path)}, not the name of a file") from None
    if b"\0" in name:
        raise argument_error(f"path is {shown(path)}, which has a NUL in it")
    return name


class State(Single):
    """What a training consists of, under names: tensors, graphs, of which the number of their runs
    counts, and whole numbers.

        state = convoy.State(context, {"w": w, "momentum.w": v, "step": graph, "epoch": 0})
        state.load("training.safetensors")
        ...
        state["epoch"] += 1
        state.save("training.safetensors")

    Files have the layout of safetensors: PyTorch's tools read and write them. `seed` is the name
    that the context's seed goes under. load() gives the tensors new values, all or none.
    """

    _instead = "save it"

    @keywords()
    def __init__(
        self,
        context: Context,
        members: Optional[Mapping[str, Any]] = None,
        *,
        seed: Optional[str] = None,
    ) -> None:
        made = ctypes.c_void_p()
        with context._handle as handle:
            check(library.convoy_state_new(handle, ctypes.byref(made)))
        self._context = context
        self._owned = Owned(made.value, library.convoy_state_free)
        self._members: Dict[str, Any] = {}
        for name, value in (members or {}).items():
            self[name] = value
        if seed is not None:
            self._add(library.convoy_state_seed, seed)

    def _add(self, function: Any, name: str, *more: Any) -> None:
        with self._context._handle:
            check(function(self._owned.pointer, c_text(name, "name"), *more))

    def __setitem__(self, name: str, value: Any) -> None:
        """Adds a member; numbers that are there already get other values."""
        known = self._members.get(name)
        if isinstance(known, _Numbers):
            known.set(value, name)
            return
        if isinstance(value, Tensor):
            pointer = tensor_pointer(value, self._context, name)
            self._add(library.convoy_state_tensor, name, pointer)
        elif isinstance(value, Graph):
            self._add(library.convoy_state_graph, name, value._owned.pointer)
        else:
            value = _Numbers(value, name)
            self._add(library.convoy_state_numbers, name, value.array, len(value.array))
        self._members[name] = value

    def __getitem__(self, name: str) -> Any:
        """The tensor, the graph, or the number or numbers, as they are now."""
        value = self._members[name]
        return value.get() if isinstance(value, _Numbers) else value

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    @keywords()
    def save(self, path: Path) -> None:
        """Replaces the file, as a whole or not at all; waits for the values."""
        name = _path(path)
        with self._context._handle:
            check(library.convoy_state_save(self._owned.pointer, name))

    @keywords()
    def load(self, path: Path, *, extra: bool = False, missing: bool = False) -> None:
        """Gives all members the values of the file, which has to fit. extra: the file may have
        more; missing: what it lacks keeps its values."""
        name = _path(path)
        flags = STATE_EXTRA * flag(extra, "extra") | STATE_MISSING * flag(missing, "missing")
        with self._context._handle:
            check(library.convoy_state_load(self._owned.pointer, name, flags))

    def __repr__(self) -> str:
        return f"<convoy.State: {len(self)} members>"
