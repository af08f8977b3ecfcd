"""How much of a program's time goes into finding out what is faster.

A network's capture, and its comparison with PyTorch, gain nothing by themselves. A session spends
1 s on them, or a fiftieth of the time since it began if that is more, and besides what was granted
to networks that are likely to gain more than it costs. What has no room PyTorch computes until it
has.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Iterator, Optional

_LEAST, _PART = 1.0, 0.02
# A grant is so much of what is going to be saved in so many seconds, as far as it exceeds what an
# estimate may be off.
_SOON, _RETURN, _DOUBT = 60.0, 0.5, 0.2
_MOST = 5.0  # seconds that are granted to one network


class Budget:
    """Of a session, which begins now."""

    def __init__(self) -> None:
        self._begin, self._spent, self._granted = time.monotonic(), 0.0, 0.0
        self._spending: Optional[float] = None  # since when

    def has_room(self, seconds: float) -> bool:
        """Whether so much more may be spent."""
        now = time.monotonic()
        spent = self._spent + (0.0 if self._spending is None else now - self._spending)
        return spent + seconds <= max(_LEAST, _PART * (now - self._begin)) + self._granted

    def grant(self, saving: float) -> None:
        """For a network that is likely to save so much of the program's time, from 0 to 1."""
        self._granted += min(_MOST, _RETURN * _SOON * max(0.0, saving - _DOUBT))

    @contextmanager
    def spending(self) -> Iterator[None]:
        self._spending = begin = time.monotonic()
        try:
            yield
        finally:
            self._spent += time.monotonic() - begin
            self._spending = None
