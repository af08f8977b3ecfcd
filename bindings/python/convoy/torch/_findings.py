"""Captured networks whose code was found to do something else than what was captured."""

from __future__ import annotations

from typing import List, NamedTuple

from .. import _log
from .._errors import WrongResultError
from .._lib import LogLevel, Status

_MOST = 8  # that the report has


class Finding(NamedTuple):
    name: str
    calls: int  # since the last that agreed, whose results may be those of then
    what: str

    def __str__(self) -> str:
        since = f"{self.calls} calls lie since the last one that agreed"
        return f"{self.name} is not what was captured: {self.what}; {since}"


class Findings:
    """Of one session. `strict`: each is an error."""

    def __init__(self, strict: bool) -> None:
        self._strict, self._count = strict, 0
        self._found: List[Finding] = []

    def note(self, finding: Finding) -> None:
        """Raises WrongResultError where that was asked for."""
        self._count += 1
        self._found = [*self._found, finding][:_MOST]
        if self._strict:
            raise WrongResultError(Status.ERR_WRONG, str(finding))
        _log.log(LogLevel.WARNING, f"{finding}; PyTorch computes it from now on")

    def lines(self) -> List[str]:
        """For the report."""
        if not self._count:
            return []
        first = f"  {self._count} times a captured network was found to compute something else:"
        return [first, *(f"    {each}" for each in self._found)]
