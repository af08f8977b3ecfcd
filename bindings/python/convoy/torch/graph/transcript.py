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
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple
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

_INPLACE_VIEW: Any = torch.Tag.inplace_view  # type: ignore[attr-defined]


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


class _Operator(NamedTuple):
    name: str
    draws: bool  # random numbers
    is_view: bool  # it only makes another tensor over the same memory, or gives one other extents


_operators: Dict[Any, _Operator] = {}


def _operator(function: Any) -> _Operator:
    found = _operators.get(function)
    if found is None:
        found = _Operator(str(function), name_of(function) in DRAWING, _is_view(function))
        _operators[function] = found
    return found


def _is_view(function: Any) -> bool:
    if _INPLACE_VIEW in getattr(function, "tags", ()):
        return True
    aliases = [each.alias_info for each in function._schema.returns]
    return bool(aliases) and all(each is not None and not each.is_write for each in aliases)


#: A weak reference to a tensor, its name, and whether nothing of what the network is given went
#: into it.
_Known = Tuple[Any, str, bool]


class Differs(Exception):
    """Ends a pass whose code does something else."""


def like(tensor: torch.Tensor) -> torch.Tensor:
    """One of the same kind, dense as a copy is, with nothing in it."""
    return torch.empty_like(tensor.detach()).requires_grad_(tensor.requires_grad)


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
        self._given = list(zip(given, names))
        self._tensors: Dict[int, _Known] = {id(t): (ref(t), name, False) for t, name in self._given}
        self._memory: Dict[int, Tuple[StorageWeakRef, str, bool]] = {}

    def add(self, tensor: torch.Tensor, name: str, is_constant: bool, is_view: bool) -> None:
        self._tensors[id(tensor)] = ref(tensor), name, is_constant
        if not is_view:
            self._add_memory(tensor, name, is_constant)

    def _add_memory(self, tensor: torch.Tensor, name: str, is_constant: bool) -> None:
        try:
            memory = StorageWeakRef(storage_of(tensor))
        except (NotImplementedError, RuntimeError):  # sparse ones have none
            return
        self._memory.setdefault(memory.cdata, (memory, name, is_constant))

    def known(self, tensor: torch.Tensor) -> Optional[_Known]:
        found = self._tensors.get(id(tensor))
        return found if found is not None and found[0]() is tensor else None

    def of(self, tensor: torch.Tensor) -> _Known:
        """One that no operator has made is over memory of another, as `x.data` is, or constant."""
        found = self.known(tensor)
        if found is not None:
            return found
        while self._given:
            self._add_memory(*self._given.pop(), False)
        try:
            _, name, is_constant = self._memory[storage_of(tensor)._cdata]
            name = f"<over {name} {tuple(tensor.shape)} {tensor.dtype}>"
            return None, name, is_constant
        except (KeyError, NotImplementedError, RuntimeError):
            self.add(tensor, _text_of_values(tensor), True, False)
            return self._tensors[id(tensor)]


_PLAIN = (
    *(bool, int, float, complex, str, bytes, type(None)),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)


class _Pass(TorchDispatchMode):
    """One pass of the code, with these tensors given."""

    def __init__(self, given: Sequence[torch.Tensor], names: Sequence[str]) -> None:
        super().__init__()
        self._names = _Names(given, names)
        self._count = 0
        self._is_constant = True  # all tensors that the operator is given are

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs, what = kwargs or {}, _operator(func)
        self._is_constant = not what.draws
        text = f"{what.name}({self._listed(args, kwargs)})"
        is_constant = self._is_constant
        made = self._results(text, func, args, kwargs, is_constant or what.is_view)
        self._note(made, f"#{self._count}", is_constant, what.is_view)
        self._count += 1
        return made

    def _results(self, text: str, func: Any, args: Any, kwargs: Any, is_easy: bool) -> Any:
        raise NotImplementedError

    def _listed(self, args: Any, kwargs: Any) -> str:
        texts = [self._text(each) for each in args]
        if kwargs:
            texts += [f"{name}={self._text(kwargs[name])}" for name in sorted(kwargs)]
        return ", ".join(texts)

    def _text(self, value: Any) -> str:
        """Numbers by type and by all their bits."""
        if isinstance(value, torch.Tensor):
            _, name, is_constant = self._names.of(value)
            self._is_constant = self._is_constant and is_constant
            return name
        if isinstance(value, (list, tuple)):
            return f"[{', '.join([self._text(each) for each in value])}]"
        return repr(value) if isinstance(value, _PLAIN) else type(value).__name__

    def _note(self, made: Any, name: str, is_constant: bool, is_view: bool) -> None:
        if isinstance(made, torch.Tensor):
            known = self._names.known(made)
            if known is None:
                self._names.add(made, name, is_constant, is_view)
            elif known[2] and not is_constant:
                self._names.add(made, known[1], False, is_view)
        elif isinstance(made, (list, tuple)):
            for at, each in enumerate(made):
                self._note(each, f"{name}.{at}", is_constant, is_view)

    def text_of(self, returned: Any) -> str:
        """What the module returns."""
        leaves, spec = tree_flatten(returned)
        return f"{', '.join(map(self._text, leaves))} as {spec}"


#: Code that goes through each operator of a pass.
CARRYING_OUT = _Pass.__torch_dispatch__.__code__


class _Writing(_Pass):
    """Carries operators out, and writes them down."""

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        self.lines: List[_Line] = []

    def _results(self, text: str, func: Any, args: Any, kwargs: Any, is_easy: bool) -> Any:
        made = func(*args, **kwargs)
        self.lines.append(_Line(text, self._described(made)))
        return made

    def _described(self, made: Any) -> Any:
        if isinstance(made, torch.Tensor):
            known = self._names.known(made)
            if known is not None:
                return _Again(known[1])
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

    def _results(self, text: str, func: Any, args: Any, kwargs: Any, is_easy: bool) -> Any:
        line = self._lines[self._count] if self._count < len(self._lines) else None
        if self.found is not None or line is None or line.text != text:
            self.differs(text, "nothing" if line is None else line.text)
            raise Differs
        if is_easy:
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
            return self._given((*args, *kwargs.values()), results.name)
        if type(results) in (list, tuple):
            return type(results)(self._made(each, args, kwargs) for each in results)
        return results

    def _given(self, arguments: Sequence[Any], name: str) -> Any:
        """The tensor of that name among an operator's arguments."""
        for each in arguments:
            if isinstance(each, (list, tuple)):
                each = self._given(each, name)
            if isinstance(each, torch.Tensor) and self._names.of(each)[1] == name:
                return each
        return None

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
