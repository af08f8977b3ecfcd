"""What is turned on for scripts that do not know of Convoy: by `python -m convoy run`, and by
CONVOY_TORCH=1 where PyTorch loads the entry points of installed packages (2.5 and newer)."""

from __future__ import annotations

from typing import Any

from ._on_import import when_imported


def _ultralytics(_: Any) -> None:
    from . import ultralytics  # noqa: F401


def start() -> None:
    from .torch import _switch  # convoy.torch as a whole may be in the middle of its import

    _switch.enable()
    when_imported("ultralytics.engine.trainer", _ultralytics)
