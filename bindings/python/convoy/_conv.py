"""The geometry keywords of every operation, and what follows from shapes alone.

stride, dilation, output_padding: one int for all spatial axes, or one per axis, outermost first.
padding: likewise; an entry may also be a pair (begin, end). In elements.
groups: int. transposed: bool, weights then [C][K/groups][T][R][S], as in PyTorch.
"""

from __future__ import annotations

import ctypes
import functools
import operator
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, TypedDict, Union, cast

from ._errors import argument_error, check, shape_error
from ._lib import (
    MAX_DIMS,
    MAX_RANK,
    PROBLEM_TEXT,
    Activation,
    Axes,
    ConvStruct,
    Direction,
    EpilogueStruct,
)
from ._load import library
from ._records import Problem

if TYPE_CHECKING:
    from typing_extensions import Unpack

PerAxis = Union[int, Sequence[int]]
Padding = Union[int, Sequence[Union[int, Tuple[int, int]]]]
Shape = Sequence[int]


class Geometry(TypedDict, total=False):
    """The keywords; what is left out is 1, 0 or False."""

    stride: PerAxis
    padding: Padding
    dilation: PerAxis
    groups: int
    transposed: bool
    output_padding: PerAxis


def integer(value: Any, name: str) -> int:
    """An int that fits 64 bits: ctypes would cut a longer one without a word."""
    try:
        number = operator.index(value)
    except TypeError:
        raise argument_error(f"{name} is {value!r}, not an integer") from None
    if not -(2**63) <= number < 2**63:
        raise argument_error(f"{name} is {number}, which does not fit 64 bits")
    return number


def per_axis(value: Any, rank: int, name: str) -> List[Any]:
    """One entry per spatial axis."""
    if not hasattr(value, "__len__") or getattr(value, "shape", None) == ():
        return [value] * rank
    if len(value) != rank:
        raise argument_error(f"{name} has {len(value)} entries for {rank} spatial axes: {value!r}")
    return list(value)


def _axes(value: Any, rank: int, name: str) -> Any:
    return Axes(*(integer(entry, name) for entry in per_axis(value, rank, name)))


def _sides(padding: Any, rank: int) -> Tuple[Any, Any]:
    pairs = []
    for entry in per_axis(padding, rank, "padding"):
        begin, end = per_axis(entry, 2, "padding of an axis")
        pairs.append((integer(begin, "padding"), integer(end, "padding")))
    return Axes(*(pair[0] for pair in pairs)), Axes(*(pair[1] for pair in pairs))


def conv_struct(
    rank: int,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    transposed: bool = False,
    output_padding: PerAxis = 0,
) -> ConvStruct:
    """The keywords as the library's struct; what is legal is the library's to say."""
    if not 1 <= rank <= MAX_RANK:
        raise shape_error(
            f"{rank + 2} extents: a convolution has 3, 4 or 5, batch and channels first"
        )
    begin, end = _sides(padding, rank)
    return ConvStruct(
        rank=rank,
        transposed=bool(transposed),
        groups=integer(groups, "groups"),
        stride=_axes(stride, rank, "stride"),
        pad_begin=begin,
        pad_end=end,
        dilation=_axes(dilation, rank, "dilation"),
        output_padding=_axes(output_padding, rank, "output_padding"),
    )


_ACTIVATIONS = {
    None: Activation.IDENTITY,
    "relu": Activation.RELU,
    "leaky_relu": Activation.LEAKY_RELU,
}


def epilogue_struct(activation: Optional[str], slope: float) -> EpilogueStruct:
    if activation not in _ACTIVATIONS:
        raise argument_error(f'activation is {activation!r}, not None, "relu" or "leaky_relu"')
    return EpilogueStruct(activation=_ACTIVATIONS[activation], slope=slope)


def extents(shape: Shape, name: str = "shape") -> Any:
    """A shape as the library reads it: at least 5 entries, so that none is read beyond."""
    numbers = [integer(extent, name) for extent in shape]
    return (ctypes.c_int64 * max(len(numbers), MAX_DIMS))(*numbers)


