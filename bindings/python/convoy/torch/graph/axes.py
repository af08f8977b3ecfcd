"""Extents under which Convoy's programs see arrays.

A program has at most five axes, by the number of extents (docs/programs_arrays.md). Tensors of
PyTorch with more have neighbouring axes joined, where all operands allow it.
"""

from __future__ import annotations

import math
from typing import Collection, List, Sequence, Tuple

from .errors import Unsupported

Shape = Tuple[int, ...]

#: By the number of extents: the letters of the axes they are along.
LETTERS = {1: "c", 2: "nc", 3: "ncw", 4: "nchw", 5: "nczhw"}
MOST = 5


def padded(shape: Sequence[int], rank: int) -> Shape:
    """With extents of 1 in front, as PyTorch broadcasts."""
    return (1,) * (rank - len(shape)) + tuple(shape)


class Axes:
    """Which axes of PyTorch's are one axis of a program's."""

    def __init__(
        self, shape: Shape, operands: Sequence[Shape], reduced: Collection[int] = ()
    ) -> None:
        """shape: the largest extents; operands: theirs, as many, 1 where they are repeated."""
        self._shape = shape
        self.groups = [[axis] for axis in range(len(shape))] or [[]]
        if len(shape) > MOST:
            self.groups = self._joined(operands, reduced)
        if len(self.groups) > MOST:
            raise Unsupported(f"{len(self.groups)} axes that cannot be joined to {MOST}")

    def _joined(self, operands: Sequence[Shape], reduced: Collection[int]) -> List[List[int]]:
        groups: List[List[int]] = []
        kinds: List[Tuple[bool, ...]] = []
        for axis, extent in enumerate(self._shape):
            if extent == 1 and axis not in reduced:
                continue
            kind = (axis in reduced, *(operand[axis] == 1 for operand in operands))
            if kinds and kinds[-1] == kind:
                groups[-1].append(axis)
            else:
                groups.append([axis])
                kinds.append(kind)
        return groups or [[]]

    @property
    def letters(self) -> str:
        return LETTERS[len(self.groups)]

    def extents(self, shape: Shape) -> Shape:
        """Of an operand or a result of this shape."""
        return tuple(math.prod(shape[axis] for axis in group) for group in self.groups)

    def over(self, reduced: Collection[int]) -> str:
        """The letters of reduced axes, as a text has them: "n z h w". All of a map's are named,
        however many it has, as in the programs that the CPU engine has loops for."""
        letters = [
            letter
            for letter, group in zip(self.letters, self.groups)
            if group and group[0] in reduced
        ]
        spatial = set(self.letters[2:])
        if spatial and spatial <= set(letters):
            letters = [*(each for each in letters if each in "nc"), "z", "h", "w"]
        return " ".join(letters)
