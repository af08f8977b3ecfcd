"""The file of measured routes: what was the fastest way for a problem on this machine.

Text, one line each, fields separated by tabs: where it holds, the problem, the way, what was
measured. The first line names the version; a file of another one is begun anew. Processes may
share it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Dict

_HEAD = "convoy torch routes 2"


def default_path() -> Path:
    """CONVOY_ROUTE_FILE, else torch-routes.txt in the folder of Convoy's configuration."""
    named = os.environ.get("CONVOY_ROUTE_FILE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "convoy" / "torch-routes.txt"


class RouteFile:
    """`place` is the text that says for what machine and versions a route was measured."""

    def __init__(self, path: Path, place: str) -> None:
        self._path, self._place = path, place

    def read(self) -> Dict[str, str]:
        """The ways of the problems measured here. Of two lines for a problem the first counts: that
        way a process that is running and one that begins agree."""
        try:
            head, *lines = self._path.read_text("utf-8", "replace").splitlines()
        except (OSError, ValueError):
            return {}
        ways: Dict[str, str] = {}
        for fields in (line.split("\t") for line in lines if head == _HEAD):
            if len(fields) == 4 and fields[0] == self._place:
                ways.setdefault(fields[1], fields[2])
        return ways

    def add(self, problem: str, way: str, measured: str) -> None:
        """Appends a line. A folder that cannot be written costs a measurement in the next run."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "a+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                if file.readline().rstrip("\n") != _HEAD:
                    file.truncate(0)
                    file.write(_HEAD + "\n")
                file.write("\t".join((self._place, problem, way, measured)) + "\n")
        except OSError:
            pass
