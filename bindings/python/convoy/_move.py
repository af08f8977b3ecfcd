"""Moves on tensors: axes, slices and pairs as the library takes them, and extents of results."""

from __future__ import annotations

from ctypes import byref, c_int32, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple

from ._arrays import seen
from ._errors import argument_error, shape_error
from ._host import call
from ._lib import BOX_AXES, MAX_DIMS, BoxStruct, Padding
from ._load import library
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import integer, member, real, shape_of, shown

if TYPE_CHECKING:
    from ._context import Context

Made = Callable[[Tensor, Any], Tensor]  # from a tensor and `out`


def of_either(context: Context, x: Any, out: Any, make: Made) -> Any:
    """What `make` makes of a tensor, or of an array, which becomes one and comes back as one."""
    if isinstance(x, Tensor):
        return make(x, out)
    if out is not None:
        raise argument_error("out is for tensors; of an array a new one is returned")
    return make(context.tensor(seen(x, "x")), None).read()


def _result(context: Context, shape: Sequence[int], out: Any) -> Tensor:
    return Tensor(context, tuple(shape)) if out is None else out


def _integers(values: Any, count: int, name: str) -> List[int]:
    numbers = [integer(each, name) for each in shape_of(values, name)]
    if len(numbers) != count:
        raise argument_error(f"{name} has {len(numbers)} entries for {count} axes")
    return numbers


def permute(context: Context, x: Any, axes: Any, out: Any, run: Optional[Run]) -> Any:
    """Context.permute()."""

    def make(tensor: Tensor, result: Any) -> Tensor:
        given = _integers(axes, tensor.ndim, "axes")
        order = [axis + tensor.ndim if axis < 0 else axis for axis in given]
        if not all(0 <= axis < tensor.ndim for axis in order):
            raise argument_error(f"axes are {shown(axes)} for {tensor.ndim} axes")
        y = _result(context, [tensor.shape[axis] for axis in order], result)
        pointers = tensor_pointer(tensor, context, "x"), tensor_pointer(y, context, "out")
        call(context, library.convoy_permute, run, (c_int32 * MAX_DIMS)(*order), *pointers)
        return y

    return of_either(context, x, out, make)


