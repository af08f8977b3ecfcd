"""The context in which captured networks run: one of their own, since nothing else may be called on
a context while operations are captured there."""

from __future__ import annotations

import threading
from typing import Any, Callable

from ..._context import Context
from .mirror import Mirror


class Engine:
    """Opened when the first network is captured. Its lock is held for captures and runs."""

    def __init__(self, open_context: Callable[[], Context]) -> None:
        self.lock = threading.RLock()
        self._open = open_context
        self._context: Any = None
        self._mirror: Any = None

    @property
    def context(self) -> Context:
        with self.lock:
            if self._context is None:
                self._context = self._open()
                self._mirror = Mirror(self._context)
            return self._context

    @property
    def mirror(self) -> Mirror:
        assert self.context
        return self._mirror

    @property
    def is_open(self) -> bool:
        return self._context is not None

    def close(self) -> None:
        """Gives the device back; what was captured can only be dropped."""
        with self.lock:
            if self._context is not None:
                self._context.close()
