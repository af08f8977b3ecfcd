"""Convoy's lines that Python writes: they look like the library's, and go where those go."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import Any, Iterator, Optional

from ._lib import LogLevel

# As in src/base/log.c: what starters of jobs call the number of a process, the first that is set
# counts; the last only tells the processes of one machine apart.
_LOCAL_RANK = "LOCAL_RANK"
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", _LOCAL_RANK)

_function: Any = None  # what set_log gave the library, called as the library calls it
_level: Optional[LogLevel] = None  # None until set_log: CONVOY_LOG's


def send_to(function: Any, level: LogLevel) -> None:
    """From now on lines go to a C callback, or to stderr if it is NULL."""
    global _function, _level
    _function, _level = function or None, level


def _wanted() -> LogLevel:
    named = os.environ.get("CONVOY_LOG", "").upper()
    return LogLevel.__members__.get(named, LogLevel.WARNING) if _level is None else _level


def rank() -> str:
    """Which of several processes this is, "rank 3"; "" where nobody has numbered it."""
    for name in _RANKS:
        text = os.environ.get(name, "")
        if text.isascii() and text.isdigit() and len(text) < 10:
            return f"local rank {int(text)}" if name == _LOCAL_RANK else f"rank {int(text)}"
    return ""


def _put(text: str) -> None:
    """As one piece: other processes may write to the same screen. A daemon may have closed it."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _headed(words: str, line: str) -> str:
    return f"convoy: {words}: {line}" if words else f"convoy: {line}"


def say(line: str) -> None:
    """What somebody has asked for just now, on stderr."""
    _put(_headed(rank(), line) + "\n")


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


_SILENCE = 3.0  # seconds; what takes longer is said wherever lines of log go


@contextmanager
def shown_meanwhile(line: str) -> Iterator[None]:
    """A line that a terminal shows for the length of a with statement. Elsewhere it is a line of
    log, where that takes long."""
    shown = _is_terminal()
    late = threading.Timer(_SILENCE, log, (LogLevel.WARNING, f"{line}, which happens once"))
    late.daemon = True
    if shown:
        _put(_headed(rank(), line) + "\r")
    else:
        late.start()
    try:
        yield
    finally:
        late.cancel()
        if shown:
            _put("\033[K")


def log(level: LogLevel, line: str) -> None:
    """As the library logs: on stderr with the time, since it is looked at days later."""
    if level > _wanted():
        return
    if _function is None:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        _put(_headed(f"{when} {rank()}".rstrip(), line) + "\n")
    else:
        _function(None, level, line.encode("utf-8", "replace"))
