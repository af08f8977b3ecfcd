"""What of a module is captured: its forward function, or a part of what its class does there."""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import torch


class Body(NamedTuple):
    """function(module, *args, **kwargs). Two of one name are the same. Where that cannot be traced,
    traced(module, shapes, *args, **kwargs) gives the same tensors, which have these shapes; in it
    the code of `operators` is called in each step."""

    name: str
    function: Callable[..., Any]
    traced: Optional[Callable[..., Any]] = None
    operators: Tuple[CodeType, ...] = ()


def _forward(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    return module.forward(*args, **kwargs)


FORWARD = Body("forward", _forward)

#: Classes of modules whose calls only lead to what is captured: a module inside, or another body.
PASS_ON: List[type] = [
    torch.nn.parallel.DistributedDataParallel,
    torch.nn.DataParallel,
    torch.jit.ScriptModule,
]
