"""Whether a module's code still does what it did when it was captured.

What code written in C keeps to itself, and other things that forward may read, no comparison of
values shows (watch.py). So each operator of the pass that is captured is written down: its name,
its plain arguments, and which tensors it is given. Later the module's code is run once more beside
a step, and each operator is compared with the one in its place. None is carried out whose result
depends on what the network is given: the code gets tensors of the same kind with nothing in them.
So that takes Python's time alone, and nothing is written, drawn or summed up twice.
"""

from __future__ import annotations

import zlib
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple
from weakref import ref

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from .._copies import storage_of
from .away import as_they_are
from .joint import DRAWING
from .table import name_of

_MOST_BYTES = 1 << 24  # of a constant, whose values are compared
_MOST_SHOWN = 160

_INPLACE_VIEW: Any = getattr(torch, "Tag", None) and torch.Tag.inplace_view  # type: ignore[attr-defined]


#: Calls of a captured network that are compared: the 8th, 16th, and so on, then each 256th. A
#: comparison takes about as long as one to three of the shortest steps, so that this is at most a
#: hundredth of the time, and by number and not by clock it happens at the same steps in each run.
FIRST, EVERY = 8, 256


def is_due(call: int) -> bool:
    """Whether the call of that number, from 1 on, is compared."""
    if call >= EVERY:
        return call % EVERY == 0
    return call >= FIRST and call & (call - 1) == 0


class _Made(NamedTuple):
    """A new tensor, and how to make another like it."""

    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def empty(self) -> torch.Tensor:
        how: Any = {"dtype": self.dtype, "device": self.device}
        return torch.empty_strided(self.shape, self.strides, **how)


class _Again(NamedTuple):
    """A tensor that the operator was given."""

    name: str


class _Line(NamedTuple):
    text: str
    results: Any  # of what an operator returns, with _Made and _Again for tensors


class _Known(NamedTuple):
    of: Any  # a weak reference to a tensor or its memory
    name: str
    is_constant: bool  # nothing of what the network is given went into it


class Differs(Exception):
    """Ends a pass whose code does something else."""


def like(tensor: torch.Tensor) -> torch.Tensor:
    """One of the same kind with nothing in it."""
    how: Any = {"dtype": tensor.dtype, "device": tensor.device}
    made = torch.empty_strided(tensor.shape, tensor.stride(), **how)
    return made.requires_grad_(tensor.requires_grad)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _text_of_values(tensor: torch.Tensor) -> str:
    """All of them, however many."""
    kind = f"{tuple(tensor.shape)} {str(tensor.dtype).rpartition('.')[2]}"
    if tensor.layout is not torch.strided or tensor.numel() * tensor.element_size() > _MOST_BYTES:
        return f"<constant {kind}>"
    flat = tensor.detach().cpu().reshape(-1)
    if flat.numel() <= 4:
        return f"<constant {flat.tolist()} {kind}>"
    flat = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
    return f"<constant {kind} {zlib.crc32(flat.contiguous().view(torch.uint8).numpy()):08x}>"


class _Names:
    """What tensors are called in one pass: by what they are, not by where they lie."""

    def __init__(self, given: Sequence[torch.Tensor], names: Sequence[str]) -> None:
        self._tensors: Dict[int, _Known] = {}
        self._memory: Dict[int, _Known] = {}
        for tensor, name in zip(given, names):
            self.add(tensor, name, False)

    def add(self, tensor: torch.Tensor, name: str, is_constant: bool) -> None:
        self._tensors[id(tensor)] = _Known(ref(tensor), name, is_constant)
        try:
            memory = StorageWeakRef(storage_of(tensor))
        except (NotImplementedError, RuntimeError):  # sparse ones have none
            return
        if memory.cdata not in self._memory:
            self._memory[memory.cdata] = _Known(memory, name, is_constant)

    def known(self, tensor: torch.Tensor) -> Optional[_Known]:
        found = self._tensors.get(id(tensor))
        return found if found is not None and found.of() is tensor else None

    def of(self, tensor: torch.Tensor) -> _Known:
        """One that no operator has made is over memory of another, as `x.data` is, or constant."""
        found = self.known(tensor)
        if found is not None:
            return found
        try:
            memory = self._memory.get(storage_of(tensor)._cdata)
        except (NotImplementedError, RuntimeError):
            memory = None
        if memory is not None:
            name = f"<over {memory.name} {tuple(tensor.shape)} {tensor.dtype}>"
            return _Known(None, name, memory.is_constant)
        name = _text_of_values(tensor)
        self.add(tensor, name, True)
        return self._tensors[id(tensor)]


def _is_view(function: Any) -> bool:
    """Whether it only makes another tensor over the same memory, or gives one other extents."""
    if _INPLACE_VIEW in getattr(function, "tags", ()):
        return True
    aliases = [each.alias_info for each in function._schema.returns]
    return bool(aliases) and all(each is not None and not each.is_write for each in aliases)


