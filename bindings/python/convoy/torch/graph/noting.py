"""Which code of the program's a network calls, and what that code has names for.

While PyTorch runs the network once, each call of a function is noted that is neither PyTorch's,
numpy's, Convoy's nor of the standard library; of those in C the ones that ask for what no value of
Python's says: the time, files, random numbers.
"""

from __future__ import annotations

import builtins
import contextvars
import datetime
import gc
import importlib
import io
import os
import random
import sys
import sysconfig
import types
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Set

import numpy
import torch

from . import kinds
from .errors import Declined
from .transcript import CARRYING_OUT
from .watch import Watch

_USER, _STANDARD, _OTHER = "user", "standard", "other"

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_OTHERS = tuple(os.path.join(each, "") for each in (_HERE, *torch.__path__, *numpy.__path__))
_LIBRARY = tuple(os.path.join(sysconfig.get_path(each), "") for each in ("stdlib", "platstdlib"))
_PACKAGES = "site-packages", "dist-packages"

#: Code with one of these in it may read names that it does not have.
_MAKES_NAMES = frozenset(
    """__dict__ asdict astuple attrgetter dir eval exec getattr_static globals locals methodcaller
    vars""".split()
)

#: Functions in C by their module: what they ask for.
_ASKING = {
    "time": "the time",
    "posix": "the system",
    "nt": "the system",
    "io": "a file",
    "_io": "a file",
    "_socket": "a socket",
}
_NOW = "now", "utcnow", "today"
_HARMLESS = frozenset("fspath getpid sleep _path_normpath".split())

#: Of the standard library the parts that say nothing of a result.
_SILENT = ("logging", "warnings.py", "contextlib.py", "linecache.py", "traceback.py")

#: Code that all that reads a variable of the process goes through.
_OF_ENVIRONMENT = {getattr(type(os.environ), each).__code__ for each in ("__getitem__", "__iter__")}


#: What runs while a module is imported for the first time, it does once, and no step depends on it.
_IMPORTING = importlib._bootstrap._find_and_load.__code__  # type: ignore[attr-defined]


def _kind_of_file(name: str) -> str:
    if name.startswith("<frozen importlib") or name.startswith(_OTHERS):
        return _OTHER
    if name.startswith("<frozen"):
        return _STANDARD
    if name.startswith(_LIBRARY) and not any(each in name for each in _PACKAGES):
        return _STANDARD
    return _USER


def _names_in(code: types.CodeType) -> Set[str]:
    """Names and texts, of which the parts of `a.b` are names, too."""
    found = {*code.co_names, code.co_name}
    left = list(code.co_consts)
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.update(part for part in each.split(".") if part.isidentifier())
        elif isinstance(each, (tuple, frozenset)):
            left.extend(each)
    return found


