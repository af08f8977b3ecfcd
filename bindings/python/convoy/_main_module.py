"""A script or module as the program that runs: the module `__main__` is made as `python SCRIPT` and
`python -m MODULE` make it, and stays when the last line is over, for what runs at exit.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
import zipfile
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, SourcelessFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, Dict, List, NoReturn, Optional

_MAIN = ".__main__"
_PACKAGE = os.path.dirname(__file__) + os.sep
_IMPORTING = "<frozen "


def _fail(sentence: str, status: int = 1) -> NoReturn:
    print(f"{sys.executable}: {sentence}", file=sys.stderr)
    sys.exit(status)


def _fail_to_open(name: str, error: OSError) -> NoReturn:
    path = os.path.join(os.getcwd(), name)
    _fail(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}", 2)


def _run(code: Any, file: str, loader: Any, spec: Optional[ModuleSpec] = None) -> None:
    """`code` in a new __main__ with the names that Python gives it."""
    module = ModuleType("__main__")
    names: Dict[str, Any] = vars(module)
    names.update(__file__=file, __loader__=loader, __builtins__=builtins)
    names.update(__spec__=spec, __cached__=spec and spec.cached, __package__=spec and spec.parent)
    sys.modules["__main__"] = module
    exec(code, names)


def _find(name: str) -> ModuleSpec:
    """The module; of a package its __main__."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        hint = f". Try using {name[:-3]!r} instead of {name!r} as the module name."
        hint = hint if name.endswith(".py") else ""
        _fail(f"Error while finding module specification for {name!r} ({why}){hint}")
    if spec is None:
        package = name[: -len(_MAIN)] if name.endswith(_MAIN) else ""
        hint = f"; {package!r} is a package and cannot be directly executed" if package else ""
        _fail(f"No module named {name}{hint}")
    return spec if spec.submodule_search_locations is None else _find(name + _MAIN)


def _run_found(spec: ModuleSpec) -> None:
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None:
        _fail(f"No code object available for {spec.name}")
    _run(code, spec.origin or spec.name, loader, spec)


def run_module(name: str) -> None:
    """As `python -m` does. The current folder is first on the path: it was for Convoy already."""
    if name.startswith("."):
        _fail("Relative module names not supported")
    spec = _find(name)
    sys.argv[0] = spec.origin or name
    _run_found(spec)


def _put_first(folder: str, safe_too: bool = False) -> None:
    """On the path, in the place of what `python -m convoy` has put there: nothing, if safe."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder
    elif safe_too:
        sys.path.insert(0, folder)


def _code_of(file: str) -> CodeType:
    try:
        with io.open_code(file) as source:
            text = source.read()
    except OSError as error:
        _fail_to_open(file, error)
    return compile(text, file, "exec", dont_inherit=True)


def _run_file(file: str) -> None:
    _put_first(os.path.dirname(os.path.realpath(file)))
    if file.endswith(".pyc"):
        compiled = SourcelessFileLoader("__main__", file)
        _run(compiled.get_code("__main__"), file, compiled)
    else:
        _run(_code_of(file), file, SourceFileLoader("__main__", file))


def _is_collection(path: str) -> bool:
    """Whether a __main__.py in it is what runs. A pipe is not looked into: it shows itself once."""
    return os.path.isdir(path) or os.path.isfile(path) and zipfile.is_zipfile(path)


def run_script(name: str) -> None:
    """As `python SCRIPT` does: a file, or a folder or archive that has a __main__.py."""
    path = os.path.abspath(name)
    if not _is_collection(path):
        _run_file(path)
        return
    _put_first(path, safe_too=True)
    del sys.modules["__main__"]  # else Convoy's would be found
    _run_found(_find("__main__"))


def check_module(name: str) -> None:
    """As check_script. A module within a package is looked for later: that imports the package."""
    if name.isidentifier() and name not in sys.modules and importlib.util.find_spec(name) is None:
        _fail(f"No module named {name}")


def check_script(name: str) -> None:
    """Ends as Python does where there is no such program, before anything is begun for it."""
    try:
        os.stat(name)
    except OSError as error:
        _fail_to_open(name, error)
    if _is_collection(name) and PathFinder.find_spec("__main__", [os.path.abspath(name)]) is None:
        _fail(f"can't find '__main__' module in {os.path.join(os.getcwd(), name)!r}")


def _is_in(call: TracebackType, *places: str) -> bool:
    return call.tb_frame.f_code.co_filename.startswith(places)


def _calls(trace: Optional[TracebackType]) -> List[TracebackType]:
    """From the program's outermost call inwards."""
    calls = []
    while trace is not None:
        calls.append(trace)
        trace = trace.tb_next
    while calls and _is_in(calls[0], _PACKAGE, _IMPORTING):
        del calls[0]
    return calls


def _before_convoy(calls: List[TracebackType]) -> List[TracebackType]:
    """Without what the program called of Convoy, which in turn may have called others, as a named
    tuple's "<string>"."""
    for depth, call in enumerate(calls):
        if _is_in(call, _PACKAGE):
            del calls[depth:]
            break
    while calls and _is_in(calls[-1], _IMPORTING):
        del calls[-1]
    return calls


def show_exception(error: BaseException) -> None:
    """As Python shows what a program did not catch: from the program's first line on. Where it was
    interrupted is a line of the program too, not one of Convoy's."""
    calls = _calls(error.__traceback__)
    if isinstance(error, KeyboardInterrupt):
        calls = _before_convoy(calls)
    trace: Optional[TracebackType] = None
    for call in reversed(calls):
        trace = TracebackType(trace, call.tb_frame, call.tb_lasti, call.tb_lineno)
    sys.excepthook(type(error), error.with_traceback(trace), trace)
