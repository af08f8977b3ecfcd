"""The context in which captured networks run: one of their own, since nothing else may be called on
a context while operations are captured there."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, List

from ..._context import Context
from ..._release import release
from .mirror import Mirror


def _close(contexts: List[Context]) -> None:
    for context in contexts:
        release(context.close)


class Engine:
    """Opened when the first network is captured. Its lock is held for captures and runs.

    Networks hold it, and so do forward passes whose backward pass may come: the device is given
    back when nobody does any more."""

    def __init__(self, open_context: Callable[[], Context]) -> None:
        self.lock = threading.RLock()
        self._open = open_context
        self._contexts: List[Context] = []
        self._mirror: Any = None
        weakref.finalize(self, _close, self._contexts)

    @property
    def context(self) -> Context:
        with self.lock:
            if not self._contexts:
                self._contexts.append(self._open())
                self._mirror = Mirror(self._contexts[0])
            return self._contexts[0]

    @property
    def mirror(self) -> Mirror:
        assert self.context
        return self._mirror

    @property
    def is_open(self) -> bool:
        return bool(self._contexts)
