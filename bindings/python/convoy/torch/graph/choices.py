"""Which way a network goes: what was measured when it was captured, written down with the routes of
operations. What was disturbed serves for now, and is measured again later."""

from __future__ import annotations

import hashlib
import time
from typing import Any, Dict, Hashable, NamedTuple, Optional

import torch

from ... import _log
from ..._lib import LogLevel
from .._kept import Kept, Problem
from .._routes import place_of
from .comparison import Subject
from .contest import contest
from .engine import Engine
from .network import Network

_LATER, _LATEST = 60.0, 3600.0  # seconds until what was disturbed is measured again


def described(module: torch.nn.Module, body: str, key: Hashable) -> Problem:
    """The line under which a choice is kept: what the module is, and what it is called with."""
    state = [*module.named_parameters(), *module.named_buffers()]
    parts = [f"{name} {tuple(each.shape)} {each.requires_grad}" for name, each in state]
    text = "\n".join([body, str(module), str(key), *parts])
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    mode = "training" if module.training else "evaluation"
    return f"network {type(module).__name__} {mode} {digest}", "contiguous"


class _Again(NamedTuple):
    wait: float  # seconds
    at: float


class Choices:
    """Of one engine's device."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: Optional[Kept] = None
        self._again: Dict[Problem, _Again] = {}

    def _routes(self) -> Kept:
        if self._kept is None:
            self._kept = Kept(place_of([self._engine.context.device]))
        return self._kept

    def known(self, problem: Problem) -> Optional[str]:
        """The way that was written down."""
        return self._routes().way(problem)

    def is_due(self, problem: Problem) -> bool:
        """Whether it was disturbed long enough ago."""
        again = self._again.get(problem)
        return again is not None and time.monotonic() >= again.at

    def measure(self, problem: Problem, network: Network, subject: Subject) -> str:
        """The fastest way."""
        with _log.shown_meanwhile(f"measuring {problem[0]}"):
            found = contest(network, subject, self._engine.settle)
        if found.disturbance:
            self._postpone(problem, found)
        else:
            self._again.pop(problem, None)
            self._routes().add(problem, found.winner, str(found))
        return found.winner

    def _postpone(self, problem: Problem, found: Any) -> None:
        before = self._again.get(problem)
        wait = min(2 * before.wait, _LATEST) if before else _LATER
        self._again[problem] = _Again(wait, time.monotonic() + wait)
        _log.log(
            LogLevel.INFO if before else LogLevel.WARNING,
            f"the machine was too busy to measure {problem[0]} ({found.disturbance}): "
            f"{found.winner} for now, in {wait:.0f} s it is measured again",
        )
