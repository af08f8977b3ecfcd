"""What a module does to PyTorch's autograd while it computes. A captured network would do it once,
while it is traced, and never again."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from .surroundings import saved_tensor_hooks

_Tensor: Any = torch.Tensor

_HOOKS = "it sets hooks on tensors inside"

#: Functions that only a graph of PyTorch's own can answer. Who looks at a node of it, as
#: register_multi_grad_hook() does, may set hooks there.
_REASONS: Dict[Any, str] = {
    _Tensor.register_hook: _HOOKS,
    getattr(_Tensor, "register_post_accumulate_grad_hook", None): _HOOKS,
    _Tensor.retain_grad: "it retains gradients of tensors inside",
    _Tensor.grad_fn.__get__: "it looks at the grad_fn of a tensor inside",
}

_CHECKPOINTED = "it checkpoints, or has other hooks on what is saved for gradients, inside"

_LAST = "training"

#: Functions that write running statistics without a new version, and names of their arguments.
_NORMS: Dict[Any, Tuple[str, ...]] = {
    F.batch_norm: ("input", "running_mean", "running_var", "weight", "bias", _LAST),
    torch.batch_norm: ("input", "weight", "bias", "running_mean", "running_var", _LAST),
}


class Inside(TorchFunctionMode):
    """For a with statement around a module's forward pass: `reason` is why it cannot be captured,
    None if nothing speaks against it; `statistics` are tensors that it writes, whether or not they
    have other values afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.reason: Optional[str] = None
        self.statistics: List[torch.Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        reason = _reason(func)
        if self.reason is None or reason == _CHECKPOINTED:  # which looks at a grad_fn before
            self.reason = reason or self.reason
        if func in _NORMS:
            self._note(dict(zip(_NORMS[func], args), **kwargs))
        return func(*args, **kwargs)

    def _note(self, given: Dict[str, Any]) -> None:
        if given.get(_LAST):
            both = given.get("running_mean"), given.get("running_var")
            self.statistics += [each for each in both if each is not None]


def _reason(func: Any) -> Optional[str]:
    if not torch.is_grad_enabled():
        return None
    return _CHECKPOINTED if saved_tensor_hooks() else _REASONS.get(func)
