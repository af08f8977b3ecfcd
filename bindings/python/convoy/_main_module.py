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
from importlib.machinery import ModuleSpec, SourceFileLoader, SourcelessFileLoader
from types import ModuleType
from typing import Any, Dict, NoReturn, Optional


def _fail(sentence: str) -> NoReturn:
    sys.exit(f"{sys.executable}: {sentence}")


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
    except ModuleNotFoundError as error:
        _fail(f"Error while finding module specification for {name!r} ({error})")
    if spec is None:
        _fail(f"No module named {name}")
    return spec if spec.submodule_search_locations is None else _find(f"{name}.__main__")


def _run_found(spec: ModuleSpec) -> None:
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None:
        _fail(f"No code object available for {spec.name}")
    _run(code, spec.origin or spec.name, loader, spec)


def run_module(name: str) -> None:
    """As `python -m` does. The current folder is first on the path: it was for Convoy already."""
    spec = _find(name)
    sys.argv[0] = spec.origin or name
    _run_found(spec)


def _put_first(folder: str, safe_too: bool = False) -> None:
    """On the path, in the place of what `python -m convoy` has put there: nothing, if safe."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder
    elif safe_too:
        sys.path.insert(0, folder)


def _run_file(file: str) -> None:
    _put_first(os.path.dirname(os.path.realpath(file)))
    if file.endswith(".pyc"):
        compiled = SourcelessFileLoader("__main__", file)
        _run(compiled.get_code("__main__"), file, compiled)
        return
    with io.open_code(file) as source:
        code = compile(source.read(), file, "exec", dont_inherit=True)
    _run(code, file, SourceFileLoader("__main__", file))


def run_script(name: str) -> None:
    """As `python SCRIPT` does: a file, or a folder or archive that has a __main__.py."""
    path = os.path.abspath(name)
    if not os.path.isdir(path) and not zipfile.is_zipfile(path):
        _run_file(path)
        return
    _put_first(path, safe_too=True)
    del sys.modules["__main__"]  # else Convoy's would be found
    _run_found(_find("__main__"))
