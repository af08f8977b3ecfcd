"""What is turned on for scripts that do not know of Convoy: by `python -m convoy run`, and by
CONVOY_TORCH=1 where PyTorch loads the entry points of installed packages (2.5 and newer)."""

from __future__ import annotations

from ._values import switch_variable
from ._workers import keep_workers


def start() -> None:
    from .torch import _switch  # convoy.torch as a whole may be in the middle of its import

    _switch.enable()
    keep_workers()


def start_if_asked() -> None:
    if switch_variable("CONVOY_TORCH"):
        start()
