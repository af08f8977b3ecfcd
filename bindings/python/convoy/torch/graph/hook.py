"""torch.nn.Module.__call__, wrapped once and for good: what it looks up is turned on and off.

A wrapper around the class's own method costs a call and asks nothing of instances; hooks of all
modules, the other way in, can look at a call but not answer it.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from .networks import Networks

_MARK = "_convoy_original"


def install(current: Callable[[], Optional[Networks]]) -> None:
    """From now on calls of modules go by what `current` returns."""
    original = torch.nn.Module.__call__
    if hasattr(original, _MARK):
        return

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        networks = current()
        if networks is None:
            return original(self, *args, **kwargs)
        return networks.call(self, args, kwargs, original)

    def call_beside_a_trace(self: Any, *args: Any, **kwargs: Any) -> Any:
        networks = current()
        if networks is None or not networks.is_captured_elsewhere():
            return original(self, *args, **kwargs)
        return networks.call(self, args, kwargs, original)

    # While PyTorch traces it has a function of its own in the place of ours, for all threads, and
    # calls what was there when torch.fx was imported.
    torch.fx._symbolic_trace._orig_module_call = call_beside_a_trace  # type: ignore[attr-defined]
    setattr(__call__, _MARK, original)
    torch.nn.Module.__call__ = __call__  # type: ignore[method-assign]
