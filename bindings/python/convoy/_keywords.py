"""A keyword that a function does not have is reported with the one that was meant."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Iterable, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def _unknown(function: Any, word: str, known: Iterable[str]) -> TypeError:
    import difflib  # takes milliseconds to load, and is hardly ever needed

    meant = difflib.get_close_matches(word, known, 1)
    hint = f"Did you mean {meant[0]!r}?" if meant else f"There are {', '.join(sorted(known))}."
    name = function.__qualname__.replace(".__init__", "")
    return TypeError(f"{name}() got an unexpected keyword argument {word!r}. {hint}")


def keywords(*more: type) -> Callable[[Function], Function]:
    """For functions that people call. `more`: TypedDicts whose names come as `**keywords`."""

    def decorate(function: Any) -> Any:
        parameters = inspect.signature(function).parameters.values()
        names = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
        names += [name for each in more for name in each.__annotations__]
        known = frozenset(names) - {"self"}

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> Any:
            if not given.keys() <= known:
                raise _unknown(function, next(word for word in given if word not in known), known)
            return function(*arguments, **given)

        return call

    return decorate
