"""Ultralytics' trainers through Convoy, without a change of their code.

    import convoy.ultralytics
    from ultralytics import YOLO
    YOLO("yolov8n.yaml").train(data=..., device="cpu")

`device` stays "cpu": that is where Ultralytics' tensors are; Convoy's device is CONVOY_DEVICE's. On
"cpu" Ultralytics sets the number of data loading processes to 0, since a CPU that computes has no
time for more; here it is what the caller asked for.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Dict

from . import torch as _torch
from ._on_import import when_imported


def _keep_workers(module: ModuleType) -> None:
    """Puts args.workers back after the constructor of ultralytics.engine.trainer.BaseTrainer.

    The arguments are complete, a resumed run's too, when the constructor has called check_resume.
    """
    trainer = module.BaseTrainer
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


_torch.enable()
when_imported("ultralytics.engine.trainer", _keep_workers)
