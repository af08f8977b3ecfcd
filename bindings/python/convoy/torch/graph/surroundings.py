"""What PyTorch is in the middle of when a module is called: reasons to leave the call alone."""

from __future__ import annotations

import threading
from typing import Any, Callable, List, Optional, Tuple

import torch
from torch.nn.utils import parametrize

_module = torch.nn.modules.module

#: Hooks of all modules. Each is a dictionary that PyTorch fills in place.
_GLOBAL_HOOKS = [
    getattr(_module, name)
    for name in (
        "_global_backward_hooks",
        "_global_backward_pre_hooks",
        "_global_forward_hooks",
        "_global_forward_pre_hooks",
    )
    if hasattr(_module, name)
]


def _functorch_level() -> Callable[[], bool]:
    """Whether a transform of functorch, such as vmap or grad, is under way."""
    functions: Any = torch._C._functorch
    if hasattr(functions, "peek_interpreter_stack"):
        return lambda: functions.peek_interpreter_stack() is not None
    return functions.are_transforms_active  # PyTorch 1


def autocast(kind: str) -> Callable[[], bool]:
    """Whether autocast is on for devices of a kind, "cpu" or "cuda"."""
    try:
        torch.is_autocast_enabled(kind)
        return lambda: bool(torch.is_autocast_enabled(kind))
    except TypeError:  # before 2.4
        return torch.is_autocast_cpu_enabled if kind == "cpu" else torch.is_autocast_enabled


def _compiling() -> Callable[[], bool]:
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", lambda: False)


_hooks_inside = threading.local()  # PyTorch before 2.7: how many hooks of saved tensors are in use


def _count_hooks() -> None:
    hooks = torch.autograd.graph.saved_tensors_hooks
    enter, leave = hooks.__enter__, hooks.__exit__

    def counted_enter(self: Any) -> Any:
        _hooks_inside.count = getattr(_hooks_inside, "count", 0) + 1
        return enter(self)

    def counted_leave(self: Any, *arguments: Any) -> Any:
        _hooks_inside.count -= 1
        return leave(self, *arguments)

    hooks.__enter__, hooks.__exit__ = counted_enter, counted_leave  # type: ignore[method-assign]


def _saved_tensor_hooks() -> Callable[[], Any]:
    """Whether saved tensors are given to hooks: checkpointing counts those of forward and of its
    repetition, so that both have to be carried out in the same way."""
    top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    if top is not None:
        return lambda: top(False)
    _count_hooks()
    return lambda: getattr(_hooks_inside, "count", 0)


saved_tensor_hooks = _saved_tensor_hooks()


def _cached_parametrizations() -> int:
    """How often parametrize.cached() is in use: what is computed once there is used by several
    calls."""
    return parametrize._cache_enabled


_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_default_dtype = torch.get_default_dtype
_tracing = torch._C._get_tracing_state

UNDER_AUTOCAST = "under autocast"

#: In the order in which they are asked for.
_REASONS: List[Tuple[Callable[[], Any], str]] = [
    (_compiling(), "being compiled"),
    (_tracing, "being traced"),
    (_functorch_level(), "inside a transform of functorch"),
    (_dispatch_modes, "inside a TorchDispatchMode"),
    (_function_modes, "inside a TorchFunctionMode"),
    (autocast("cpu"), UNDER_AUTOCAST),
    (saved_tensor_hooks, "inside hooks of saved tensors"),
    (lambda: _default_dtype() is not torch.float32, "the default dtype is not float32"),
    (lambda: any(_GLOBAL_HOOKS), "hooks of all modules"),
    (_cached_parametrizations, "inside parametrize.cached()"),
    (lambda: torch.autograd.forward_ad._current_level >= 0, "inside forward mode"),
]


def reason() -> Optional[str]:
    """Why a call cannot be captured, nor carried out as captured; None if it can."""
    for applies, text in _REASONS:
        if applies():
            return text
    return None
