"""Ultralytics' trainers keep the number of data loading processes that was asked for.

On the device "cpu" they set it to 0, since a CPU that computes has no time for more; with Convoy
another device may compute.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Dict

from ._on_import import when_imported

_MARK = "_convoy_keeps_workers"


def _keep_workers(module: ModuleType) -> None:
    """Puts args.workers back after the constructor of ultralytics.engine.trainer.BaseTrainer.

    The arguments are complete, a resumed run's too, when the constructor has called check_resume.
    """
    trainer = module.BaseTrainer
    if hasattr(trainer, _MARK):  # the runner and an import may both ask for it
        return
    construct, check_resume = trainer.__init__, trainer.check_resume
    asked: Dict[int, int] = {}

    @functools.wraps(check_resume)
    def remember(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = check_resume(self, *arguments, **keywords)
        asked[id(self)] = self.args.workers
        return result

    @functools.wraps(construct)
    def restore(self: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            construct(self, *arguments, **keywords)
        finally:
            workers = asked.pop(id(self), None)
        if workers is not None:
            self.args.workers = workers

    trainer.check_resume, trainer.__init__ = remember, restore
    setattr(trainer, _MARK, True)


def keep_workers() -> None:
    """From now on, or once Ultralytics is imported."""
    when_imported("ultralytics.engine.trainer", _keep_workers)
