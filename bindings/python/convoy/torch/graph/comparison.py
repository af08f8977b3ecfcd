"""One step of a captured network beside PyTorch's own, with the same arguments."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import torch

from .arguments import Arguments
from .proof import Difference, Stops, difference
from .rehearsal import Changed, Rehearsal, as_given, copies, exact, gradients, rehearse, shaken
from .state import Held

Tensors = Sequence[Optional[torch.Tensor]]


class Subject(NamedTuple):
    """What computes: the module's body, what it holds, what it is called with."""

    body: Callable[..., Any]
    held: Sequence[Held]
    arguments: Arguments
    values: Optional[List[torch.Tensor]] = None  # in place of those that are given

    @property
    def given(self) -> List[torch.Tensor]:
        if self.values is not None:
            return self.values
        return [*(each.tensor for each in self.held), *self.arguments.tensors]

    def as_it_is(self) -> Subject:
        """With copies: others may write what is given meanwhile, another process for example."""
        return self._replace(values=copies(self.given))

    @property
    def names(self) -> List[str]:
        """Of all that is given."""
        arguments = [f"argument {at}" for at in range(len(self.arguments.tensors))]
        return [*(each.name for each in self.held), *arguments]


class Comparison:
    """PyTorch's step, with the random numbers that the captured one has drawn."""

    def __init__(self, subject: Subject, drawn: Optional[Sequence[torch.Tensor]]) -> None:
        self._subject, self._drawn = subject, drawn
        self._found = self._again()

    def _again(self, changed: Changed = as_given) -> Rehearsal:
        at = self._subject
        return rehearse(at.body, at.held, at.arguments, at.given, self._drawn, changed)

    @property
    def results(self) -> List[torch.Tensor]:
        """PyTorch's."""
        return self._found.results

    def forward(
        self, results: Tensors, news: Dict[int, torch.Tensor]
    ) -> Stops[Optional[Difference]]:
        """What rounding does not explain, of the results and of what was written."""
        given = self._subject.names
        names = [f"result {at}" for at in range(len(results))]
        names += [f"the new {given[at]}" for at in news]

        def of(found: Rehearsal) -> List[torch.Tensor]:
            return [*found.results, *(found.given[at] for at in news)]

        return difference(
            names,
            [*results, *news.values()],
            of(self._found),
            lambda which: of(self._again(_changed(which))),
        )

    def gradients(self, tangents: Tensors) -> List[Optional[torch.Tensor]]:
        """PyTorch's, of all that is given."""
        return gradients(self._subject.held, self._found, tangents)

    def backward(
        self, tangents: Tensors, made: Tensors, wanted: Tensors
    ) -> Stops[Optional[Difference]]:
        """The same of gradients. `wanted` are PyTorch's."""
        names = [f"the gradient of {each}" for each in self._subject.names]
        doubles = [each if each is None else each.double() for each in tangents]

        def in_float64(which: Optional[int]) -> List[Optional[torch.Tensor]]:
            return gradients(self._subject.held, self._again(_changed(which)), doubles)

        return difference(names, made, wanted, in_float64)


def _changed(which: Optional[int]) -> Changed:
    """In float64, as it is or slightly off."""
    return exact if which is None else partial(shaken, which=which)
