"""PyTorch's own code for the two operators that Convoy overrides.

Their kernels are registered for all backends together; Convoy's go before them for the CPU only. So
calling them as if for another backend reaches PyTorch's, which then looks at the tensors itself.
"""

from __future__ import annotations

from typing import Any, Tuple

import torch

_backward = torch.ops.aten.convolution_backward.default


def forward(*arguments: Any) -> torch.Tensor:
    """aten::convolution. While tracing, what this calls is what the trace records."""
    return torch._convolution(*arguments, False, False, True, True)


def _redispatched(*arguments: Any) -> Tuple[Any, Any, Any]:
    return _backward.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.XPU), *arguments)


def _by_key(*arguments: Any) -> Tuple[Any, Any, Any]:
    return _backward._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *arguments)


#: aten::convolution_backward. PyTorch 1.13 has no redispatch.
backward = _redispatched if hasattr(_backward, "redispatch") else _by_key
