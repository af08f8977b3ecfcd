"""padding="valid" and padding="same" in numbers: what PyTorch's Conv1d to Conv3d mean by them.

"valid" is no padding. With "same" the result has the input's extents, so the stride is 1; where the
padding of an axis is odd, its end gets the one more.
"""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from ._errors import argument_error
from ._values import integer

Sides = Tuple[Tuple[int, int], ...]


def _same(filters: Sequence[int], stride: List[Any], dilation: List[Any]) -> Sides:
    if any(step != 1 for step in stride):
        raise argument_error(
            f'padding="same" goes with stride 1, not {stride}: write padding in numbers, '
            "for filters of odd extents f dilation * (f - 1) / 2"
        )
    totals = [
        max(0, integer(step, "dilation") * (extent - 1)) for step, extent in zip(dilation, filters)
    ]
    return tuple((total // 2, total - total // 2) for total in totals)


def in_numbers(
    word: str, filters: Sequence[int], stride: List[Any], dilation: List[Any], transposed: bool
) -> Sides:
    """Begin and end of each axis. `stride`, `dilation`: an entry per axis."""
    if word not in ("same", "valid"):
        raise argument_error(f'padding is {word!r}, not "same", "valid" or numbers')
    if transposed:
        raise argument_error(
            f'padding="{word}" has no meaning for a transposed convolution, nor in PyTorch: '
            'write it in numbers, 0 for "valid"'
        )
    return _same(filters, stride, dilation) if word == "same" else ((0, 0),) * len(filters)
