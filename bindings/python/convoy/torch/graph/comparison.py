"""One step of a captured network beside PyTorch's own, with the same arguments."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import torch

from .arguments import Arguments
from .proof import Difference, Stops, difference
from .rehearsal import Changed, Rehearsal, as_given, exact, gradients, rehearse, shaken
from .state import Held

Tensors = Sequence[Optional[torch.Tensor]]


class Subject(NamedTuple):
    """What computes: the module's body, what it holds, what it is called with."""

    body: Callable[..., Any]
    held: Sequence[Held]
    arguments: Arguments

    @property
    def given(self) -> List[torch.Tensor]:
        return [*(each.tensor for each in self.held), *self.arguments.tensors]

    @property
    def names(self) -> List[str]:
        """Of all that is given."""
        arguments = [f"argument {at}" for at in range(len(self.arguments.tensors))]
        return [*(each.name for each in self.held), *arguments]


class Comparison:
    """PyTorch's step, with the random numbers that the captured one has drawn. It may be asked for
    when the module has been trained on: steps in float64 begin where the first one began."""

    def __init__(self, subject: Subject, drawn: Optional[Sequence[torch.Tensor]]) -> None:
        self._subject, self._drawn = subject, drawn
        self._values: Optional[List[torch.Tensor]] = None
        self._found = self._again()
        self._values = self._begun_with()

    def _begun_with(self) -> List[torch.Tensor]:
        """No argument is written; what is held may be."""
        held = len(self._subject.held)
        values = [*self._found.given_before, *self._found.given[held:]]
        given = self._found.given
        return [
            value.detach().requires_grad_(each.requires_grad) for value, each in zip(values, given)
        ]

    def _again(self, changed: Changed = as_given) -> Rehearsal:
        at = self._subject
        return rehearse(at.body, at.held, at.arguments, self._drawn, changed, self._values)

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
        return gradients(self._found, tangents)

    def backward(self, tangents: Tensors, made: Tensors) -> Stops[Optional[Difference]]:
        """The same of gradients."""
        names = [f"the gradient of {each}" for each in self._subject.names]
        doubles = [each if each is None else each.double() for each in tangents]

        def in_float64(which: Optional[int]) -> List[Optional[torch.Tensor]]:
            return gradients(self._again(_changed(which)), doubles)

        return difference(names, made, self.gradients(tangents), in_float64)


def _changed(which: Optional[int]) -> Changed:
    """In float64, as it is or slightly off."""
    return exact if which is None else partial(shaken, which=which)
