"""Python functions that the library calls: log lines and events.

An exception in one of them ends in ctypes, which hands it to sys.unraisablehook: it never reaches C
and never changes the result of the call it happened in.
"""

from __future__ import annotations

import atexit
from typing import Any, Callable, List, Optional, Union

from . import _lib, _log
from ._errors import argument_error
from ._keywords import keywords
from ._lib import LogLevel
from ._load import library
from ._records import Event, values_of
from ._release import inside_log_hook
from ._values import member, shown

LogHook = Callable[[LogLevel, str], Any]
EventHook = Callable[[Event], Any]

# Another thread may still be about to call a hook that was replaced, so none is ever let go.
_log_hooks: List[Any] = []


def _check_hook(hook: Any) -> None:
    if hook is not None and not callable(hook):
        raise argument_error(f"hook is {shown(hook)}, neither a function nor None")


def _log_function(hook: Optional[LogHook]) -> Any:
    _check_hook(hook)
    if hook is None:
        return _lib.LogFunction(0)
    wanted = hook

    def call(_: Any, level: int, line: bytes) -> None:
        with inside_log_hook():
            wanted(LogLevel(level), line.decode("utf-8", "replace"))

    return _lib.LogFunction(call)


@keywords()
def set_log(hook: Optional[LogHook], level: Union[str, int] = LogLevel.WARNING) -> None:
    """Sends log lines up to `level` to `hook(level, line)`; None writes them to stderr again.

    For the whole process. The hook may be called on any thread and must not call Convoy.
    """
    wrapped = _log_function(hook)
    most = member(level, LogLevel, "level")
    _log_hooks.append(wrapped)
    library.convoy_set_log(wrapped, None, most)
    _log.send_to(wrapped, most)


# A library thread must not call into an interpreter that is gone.
atexit.register(set_log, None)


def event_function(hook: Optional[EventHook]) -> Any:
    """`hook` as a C callback; None as a NULL one."""
    _check_hook(hook)
    if hook is None:
        return _lib.EventFunction(0)
    wanted = hook

    def call(_: Any, event: Any) -> None:
        wanted(Event(**values_of(Event, event.contents)))

    return _lib.EventFunction(call)
