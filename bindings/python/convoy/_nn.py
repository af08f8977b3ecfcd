"""Layers and losses on tensors: operands as C takes them, and the extents of what is made."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, Any, Optional, Tuple

from ._host import call
from ._lib import BatchNormStruct, CrossEntropyStruct, Reduction
from ._load import library
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import flag, integer, member, real

if TYPE_CHECKING:
    from ._context import Context


def optional(context: Context, tensor: Any, name: str) -> Optional[int]:
    """None stays None."""
    return None if tensor is None else tensor_pointer(tensor, context, name)


def _like(context: Context, x: Any, name: str, out: Any) -> Tuple[Optional[int], Any]:
    """x's pointer, and what gets a result of its extents."""
    pointer = tensor_pointer(x, context, name)
    return pointer, Tensor(context, x.shape) if out is None else out


# ----------------------------------------------------------------------------------- normalisation


def batch_norm(
    context: Context,
    x: Any,
    affine: Tuple[Any, Any],
    running: Tuple[Any, Any],
    numbers: Tuple[Any, Any, Any],
    out: Any,
    run: Optional[Run],
) -> Any:
    """Context.batch_norm(); `numbers` are training, momentum and epsilon."""
    training, momentum, epsilon = numbers
    options = BatchNormStruct(
        evaluate=not flag(training, "training"),
        epsilon=real(epsilon, "epsilon"),
        momentum=real(momentum, "momentum"),
    )
    pointer, y = _like(context, x, "x", out)
    names = "gamma", "beta", "running_mean", "running_variance"
    more = [optional(context, *pair) for pair in zip((*affine, *running), names)]
    last = tensor_pointer(y, context, "out")
    call(context, library.convoy_batch_norm, run, byref(options), pointer, *more, last)
    return y


def normalise(
    context: Context,
    name: str,
    parts: Tuple[Any, str],
    x: Any,
    affine: Tuple[Any, Any],
    epsilon: Any,
    out: Any,
    run: Optional[Run],
) -> Any:
    """Context.layer_norm() and Context.group_norm(): `parts` are axes or groups, and that word."""
    pointer, y = _like(context, x, "x", out)
    more = [optional(context, *pair) for pair in zip(affine, ("gamma", "beta"))]
    count, word = parts
    bits = 32 if name == "layer_norm" else 64
    numbers = integer(count, word, bits), real(epsilon, "epsilon")
    last = tensor_pointer(y, context, "out")
    call(context, getattr(library, "convoy_" + name), run, *numbers, pointer, *more, last)
    return y


def softmax(
    context: Context, name: str, x: Any, axis: Any, out: Any, run: Optional[Run]
) -> Any:
    """Context.softmax() and Context.log_softmax()."""
    pointer, y = _like(context, x, "x", out)
    along = integer(axis, "axis", 32)
    along += x.ndim if along < 0 else 0
    last = tensor_pointer(y, context, "out")
    call(context, getattr(library, "convoy_" + name), run, along, pointer, last)
    return y


def dropout(context: Context, x: Any, p: Any, out: Any, run: Optional[Run]) -> Any:
    """Context.dropout()."""
    pointer, y = _like(context, x, "x", out)
    last = tensor_pointer(y, context, "out")
    call(context, library.convoy_dropout, run, real(p, "p"), pointer, last)
    return y


# ------------------------------------------------------------------------------------------ losses


def _loss(context: Context, how: Reduction, like: Any, out: Any) -> Any:
    """What gets the loss: one number, or one for each of these elements."""
    if out is not None:
        return out
    return Tensor(context, like.shape if how is Reduction.NONE else (1,))


def cross_entropy(
    context: Context,
    operands: Tuple[Any, Any, Any],
    reduction: Any,
    numbers: Tuple[Any, Any],
    out: Any,
    run: Optional[Run],
) -> Any:
    """Context.cross_entropy(); operands are logits, labels and weight, numbers what is ignored and
    the smoothing."""
    ignored, smoothing = numbers
    how = member(reduction, Reduction, "reduction")
    options = CrossEntropyStruct(
        reduction=how,
        ignored=integer(ignored, "ignored", 32),
        smoothing=real(smoothing, "smoothing"),
    )
    logits, labels, weight = operands
    pointers = tensor_pointer(logits, context, "logits"), tensor_pointer(labels, context, "labels")
    loss = _loss(context, how, labels, out)
    last = optional(context, weight, "weight"), tensor_pointer(loss, context, "out")
    call(context, library.convoy_cross_entropy, run, byref(options), *pointers, *last)
    return loss


def element_loss(
    context: Context,
    name: str,
    numbers: Tuple[float, ...],
    operands: Tuple[Tuple[Any, str], ...],
    reduction: Any,
    out: Any,
    run: Optional[Run],
) -> Any:
    """Context.bce_with_logits(), mse() and smooth_l1(). The first two operands have to be there."""
    how = member(reduction, Reduction, "reduction")
    pointers = [tensor_pointer(each, context, word) for each, word in operands[:2]]
    pointers += [optional(context, each, word) for each, word in operands[2:]]
    loss = _loss(context, how, operands[0][0], out)
    function, last = getattr(library, "convoy_" + name), tensor_pointer(loss, context, "out")
    call(context, function, run, int(how), *numbers, *pointers, last)
    return loss