class _Pass(TorchDispatchMode):
    """One pass of the code, with these tensors given."""

    def __init__(self, given: Sequence[torch.Tensor], names: Sequence[str]) -> None:
        super().__init__()
        self._names = _Names(given, names)
        self._count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        known = [self._names.of(each) for each in _tensors((args, kwargs))]
        is_constant = all(each.is_constant for each in known) and name_of(func) not in DRAWING
        text = f"{func}({self._listed(args, kwargs)})"
        made = self._results(text, func, args, kwargs, is_constant)
        self._note(made, self._count, is_constant)
        self._count += 1
        return made

    def _results(self, text: str, func: Any, args: Any, kwargs: Any, is_constant: bool) -> Any:
        raise NotImplementedError

    def _listed(self, args: Any, kwargs: Any) -> str:
        named = [f"{name}={self._text(each)}" for name, each in sorted(kwargs.items())]
        return ", ".join([*map(self._text, args), *named])

    def _text(self, value: Any) -> str:
        """Numbers by type and by all their bits."""
        if isinstance(value, torch.Tensor):
            return self._names.of(value).name
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self._text, value))}]"
        if isinstance(value, _PLAIN):
            return repr(value)
        return type(value).__name__

    def _note(self, made: Any, number: int, is_constant: bool) -> None:
        several = isinstance(made, (list, tuple))
        for at, each in enumerate(_tensors(made)):
            known = self._names.known(each)
            if known is None:
                name = f"#{number}.{at}" if several else f"#{number}"
                self._names.add(each, name, is_constant)
            elif known.is_constant and not is_constant:
                self._names.add(each, known.name, False)

    def text_of(self, returned: Any) -> str:
        """What the module returns."""
        leaves, spec = tree_flatten(returned)
        return f"{', '.join(map(self._text, leaves))} as {spec}"


_PLAIN = (
    *(bool, int, float, complex, str, bytes, type(None)),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)


class _Writing(_Pass):
    """Carries operators out, and writes them down."""

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        self.lines: List[_Line] = []

    def _results(self, text: str, func: Any, args: Any, kwargs: Any, is_constant: bool) -> Any:
        made = func(*args, **kwargs)
        self.lines.append(_Line(text, self._described(made)))
        return made

    def _described(self, made: Any) -> Any:
        if isinstance(made, torch.Tensor):
            known = self._names.known(made)
            if known is not None:
                return _Again(known.name)
            is_dense = made.layout is torch.strided
            strides = made.stride() if is_dense else torch.empty(made.shape, device="meta").stride()
            return _Made(tuple(made.shape), tuple(strides), made.dtype, made.device)
        if type(made) in (list, tuple):
            return type(made)(self._described(each) for each in made)
        return made


class _Reading(_Pass):
    """Compares operators with what is written down, and carries only those out without which the
    code would not come further: of constants, and views."""

    def __init__(self, lines: Sequence[_Line], *how: Any) -> None:
        super().__init__(*how)
        self._lines = lines
        self.found: Optional[str] = None

    def _results(self, text: str, func: Any, args: Any, kwargs: Any, is_constant: bool) -> Any:
        line = self._lines[self._count] if self._count < len(self._lines) else None
        if self.found is not None or line is None or line.text != text:
            self.differs(text, "nothing" if line is None else line.text)
            raise Differs
        if is_constant or _is_view(func):
            return func(*args, **kwargs)
        return self._made(line.results, args, kwargs)

    def differs(self, now: str, then: str) -> None:
        """The first time counts."""
        if self.found is None:
            now, then = _shown(now, then), _shown(then, now)
            self.found = f"forward computes {now} where {then} was captured"

    def _made(self, results: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(results, _Made):
            return results.empty()
        if isinstance(results, _Again):
            there = _tensors((args, kwargs))
            return next(each for each in there if self._names.of(each).name == results.name)
        if type(results) in (list, tuple):
            return type(results)(self._made(each, args, kwargs) for each in results)
        return results

    def end(self, text: str, then: str) -> None:
        """The module has returned."""
        if self._count < len(self._lines):
            self.differs("nothing", self._lines[self._count].text)
        elif text != then:
            self.differs(f"the results {text}", then)


def _shown(text: str, other: str) -> str:
    """Of two long texts what is before the first difference matters less."""
    if len(text) <= _MOST_SHOWN:
        return text
    pairs = enumerate(zip(text, other))
    first = next((at for at, (a, b) in pairs if a != b), min(len(text), len(other)))
    begin = max(0, min(first - _MOST_SHOWN // 2, len(text) - _MOST_SHOWN))
    head, end = "..." if begin else "", begin + _MOST_SHOWN
    return head + text[begin:end] + ("..." if end < len(text) else "")


_LACK: Any = (MemoryError, getattr(torch.cuda, "OutOfMemoryError", MemoryError))


class Transcript:
    """Of the pass that is captured. `names` are those of all that is given."""

    def __init__(self, names: Sequence[str]) -> None:
        self._given_names = list(names)
        self._lines: List[_Line] = []
        self._results = ""

    def written(self, given: Sequence[torch.Tensor], run: Callable[[], Any]) -> Any:
        """What run() returns, which computes with what is given."""
        pass_ = _Writing(given, self._given_names)
        with pass_:
            returned = run()
        self._lines, self._results = pass_.lines, pass_.text_of(returned)
        return returned

    def difference(
        self, held: Sequence[torch.Tensor], run: Callable[..., Any], arguments: Any
    ) -> Optional[str]:
        """What run(*args, **kwargs), which reads what is held, does otherwise; None if nothing.
        Tensors that are away stay there."""
        there = [like(each) for each in arguments.tensors]
        args, kwargs = arguments.filled(there)
        with as_they_are():
            pass_ = _Reading(self._lines, [*held, *there], self._given_names)
            try:
                with pass_:
                    returned = run(*args, **kwargs)
                pass_.end(pass_.text_of(returned), self._results)
            except Differs:
                pass
            except _LACK as error:
                raise MemoryError from error
            except Exception as error:
                pass_.differs(f"{type(error).__name__}: {error}", "none")
        return pass_.found