class Noting:
    """`with noting:` around the network's own pass. `operators`: code that runs in each step."""

    def __init__(self, watch: Watch, operators: Iterable[types.CodeType] = ()) -> None:
        self._watch, self._operators = watch, frozenset([*operators, _IMPORTING, CARRYING_OUT])
        self._files: Dict[str, str] = {}
        self._codes: Dict[Any, Any] = {}  # noted, by code and its globals: number of a closure
        self._made: Set[types.CodeType] = set()  # code of functions that the call itself makes
        self._done: Set[Any] = set()
        self._alive: List[Any] = []  # as long as their ids are compared
        self._why: Optional[str] = None
        self._outside: Any = None  # the frame of an operator

    # -------------------------------------------------------------------------------------- events

    def __enter__(self) -> "Noting":
        self._before = sys.getprofile()
        self._asking = {name: vars(builtins)[name] for name in ("getattr", "hasattr")}
        vars(builtins).update({name: self._asked(each) for name, each in self._asking.items()})
        sys.setprofile(self._noted)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(None)
        vars(builtins).update(self._asking)
        _put_back_profile(self._before)

    def _asked(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """In place of getattr and hasattr: what the program asks for is a name, too."""

        def asked(*arguments: Any) -> Any:
            name = arguments[1] if len(arguments) > 1 else None
            if type(name) is str and self._kind(sys._getframe(1)) == _USER:
                self._watch.add_names([name], False)
            return original(*arguments)

        return asked

    def _noted(self, frame: Any, event: str, what: Any) -> None:
        if self._outside is not None:
            if event == "return" and frame is self._outside:
                self._outside = None
        elif event == "call":
            if frame.f_code in self._operators:
                self._outside = frame
            elif self._kind(frame) == _USER and self._why is None:
                self._guarded(self._call, frame)
            elif frame.f_code in _OF_ENVIRONMENT and self._caller(frame) is not None:
                self._guarded(self._environment)
        elif event == "c_call":
            self._call_of_c(frame, what)

    def _environment(self) -> None:
        variables = os.environ._data  # type: ignore[attr-defined]
        self._watch.add_root(variables, kinds.DICT, "os.environ", lambda: variables)

    def _kind(self, frame: Any) -> str:
        return self._kind_of(frame.f_code)

    def _kind_of(self, code: types.CodeType) -> str:
        name = code.co_filename
        kind = self._files.get(name)
        if kind is None:
            kind = self._files[name] = _kind_of_file(name)
        return kind

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> None:
        """What raises here ends the pass before it goes on."""
        try:
            function(*arguments)
        except Exception as error:
            self._decline(str(error) if isinstance(error, Declined) else repr(error))

    def _decline(self, why: str) -> None:
        self._why = self._why or why
        raise Declined(why)

    def _call(self, frame: Any) -> None:
        code = frame.f_code
        if not code.co_flags & 1:  # a module's or a class's body
            return
        if str(frame.f_globals.get("__name__")).startswith("namedtuple_"):  # what makes one
            return
        values = frame.f_locals
        key = code, *(id(values.get(name)) for name in code.co_freevars)
        if key not in self._codes:
            self._codes[key] = None
            self._new_code(frame, key)
        count = code.co_argcount + code.co_kwonlyargcount
        for name in code.co_varnames[:count]:
            value = values.get(name)
            if value is not None and (code, id(value)) not in self._done:
                self._done.add((code, id(value)))
                self._alive.append(value)
                self._argument(value, name, code)

    def _argument(self, value: Any, name: str, code: types.CodeType) -> None:
        """Objects whose attributes are read, the method's own above all."""
        if isinstance(value, str):
            self._watch.add_names([value], False)  # it may be an attribute's
        elif isinstance(value, type):
            self._watch.add_class(value)
        elif isinstance(value, torch.nn.Module) or self._is_object(value):
            self._watch.add(value, f"{name} of {_title(code)}")

    def _is_object(self, value: Any) -> bool:
        kind = type(value)
        return kinds.is_users(kind) and not isinstance(value, (torch.Tensor, tuple, *kinds.SCALARS))

    def _new_code(self, frame: Any, key: Any) -> None:
        code = frame.f_code
        self._add_names(code, frame.f_globals)
        self._made.update(each for each in code.co_consts if isinstance(each, types.CodeType))
        names = [each for each in code.co_freevars if each != "__class__"]  # that is super()'s
        if names:
            values = {each: frame.f_locals.get(each) for each in names}
            made = code in self._made
            at = None if made else self._watch.add_closure(values, _title(code))
            self._codes[key] = at, values

    def _add_names(self, code: types.CodeType, space: Dict[str, Any]) -> None:
        self._watch.add_names(_names_in(code), not _MAKES_NAMES.isdisjoint(code.co_names))
        where = str(space.get("__name__", "a module"))
        self._watch.add_names_of(space, code.co_names, where)

    # ------------------------------------------------------------------------------ functions in C

    def _call_of_c(self, frame: Any, function: Any) -> None:
        owner = getattr(function, "__self__", None)
        if isinstance(owner, types.ModuleType) or owner is None:
            asked = _ASKING.get(function.__module__ or "")
            if asked is not None and function.__name__ not in _HARMLESS:
                self._refuse(frame, asked, function)
        elif isinstance(owner, type):
            if issubclass(owner, datetime.date) and function.__name__ in _NOW:
                self._refuse(frame, "the time", function)
        elif type(owner) in _OWNERS:
            _OWNERS[type(owner)](self, frame, owner, function)

    def _refuse(self, frame: Any, asked: str, function: Any) -> None:
        caller = self._caller(frame)
        if caller is not None:
            self._decline(f"it asks for {asked}: {function.__name__} in {_title(caller.f_code)}")

    def _caller(self, frame: Any) -> Any:
        """The program's code that has called, directly or by way of the standard library."""
        while frame is not None and self._kind(frame) == _STANDARD:
            if any(each in frame.f_code.co_filename for each in _SILENT):
                return None
            frame = frame.f_back
        return frame if frame is not None and self._kind(frame) == _USER else None

    def _read_file(self, frame: Any, owner: Any, function: Any) -> None:
        if function.__name__.startswith(("read", "get", "__next__")):
            self._refuse(frame, "a file", function)

    def _drawn(self, frame: Any, owner: Any, function: Any) -> None:
        if self._caller(frame) is not None:
            self._guarded(self._watch.add_root, owner, kinds.GENERATOR, "random", lambda: owner)

    def _variable(self, frame: Any, owner: Any, function: Any) -> None:
        if function.__name__ == "get" and self._caller(frame) is not None:
            path = f"the context's {owner.name}"
            self._guarded(self._watch.add_root, owner, kinds.VARIABLE, path, lambda: owner)

    # ------------------------------------------------------------------------------------ the end

    def settle(self) -> None:
        """After the pass. Raises Declined for what cannot be watched."""
        if self._why is not None:
            self._watch.put_back()
            raise Declined(self._why)
        if not self._codes:
            return
        self._find_functions()
        self._watch.settle()
        while self._watch.wrapped:  # a call of such a function is none where its result is kept
            self._names_of(self._watch.wrapped.pop())
            self._watch.settle()

    def _names_of(self, function: Any) -> None:
        code = getattr(function, "__code__", None)
        if code is not None and self._kind_of(code) == _USER:
            self._add_names(code, function.__globals__)
            self._watch.add_root(function, kinds.CELLS, _title(code), weakref.ref(function))

    def _find_functions(self) -> None:
        """What has defaults or closes over something, and is there after the call."""
        functions: Dict[Any, List[Any]] = {key[0]: [] for key in self._codes}
        for each in gc.get_referrers(*functions):
            if type(each) is types.FunctionType and each.__code__ in functions:
                functions[each.__code__].append(each)
        for (code, *_), found in self._codes.items():
            if found is not None:
                self._find_closure(code, *found, functions[code])
            elif code not in self._made:
                self._defaults(functions[code], code)

    def _defaults(self, functions: List[Any], code: Any) -> None:
        for each in functions:
            if each.__defaults__ or each.__kwdefaults__:
                self._watch.add_root(each, kinds.FUNCTION, _title(code), weakref.ref(each))

    def _find_closure(
        self, code: Any, at: Optional[int], values: Dict[str, Any], functions: List[Any]
    ) -> None:
        same = [each for each in functions if _closes_over(each, values)]
        if at is None:  # one of an earlier call may have been called
            for each in same:
                self._watch.add_loose(each, kinds.CELLS, _title(code))
        elif functions:
            function = (same or functions)[0]
            self._watch.adopt(at, function)
            self._defaults([function], code)


def _closes_over(function: Any, values: Dict[str, Any]) -> bool:
    there = kinds.CELLS.content(function)
    return all(there.get(name) is value for name, value in values.items())


def _title(code: Any) -> str:
    return str(getattr(code, "co_qualname", code.co_name))


def _put_back_profile(profile: Any) -> None:
    """cProfile's is an object of its own."""
    if profile is None or callable(profile):
        sys.setprofile(profile)
    else:
        profile.enable()


_OWNERS: Dict[type, Callable[..., None]] = {
    random.Random: Noting._drawn,
    random.SystemRandom: Noting._drawn,
    contextvars.ContextVar: Noting._variable,
    io.TextIOWrapper: Noting._read_file,
    io.BufferedReader: Noting._read_file,
    io.FileIO: Noting._read_file,
    io.StringIO: Noting._read_file,
    io.BytesIO: Noting._read_file,
}
