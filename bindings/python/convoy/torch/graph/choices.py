"""Which way a network goes: what its first steps have shown is written down with the routes of
operations."""

from __future__ import annotations

import hashlib
from typing import Hashable, Optional

import torch

from .._kept import Kept, Problem
from .._routes import place_of
from .engine import Engine


def described(module: torch.nn.Module, body: str, key: Hashable) -> Problem:
    """The line under which a choice is kept: what the module is, and what it is called with."""
    state = [*module.named_parameters(), *module.named_buffers()]
    parts = [f"{name} {tuple(each.shape)} {each.requires_grad}" for name, each in state]
    text = "\n".join([body, str(module), str(key), *parts])
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    mode = "training" if module.training else "evaluation"
    return f"network {type(module).__name__} {mode} {digest}", "contiguous"


class Choices:
    """Of one engine's device."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: Optional[Kept] = None

    def _routes(self) -> Kept:
        if self._kept is None:
            self._kept = Kept(place_of([self._engine.context.device]))
        return self._kept

    def known(self, problem: Problem) -> Optional[str]:
        """The way that was written down."""
        return self._routes().way(problem)

    def keep(self, problem: Problem, way: str, times: str) -> None:
        self._routes().add(problem, way, times)