def _places(key: Any, shape: Sequence[int]) -> Tuple[List[int], List[int], List[int]]:
    """Begins, steps and counts of slices, as numpy reads them."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (len(shape) + 1 - len(keys))
    keys += [slice(None)] * (len(shape) - len(keys))
    if len(keys) > len(shape) or not all(isinstance(each, slice) for each in keys):
        raise argument_error(f"slices are {shown(key)} for {len(shape)} axes, one slice for each")
    try:
        ranges = [range(*each.indices(extent)) for each, extent in zip(keys, shape)]
    except (TypeError, ValueError) as error:
        raise argument_error(f"slices are {shown(key)}: {error}") from None
    begins = [each.start if len(each) else 0 for each in ranges]
    return begins, [each.step for each in ranges], [len(each) for each in ranges]


def slice_(context: Context, x: Any, key: Any, out: Any, run: Optional[Run]) -> Any:
    """Context.slice()."""

    def make(tensor: Tensor, result: Any) -> Tensor:
        begins, steps, counts = _places(key, tensor.shape)
        y = _result(context, counts, result)
        numbers = (c_int64 * MAX_DIMS)(*begins), (c_int64 * MAX_DIMS)(*steps)
        pointers = tensor_pointer(tensor, context, "x"), tensor_pointer(y, context, "out")
        call(context, library.convoy_slice, run, *numbers, *pointers)
        return y

    return of_either(context, x, out, make)


def _pairs(padding: Any, count: int) -> List[Tuple[int, int]]:
    """(begin, end) for each axis, from one number, or a number or a pair for each."""
    if hasattr(padding, "__index__"):
        padding = [padding] * count
    try:
        entries = list(padding)
    except TypeError:
        raise argument_error(f"padding is {shown(padding)}, not numbers or pairs") from None
    if len(entries) != count:
        raise argument_error(
            f"padding is {shown(padding)}: {len(entries)} entries for {count} axes"
        )
    pairs = []
    for entry in entries:
        both = tuple(entry) if isinstance(entry, (tuple, list)) else (entry, entry)
        if len(both) != 2:
            raise argument_error(f"padding is {shown(padding)}, not numbers or pairs")
        pairs.append((integer(both[0], "padding"), integer(both[1], "padding")))
    return pairs


def pad(
    context: Context, x: Any, padding: Any, mode: Any, value: Any, out: Any, run: Optional[Run]
) -> Any:
    """Context.pad()."""
    how, fill = member(mode, Padding, "mode"), real(value, "value")

    def make(tensor: Tensor, result: Any) -> Tensor:
        pairs = _pairs(padding, tensor.ndim)
        shape = [extent + sum(both) for extent, both in zip(tensor.shape, pairs)]
        if min(shape) < 0:
            raise shape_error(f"padding {shown(padding)} cuts more off than there is")
        y = _result(context, shape, result)
        begins = (c_int64 * MAX_DIMS)(*(begin for begin, _ in pairs))
        pointers = tensor_pointer(tensor, context, "x"), tensor_pointer(y, context, "out")
        call(context, library.convoy_pad, run, how, begins, fill, *pointers)
        return y

    return of_either(context, x, out, make)


def _box(shape: Sequence[int], strides: Any, offset: Any) -> BoxStruct:
    if not 1 <= len(shape) <= BOX_AXES:
        raise argument_error(f"{len(shape)} axes; a copy has 1 to {BOX_AXES}")
    box = BoxStruct(axes=len(shape), offset=integer(offset, "offset"))
    numbers = _integers(strides, len(shape), "strides")
    for axis, (extent, stride) in enumerate(zip(shape, numbers)):
        box.extent[axis] = box.count[axis] = extent
        box.step[axis] = 1
        box.stride[axis] = stride
    return box


def strided(
    context: Context,
    x: Any,
    shape: Any,
    strides: Any,
    offset: Any,
    out: Any,
    run: Optional[Run],
) -> Any:
    """Context.strided()."""
    extents = shape_of(shape, "shape")
    box = _box(extents, strides, offset)

    def make(tensor: Tensor, result: Any) -> Tensor:
        if result is None and len(extents) > MAX_DIMS:
            raise shape_error(f"a tensor has {MAX_DIMS} extents at most: give `out`, of any")
        y = _result(context, extents, result)
        pointers = tensor_pointer(tensor, context, "x"), tensor_pointer(y, context, "out")
        call(context, library.convoy_copy, run, byref(box), *pointers)
        return y

    return of_either(context, x, out, make)


MOST_PARTS = 12


def _axis(axis: Any, count: int) -> int:
    number = integer(axis, "axis")
    if not -count <= number < count:
        raise argument_error(f"axis is {number} for {count} axes")
    return number % count


def _in_groups(
    context: Context, tensors: Sequence[Tensor], axis: Any, run: Optional[Run]
) -> List[Tensor]:
    """As many as go into one operation: those that are too many become fewer."""
    parts = list(tensors)
    while len(parts) > MOST_PARTS:
        groups = [parts[at : at + MOST_PARTS] for at in range(0, len(parts), MOST_PARTS)]
        parts = [concatenate(context, group, axis, None, run) for group in groups]
    return parts


def concatenate(context: Context, parts: Any, axis: Any, out: Any, run: Optional[Run]) -> Any:
    """Context.concatenate()."""
    try:
        given = list(parts)
    except TypeError:
        raise argument_error(f"parts are {shown(parts)}, not a sequence") from None
    if not given:
        raise argument_error("parts are none: there is nothing to concatenate")
    if not any(isinstance(each, Tensor) for each in given):
        if out is not None:
            raise argument_error("out is for tensors; of arrays a new one is returned")
        tensors = [context.tensor(seen(each, "parts")) for each in given]
        return concatenate(context, tensors, axis, None, run).read()
    for each in given:
        tensor_pointer(each, context, "parts")
    along = _axis(axis, given[0].ndim)
    given = _in_groups(context, given, axis, run)
    shape = list(given[0].shape)
    shape[along] = sum(each.shape[along] for each in given if each.ndim > along)
    y = _result(context, shape, out)
    pointers = (c_void_p * len(given))(*(each._owned.pointer for each in given))
    last = tensor_pointer(y, context, "out")
    call(context, library.convoy_concatenate, run, along, len(given), pointers, last)
    return y
