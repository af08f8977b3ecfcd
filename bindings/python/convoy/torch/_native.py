"""PyTorch's own code for the two operators that Convoy overrides.

Their kernels are registered for all backends together; Convoy's go before them for the CPU and for
cards only. So calling them as if for another backend reaches PyTorch's, which then looks at the
tensors itself.
"""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

import torch

from ._operation import GRADIENTS, Operation

_forward = torch.ops.aten.convolution.default
_backward = torch.ops.aten.convolution_backward.default
_ANOTHER = torch._C.DispatchKeySet(torch._C.DispatchKey.XPU)


_precision: Any = getattr(torch._C, "_get_fp32_precision_getter", None)  # since 2.9


def allows_tf32() -> bool:
    """Whether PyTorch may round the operands of convolutions on CUDA to TF32, as by default."""
    if _precision is not None:
        return bool(_precision("cuda", "conv") == "tf32")
    return bool(torch._C._get_cudnn_allow_tf32())


def flags() -> Tuple[bool, bool, bool, bool]:
    """What aten::convolution takes from PyTorch's settings and gives to what it calls: benchmark
    mode, repeatable results, cuDNN or MIOpen, TF32."""
    cudnn = torch.backends.cudnn
    repeatable = torch.are_deterministic_algorithms_enabled() or cudnn.deterministic
    return cudnn.benchmark, repeatable, cudnn.enabled, allows_tf32()


_with_flags: Any = torch._convolution


def _flagged(*arguments: Any) -> Any:
    return _with_flags(*arguments, *flags())


def _redispatched(*arguments: Any) -> Any:
    """While tracing, what this calls is what the trace records."""
    if torch._C._get_tracing_state() is not None:
        return _flagged(*arguments)
    return _forward.redispatch(_ANOTHER, *arguments)


def _redispatched_backward(*arguments: Any) -> Tuple[Any, Any, Any]:
    return _backward.redispatch(_ANOTHER, *arguments)


def _backward_by_key(*arguments: Any) -> Tuple[Any, Any, Any]:
    return _backward._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *arguments)


#: aten::convolution and aten::convolution_backward. PyTorch 1.13 has no redispatch.
forward = _redispatched if hasattr(_forward, "redispatch") else _flagged
backward = _redispatched_backward if hasattr(_backward, "redispatch") else _backward_by_key


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
