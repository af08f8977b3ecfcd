"""Something to be done once a module has been imported, without importing it for that."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable, Optional


class _Loader(importlib.abc.Loader):
    """The module's own loader, and the action after it."""

    def __init__(self, loader: Any, action: Callable[[ModuleType], Any]) -> None:
        self._loader, self._action = loader, action

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._action(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module the usual way, once, and gives it another loader."""

    def __init__(self, name: str, action: Callable[[ModuleType], Any]) -> None:
        self._name, self._action = name, action

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._action)
        return spec


def when_imported(name: str, action: Callable[[ModuleType], Any]) -> None:
    """Calls `action(module)` when module `name` is there: now, or once somebody imports it."""
    if name in sys.modules:
        action(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, action))
