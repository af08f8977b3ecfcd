"""Carries out one operation by Convoy and by PyTorch's own kernels, turn about on the card, and
says which is the faster. The host's part is not looked at: it is ahead of the card, or recorded."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

import torch

from .. import _log
from .._lib import LogLevel
from . import _disturbance
from ._operation import Operation, Tensor, describe
from ._race import Race

ROUNDS = 3
_TIMES = 3  # calls in a row that are timed together


def race(
    platform: Any, index: int, ways: Sequence[Any], op: Operation, sent_anew: Sequence[Tensor]
) -> Race:
    """The first time of each way is for compiling, proving and the vendor's own search. A vendor
    that fails there is not asked again."""
    times: Dict[str, List[float]] = {}
    results: Dict[str, Tensor] = {}
    for way in ways:
        try:
            results[way.name] = way.compute(op)[0]
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if way is ways[0]:
                raise
            _log.log(LogLevel.WARNING, f"{way.name} fails at {describe(op)}: {error}")
    running = [way for way in ways if way.name in results]
    for _ in range(ROUNDS):
        for way in running:
            seconds = platform.seconds(lambda way=way: way.compute(op), _TIMES, index)
            times.setdefault(way.name, []).append(seconds)
    found = Race(times, results, "")
    others = [each for name, each in times.items() if name != found.winner]
    return found._replace(disturbance=_disturbance.spread(times[found.winner], others))
