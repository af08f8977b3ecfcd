"""PyTorch's own code for the two operators that Convoy overrides.

Their kernels are registered for all backends together; Convoy's go before them for the CPU only. So
calling them as if for another backend reaches PyTorch's, which then looks at the tensors itself.
"""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

import torch

from ._operation import GRADIENTS, Operation

_forward: Any = torch._convolution
_backward = torch.ops.aten.convolution_backward.default


def forward(*arguments: Any) -> Any:
    """aten::convolution. While tracing, what this calls is what the trace records."""
    return _forward(*arguments, False, False, True, True)


def _redispatched(*arguments: Any) -> Tuple[Any, Any, Any]:
    return _backward.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.XPU), *arguments)


def _by_key(*arguments: Any) -> Tuple[Any, Any, Any]:
    return _backward._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *arguments)


#: aten::convolution_backward. PyTorch 1.13 has no redispatch.
backward = _redispatched if hasattr(_backward, "redispatch") else _by_key


def compute_together(ops: Sequence[Operation], bias_sizes: Any) -> Dict[str, torch.Tensor]:
    """Gradients of one call of aten::convolution_backward, by direction."""
    wanted = {op.direction for op in ops}
    op = ops[0]
    mask = [name in wanted for name in GRADIENTS]
    results = zip(GRADIENTS, backward(op.dy, op.x, op.w, bias_sizes, *op.geometry, mask))
    return {name: result for name, result in results if name in wanted}


def compute(op: Operation) -> torch.Tensor:
    """One operation alone."""
    if op.direction == "forward":
        return forward(op.x, op.w, op.bias, *op.geometry)
    return compute_together([op], op.at.y_shape[1:2])[op.direction]
