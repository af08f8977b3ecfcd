"""The measured routes that hold in this process: those of the file for its place, and new ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple

from .. import _log
from .._errors import FileError
from .._lib import LogLevel
from .._routefile import Route, Routes, change, default_path, read

Problem = Tuple[str, str]  # text and layout


class Kept:
    """`place` is the text that says for what machine and versions a route was measured. A file that
    cannot be used costs measurements in the next run, and is reported once."""

    def __init__(self, place: str) -> None:
        self._place, self._told = place, False
        self._ways: Dict[Problem, str] = {}
        self._path: Optional[Path] = self._guarded(default_path)
        routes = self._guarded(read, self._path) if self._path else None
        for route in routes or []:
            if route.place == place:  # and of two lines for a problem the first counts
                self._ways.setdefault((route.problem, route.layout), route.way)

    def _guarded(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """None where the file, or its place, is of no use."""
        try:
            return action(*arguments)
        except FileError as error:
            if not self._told:
                _log.log(LogLevel.WARNING, f"{error}: measured routes are not kept")
            self._told = True
            return None

    def __len__(self) -> int:
        return len(self._ways)

    def way(self, problem: Problem) -> Optional[str]:
        """The name of the fastest."""
        return self._ways.get(problem)

    def add(self, problem: Problem, way: str, times: str) -> None:
        """Another process that was quicker is not contradicted: the next runs take its route."""
        self._ways[problem] = way
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        route = Route(self._place, *problem, way, times, when)

        def edit(routes: Routes) -> Routes:
            there = any(each[:3] == route[:3] for each in routes)
            return routes if there else [*routes, route]

        if self._path:
            self._guarded(change, self._path, edit)