class Layout:
    """One convolution with its shapes: checked by the library, ready to be passed to it."""

    def __init__(self, x_shape: Shape, w_shape: Shape, geometry: Geometry) -> None:
        self.x_shape = tuple(x_shape)
        self.w_shape = tuple(w_shape)
        rank = len(self.x_shape) - 2
        self.conv = conv_struct(rank, **geometry)
        if len(self.w_shape) != rank + 2:
            raise shape_error(f"x has shape {self.x_shape} and w {self.w_shape}: as many extents")
        self.x_extents = extents(self.x_shape, "x_shape")
        self.w_extents = extents(self.w_shape, "w_shape")
        y_extents = (ctypes.c_int64 * MAX_DIMS)()
        check(library.convoy_output_shape(self.conv, self.x_extents, self.w_extents, y_extents))
        self.y_shape = tuple(y_extents[: rank + 2])


@functools.lru_cache(maxsize=1024)
def _remembered(x_shape: Tuple[int, ...], w_shape: Tuple[int, ...], **geometry: Any) -> Layout:
    return Layout(x_shape, w_shape, cast(Geometry, geometry))


def layout(x_shape: Shape, w_shape: Shape, geometry: Geometry) -> Layout:
    """The layout of a call. A training repeats the same few: they are remembered."""
    try:
        return _remembered(tuple(x_shape), tuple(w_shape), **geometry)
    except TypeError:  # a list in the geometry cannot be remembered
        return Layout(x_shape, w_shape, geometry)


def output_shape(x_shape: Shape, w_shape: Shape, **geometry: Unpack[Geometry]) -> Tuple[int, ...]:
    """Shape of y for shapes of x and w: [N][K] and per spatial axis, with dilation d, filter f and
    both paddings p, floor((i + p - d (f - 1) - 1) / stride) + 1; transposed:
    (i - 1) stride - p + d (f - 1) + output_padding + 1.
    """
    return layout(x_shape, w_shape, geometry).y_shape


def direction_of(value: Union[str, int]) -> Direction:
    """A direction by name ("backward_data") or value."""
    try:
        return Direction[value.upper()] if isinstance(value, str) else Direction(value)
    except (KeyError, ValueError):
        names = ", ".join(direction.name.lower() for direction in Direction)
        raise argument_error(f"direction is {value!r}, not one of {names}") from None


def flops(
    direction: Union[str, int], x_shape: Shape, w_shape: Shape, **geometry: Unpack[Geometry]
) -> float:
    """Multiplications and additions of one direction, every tap counted for every output."""
    at = layout(x_shape, w_shape, geometry)
    problem = at.conv, direction_of(direction), at.x_extents, at.w_extents
    return float(library.convoy_flops(*problem))


def format_problem(
    direction: Union[str, int], x_shape: Shape, w_shape: Shape, **geometry: Unpack[Geometry]
) -> str:
    """One line of the shape grammar, such as "n2c6h17w14 k4r3s4 stride2,5 forward"."""
    at = layout(x_shape, w_shape, geometry)
    problem = at.conv, at.x_extents, at.w_extents, direction_of(direction)
    text = ctypes.create_string_buffer(PROBLEM_TEXT)
    check(library.convoy_format_problem(*problem, text, PROBLEM_TEXT))
    return text.value.decode()


def parse_problem(text: str) -> Problem:
    """A line of the shape grammar (convoy.h has it) taken apart."""
    conv = ConvStruct()
    x_extents, w_extents = (ctypes.c_int64 * MAX_DIMS)(), (ctypes.c_int64 * MAX_DIMS)()
    direction = ctypes.c_int()
    check(library.convoy_parse_problem(text.encode(), conv, x_extents, w_extents, direction))
    dims = conv.rank + 2
    shapes = tuple(x_extents[:dims]), tuple(w_extents[:dims])
    return Problem(Direction(direction.value), *shapes, _keywords(conv))


def _keywords(conv: ConvStruct) -> Dict[str, Any]:
    rank = conv.rank
    return {
        "stride": tuple(conv.stride[:rank]),
        "padding": tuple(zip(conv.pad_begin[:rank], conv.pad_end[:rank])),
        "dilation": tuple(conv.dilation[:rank]),
        "groups": conv.groups,
        "transposed": bool(conv.transposed),
        "output_padding": tuple(conv.output_padding[:rank]),
    }
