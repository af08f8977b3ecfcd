"""How much of a program's time goes into finding out what is faster.

A network's capture, and its comparison with PyTorch, gain nothing by themselves. A session spends
5 s on them, or a twentieth of the time since it began if that is more; what has no room PyTorch
computes until it has.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Iterator, Optional

_LEAST, _PART = 5.0, 0.05


class Budget:
    """Of a session, which begins now."""

    def __init__(self) -> None:
        self._begin, self._spent = time.monotonic(), 0.0
        self._spending: Optional[float] = None  # since when

    def has_room(self, seconds: float) -> bool:
        """Whether so much more may be spent."""
        now = time.monotonic()
        spent = self._spent + (0.0 if self._spending is None else now - self._spending)
        return spent + seconds <= max(_LEAST, _PART * (now - self._begin))

    @contextmanager
    def spending(self) -> Iterator[None]:
        self._spending = begin = time.monotonic()
        try:
            yield
        finally:
            self._spent += time.monotonic() - begin
            self._spending = None
