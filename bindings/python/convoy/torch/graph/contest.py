"""Whether a captured network's steps are faster than PyTorch's: the program's own steps show it.

Both ways compute the same, as the network's proof has shown, so they take turns. A step's time is
that from one call of the network to the next, with all that the program does in between.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Optional

from ... import _log, _waiting
from ..._lib import LogLevel
from .._kept import Problem
from .._statistics import PYTORCH
from .._trial import Outcome, Trial
from .choices import Choices

GRAPH = "graph"

_ROUNDS = 8
_WORTH = 0.97  # of PyTorch's time
_LATER, _LATEST = 60.0, 3600.0  # seconds until what was disturbed is tried again


class Contest:
    """Of one network. `settle` waits for what a step has left under way."""

    def __init__(self, choices: Choices, problem: Problem, settle: Callable[[], None]) -> None:
        self._choices, self._problem, self._settle = choices, problem, settle
        self._trial: Optional[Trial] = _trial()
        self._begun: Optional[float] = None  # when the last call began
        self._winner = GRAPH
        self._wait = 0.0
        self._at = 0.0
        self._lock = threading.Lock()
        self.is_over = False

    @property
    def is_settled(self) -> bool:
        """Whether a trial has ended, for good or for now."""
        return self._trial is None

    def way(self) -> str:
        """That of a call that begins now."""
        with self._lock:
            return self._way()

    def _way(self) -> str:
        if self._trial is None:
            if self.is_over or time.monotonic() < self._at:
                return self._winner
            self._trial, self._begun = _trial(), None
        self._settle()
        now = time.perf_counter()
        if self._begun is not None:
            self._trial.note(now - self._begun)
        self._begun = now
        if not self._trial.is_over:
            return self._trial.turn
        self._end(self._trial.outcome())
        return self._winner

    def _end(self, found: Outcome) -> None:
        self._trial, self._winner = None, found.winner
        if found.disturbance:
            self._put_off(found.disturbance)
        else:
            self.is_over = True
            self._choices.keep(self._problem, found.winner, str(found))

    def _put_off(self, disturbance: str) -> None:
        level = LogLevel.INFO if self._wait else LogLevel.WARNING
        self._wait = min(2 * self._wait, _LATEST) if self._wait else _LATER
        self._at = time.monotonic() + self._wait
        _log.log(
            level,
            f"the machine was too busy to measure {self._problem[0]} ({disturbance}): "
            f"{self._winner} for now, in {self._wait:.0f} s it is measured again"
            f"{_waiting.advice()}",
        )


def _trial() -> Trial:
    return Trial((GRAPH, PYTORCH), _ROUNDS, _WORTH)
