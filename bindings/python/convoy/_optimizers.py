"""Optimizers: lists of tensors as C takes them."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

from ._apply import number_tensor
from ._errors import argument_error
from ._host import call
from ._lib import AdamStruct, SgdStruct
from ._load import library
from ._nn import optional
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import finite, flag, real, shown

if TYPE_CHECKING:
    from ._context import Context


def _pointers(context: Context, tensors: Sequence[Any], name: str) -> Any:
    found = [tensor_pointer(each, context, f"{name}[{i}]") for i, each in enumerate(tensors)]
    return (ctypes.c_void_p * len(found))(*found)


def _lists(context: Context, lists: Sequence[Tuple[Any, str]]) -> Tuple[int, List[Any]]:
    """How many tensors each has, which is one number for all, and the pointers of all."""
    taken = []
    for tensors, name in lists:
        if isinstance(tensors, Tensor) or not hasattr(tensors, "__iter__"):
            raise argument_error(f"{name} is {shown(tensors)}, not a list of tensors")
        taken.append(list(tensors))
    for tensors, (_, name) in zip(taken, lists):
        if len(tensors) != len(taken[0]):
            first = lists[0][1]
            raise argument_error(f"{len(tensors)} tensors in {name}, {len(taken[0])} in {first}")
    names = [name for _, name in lists]
    return len(taken[0]), [_pointers(context, *pair) for pair in zip(taken, names)]


def _rate(context: Context, rate: Any, name: str) -> Tensor:
    """The tensor that holds a finite number, where a number is given."""
    return rate if isinstance(rate, Tensor) else number_tensor(context, finite(rate, name), name)


def sgd(
    context: Context,
    lists: Tuple[Any, Any, Any],
    rate: Any,
    step: Any,
    numbers: Tuple[Any, Any, Any, Any],
    run: Optional[Run],
) -> None:
    """Context.sgd(); numbers are momentum, dampening, Nesterov's and decay."""
    momentum, dampening, nesterov, decay = numbers
    options = SgdStruct(
        nesterov=flag(nesterov, "nesterov"),
        momentum=real(momentum, "momentum"),
        dampening=real(dampening, "dampening"),
        decay=real(decay, "decay"),
    )
    parameters, gradients, velocities = lists
    named = [(parameters, "parameters"), (gradients, "gradients")]
    if velocities is not None:
        named.append((velocities, "velocities"))
    count, pointers = _lists(context, named)
    if velocities is None:
        pointers.append(None)
    tensor = _rate(context, rate, "rate")
    last = tensor_pointer(tensor, context, "rate"), optional(context, step, "step")
    call(context, library.convoy_sgd, run, byref(options), count, *pointers, *last)


def adam(
    context: Context,
    name: str,
    lists: Tuple[Any, Any, Any, Any],
    rate: Any,
    step: Any,
    numbers: Tuple[Any, Any, Any],
    run: Optional[Run],
) -> None:
    """Context.adam() and Context.adamw(); numbers are betas, epsilon and decay."""
    betas, epsilon, decay = numbers
    try:
        beta1, beta2 = betas
    except (TypeError, ValueError):
        raise argument_error(f"betas is {shown(betas)}, not two numbers") from None
    options = AdamStruct(
        beta1=real(beta1, "beta1"),
        beta2=real(beta2, "beta2"),
        epsilon=real(epsilon, "epsilon"),
        decay=real(decay, "decay"),
    )
    names = "parameters", "gradients", "first", "second"
    count, pointers = _lists(context, list(zip(lists, names)))
    tensor = _rate(context, rate, "rate")
    last = tensor_pointer(tensor, context, "rate"), tensor_pointer(step, context, "step")
    function = getattr(library, "convoy_" + name)
    call(context, function, run, byref(options), count, *pointers, *last)


def moving_average(
    context: Context, averages: Any, parameters: Any, share: Any, run: Optional[Run]
) -> None:
    """Context.moving_average()."""
    named = [(averages, "averages"), (parameters, "parameters")]
    count, (to, read) = _lists(context, named)
    tensor = _rate(context, share, "share")
    pointer = tensor_pointer(tensor, context, "share")
    call(context, library.convoy_moving_average, run, pointer, count, read, to)


def clip(context: Context, gradients: Any, most: Any, out: Any, run: Optional[Run]) -> Any:
    """Context.gradient_norm(), where most is None, and Context.clip_gradients()."""
    count, (pointers,) = _lists(context, [(gradients, "gradients")])
    norm = Tensor(context, (1,)) if out is None else out
    last = count, pointers, tensor_pointer(norm, context, "out")
    if most is None:
        call(context, library.convoy_gradient_norm, run, *last)
    else:
        call(context, library.convoy_clip_gradients, run, finite(most, "most"), *last)
    return norm
