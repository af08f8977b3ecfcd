"""How OpenMP's threads wait, PyTorch's and the engine's.

After each loop they look for the next one for milliseconds, as long as nobody has said otherwise.
Where others want the same processors that takes them from the very thread that all wait for, and
a step can take a hundred times as long. The runtime reads what is said when it is loaded, which
`import convoy` does: so this module comes first, and imports nothing that could.
"""

from __future__ import annotations

import os
import sys
import time

_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
_LOOK = 0.1  # seconds: ten ticks of the clock that the kernel counts with
_MOST = 0.25  # of the processors, that others may keep busy
_STAT = "/proc/stat"
_BUSY = (1, 2, 3, 6, 7, 8)  # fields of a processor's line: user, nice, system, irq, softirq, steal

_said = ""  # for the first line of `convoy run`


def _ticks() -> int:
    """Busy ones so far, of all processors that this process may run on."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    try:
        with open(_STAT) as file:
            lines = [line.split() for line in file]
        return sum(int(line[field]) for line in lines if line[0] in mine for field in _BUSY)
    except (OSError, ValueError, IndexError):
        return 0


def _others() -> float:
    """How many of these processors others keep busy, now."""
    begin, own, ticks = time.monotonic(), time.process_time(), _ticks()
    time.sleep(_LOOK)
    busy = (_ticks() - ticks) / os.sysconf("SC_CLK_TCK") - (time.process_time() - own)
    return max(0.0, busy / (time.monotonic() - begin))


def _crowd() -> str:
    """Who is in the way of threads that look for work, in words; "" if nobody."""
    others, count = _others(), len(os.sched_getaffinity(0))
    if others <= _MOST * count:
        return ""
    return f"others keep {min(others, count):.1f} of {count} processors busy"


def _is_told() -> bool:
    return any(os.environ.get(name) for name in _SETTINGS)


def advice() -> str:
    """What would help on a busy machine, to end a sentence with; "" if somebody has decided."""
    if _is_told():
        return ""
    return "; OMP_WAIT_POLICY=passive, set before Python starts, has waiting threads sleep"


def warning() -> str:
    """A line for a process whose threads are looking for work in a crowd; "" if they are not."""
    crowd = "" if _is_told() else _crowd()
    return crowd and f"{crowd}, and OpenMP's threads look for work while they wait{advice()}"


def _is_command() -> bool:
    """Whether this is `python -m convoy run`, of which runpy imports the package."""
    given = getattr(sys, "argv", [])  # of an embedded Python there is none
    if given[:2] != ["-m", "run"]:
        return False
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")[:-1]
    except OSError:
        return False
    return words[-len(given)] in (b"convoy", b"-mconvoy")


def decide() -> None:
    """For `convoy run`, which is there before the program's libraries: in a crowd they sleep."""
    global _said
    crowd = _crowd() if _is_command() and not _is_told() else ""
    if crowd:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        _said = f"; OMP_WAIT_POLICY=passive, because {crowd}"


def said() -> str:
    return _said
