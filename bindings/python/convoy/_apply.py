"""Programs on tensors and arrays: who is which operand, and what is made for the results."""

from __future__ import annotations

import ctypes
import functools
import math
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._arrays import as_input, as_output, dtype_like, seen
from ._errors import argument_error
from ._host import call
from ._load import library
from ._program import Program
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import finite, real, shown

if TYPE_CHECKING:
    from ._context import Context

_AXES = "nczhw"
# Which axis the extents of an array of so many are along, as convoy_apply takes them.
_AXES_OF = {1: "c", 2: "nc", 3: "ncw", 4: "nchw", 5: "nczhw"}


@functools.lru_cache(maxsize=None)
def named(name: str) -> Program:
    """A program that every process has once."""
    return Program.named(name)


def _by_name(given: Mapping[str, Any], names: Sequence[str], kind: str) -> Dict[str, Any]:
    unknown = [name for name in given if name not in names]
    if unknown:
        there = ", ".join(names) or "none"
        raise argument_error(f"the program has no {kind} {shown(unknown[0])}; it has {there}")
    return dict(given)


def _inputs(program: Program, given: Tuple[Any, ...]) -> List[Any]:
    """In the order of the program's."""
    names = program.inputs
    if len(given) == 1 and isinstance(given[0], Mapping):
        table = _by_name(given[0], names, "input")
        for name in names:
            if name not in table:
                raise argument_error(f"the program reads {name}, which is not among the inputs")
        return [table[name] for name in names]
    if len(given) != len(names):
        listed = f" ({', '.join(names)})" if names else ""
        raise argument_error(f"{len(given)} inputs for a program with {len(names)}{listed}")
    return list(given)


def _outputs(program: Program, out: Any) -> List[Any]:
    """One for each result, None where there shall be a new one."""
    names = program.results
    if isinstance(out, Mapping):
        table = _by_name(out, names, "result")
        return [table.get(name) for name in names]
    if len(names) == 1 and not isinstance(out, (tuple, list)):
        return [out]
    if out is None:
        return [None] * len(names)
    if not isinstance(out, (tuple, list)) or len(out) != len(names):
        listed = ", ".join(names)
        raise argument_error(f"out is {shown(out)}, not one for each of {listed}, or a mapping")
    return list(out)


# -------------------------------------------------------------------------------------- extents


def _along(shape: Sequence[int]) -> Dict[str, int]:
    return dict(zip(_AXES_OF.get(len(shape), ""), shape))


def _result_shape(program: Program, inputs: Sequence[Tensor]) -> Tuple[int, ...]:
    """As many extents as the input with most; where inputs disagree the library says so."""
    if not inputs:
        raise argument_error("a program without inputs has the extents of out, and none is given")
    extents: Dict[str, int] = {}
    for tensor in inputs:
        for axis, extent in _along(tensor.shape).items():
            if extents.get(axis, 1) == 1:
                extents[axis] = extent
    reduced = program.reduced
    return tuple(1 if axis in reduced else extents[axis] for axis in _AXES if axis in extents)


def _complete(
    context: Context, program: Program, inputs: Sequence[Tensor], outputs: Sequence[Any]
) -> List[Any]:
    """New tensors for the results without one: all results have the same extents."""
    if not any(each is None for each in outputs):
        return list(outputs)
    given = [each.shape for each in outputs if isinstance(each, Tensor)]
    shape = given[0] if given else _result_shape(program, inputs)
    return [Tensor(context, shape) if each is None else each for each in outputs]


# ------------------------------------------------------------------------------------- operands


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.ndim == 0)


def number_tensor(context: Context, value: Any, name: str) -> Tensor:
    """One element for all: a rate, a momentum."""
    number = real(value, name)
    if math.isfinite(number):
        finite(number, name)
    tensor = Tensor(context, (1,))
    tensor.write(np.full(1, number, np.float32))
    return tensor


def _carry_out(
    context: Context,
    program: Program,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    run: Optional[Run],
) -> None:
    read = [tensor_pointer(each, context, name) for each, name in zip(inputs, program.inputs)]
    made = [tensor_pointer(each, context, name) for each, name in zip(outputs, program.results)]
    pointers = (ctypes.c_void_p * len(read))(*read), (ctypes.c_void_p * len(made))(*made)
    call(context, library.convoy_apply, run, program._owned.pointer, *pointers)


def _on_tensors(
    context: Context,
    program: Program,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    run: Optional[Run],
) -> List[Tensor]:
    operands = []
    for value, name in zip(inputs, program.inputs):
        tensor = number_tensor(context, value, name) if _is_number(value) else value
        tensor_pointer(tensor, context, name)  # before its shape is asked for
        operands.append(tensor)
    results = _complete(context, program, operands, outputs)
    _carry_out(context, program, operands, results, run)
    return results


def _copied(context: Context, value: Any, name: str) -> Tensor:
    if _is_number(value):
        return number_tensor(context, value, name)
    array = seen(value, name)
    dtype = dtype_like(array)
    array = as_input(array, name, dtype=dtype)
    tensor = Tensor(context, array.shape, dtype)
    tensor.write(array)
    return tensor


def _places(program: Program, outputs: Sequence[Any]) -> List[Optional[np.ndarray]]:
    """Arrays for the results. They may be inputs, which are copied, but not each other's."""
    places: List[Optional[np.ndarray]] = []
    for value, name in zip(outputs, program.results):
        place = None if value is None else as_output(value, name)
        for other, known in zip(places, program.results):
            if other is not None and place is not None and np.may_share_memory(place, other):
                raise argument_error(f"{known} and {name} overlap")
        places.append(place)
    return places


def _on_arrays(
    context: Context,
    program: Program,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    run: Optional[Run],
) -> List[np.ndarray]:
    """By tensors, which are read as soon as they are computed. Nothing is written before all is."""
    operands = [_copied(context, *pair) for pair in zip(inputs, program.inputs)]
    places = _places(program, outputs)
    made = [None if place is None else Tensor(context, place.shape) for place in places]
    results = _complete(context, program, operands, made)
    _carry_out(context, program, operands, results, run)
    values = [tensor.read() for tensor in results]
    for place, value in zip(places, values):
        if place is not None:
            place[...] = value
    return [value if each is None else each for each, value in zip(outputs, values)]


def apply(
    context: Context, program: Any, inputs: Tuple[Any, ...], out: Any, run: Optional[Run]
) -> Any:
    """Context.apply()."""
    if not isinstance(program, Program):
        raise argument_error(f"program is {shown(program)}, not a convoy.Program")
    given, outputs = _inputs(program, inputs), _outputs(program, out)
    with_tensors = any(isinstance(each, Tensor) for each in (*given, *outputs))
    results = (_on_tensors if with_tensors else _on_arrays)(context, program, given, outputs, run)
    return results[0] if len(results) == 1 else tuple(results)
