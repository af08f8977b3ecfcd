"""The geometry keywords of every operation, and what follows from shapes alone.

stride, dilation, output_padding: one int for all spatial axes, or one per axis, outermost first.
padding: likewise; an entry may also be a pair (begin, end). In elements. Or "valid" or "same".
groups: int. transposed: bool, weights then [C][K/groups][T][R][S], as in PyTorch.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, TypedDict, Union

from ._errors import argument_error, check, shape_error
from ._keywords import keywords
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
from ._padding import in_numbers
from ._records import Problem
from ._values import are_integers, c_text, finite, flag, integer, member, one_of, shape_of, shown

if TYPE_CHECKING:
    from typing_extensions import Unpack

PerAxis = Union[int, Sequence[int]]
Padding = Union[int, str, Sequence[Union[int, Tuple[int, int]]]]
Shape = Sequence[int]


class Geometry(TypedDict, total=False):
    """The keywords; what is left out is 1, 0 or False."""

    stride: PerAxis
    padding: Padding
    dilation: PerAxis
    groups: int
    transposed: bool
    output_padding: PerAxis


def _has_entries(value: Any) -> bool:
    scalar = isinstance(value, (str, bytes)) or getattr(value, "shape", None) == ()
    return hasattr(value, "__len__") and not scalar


def per_axis(value: Any, rank: int, name: str) -> List[Any]:
    """One entry per spatial axis."""
    if not _has_entries(value):
        return [value] * rank
    if len(value) != rank:
        raise argument_error(f"{name} has {len(value)} entries for {rank} axes: {shown(value)}")
    return list(value)


def _axes(value: Any, rank: int, name: str) -> Any:
    return Axes(*(integer(entry, name) for entry in per_axis(value, rank, name)))


def sides(padding: Any, rank: int) -> Tuple[Any, Any]:
    pairs = []
    for entry in per_axis(padding, rank, "padding"):
        begin, end = per_axis(entry, 2, "padding of an axis")
        pairs.append((integer(begin, "padding"), integer(end, "padding")))
    return Axes(*(pair[0] for pair in pairs)), Axes(*(pair[1] for pair in pairs))


def _rank_of(x_shape: Shape, w_shape: Shape) -> int:
    if not 3 <= len(x_shape) <= MAX_DIMS:
        raise shape_error(
            f"{len(x_shape)} extents: a convolution has 3, 4 or 5, batch and channels first"
        )
    if len(w_shape) != len(x_shape):
        raise shape_error(f"x has shape {x_shape} and w {w_shape}: as many extents")
    return len(x_shape) - 2


def conv_struct(
    filters: Sequence[int],
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    transposed: bool = False,
    output_padding: PerAxis = 0,
) -> ConvStruct:
    """The keywords as the library's struct; what is legal is the library's to say.

    filters: the extents of the filter, one per spatial axis."""
    rank = len(filters)
    if isinstance(padding, str):
        steps = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
        padding = in_numbers(padding, filters, *steps, transposed)
    begin, end = sides(padding, rank)
    return ConvStruct(
        rank=rank,
        transposed=transposed,
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
    kind = one_of(activation, _ACTIVATIONS, "activation")
    return EpilogueStruct(activation=kind, slope=finite(slope, "slope"))


def extents(shape: Shape, name: str = "shape") -> Any:
    """A shape as the library reads it: at least 5 entries, so that none is read beyond."""
    numbers = shape_of(shape, name)
    return (ctypes.c_int64 * max(len(numbers), MAX_DIMS))(*numbers)


class Layout:
    """One convolution with its shapes: checked by the library, ready to be passed to it."""

    def __init__(
        self, x_shape: Tuple[int, ...], w_shape: Tuple[int, ...], geometry: Dict[str, Any]
    ) -> None:
        self.x_shape, self.w_shape = x_shape, w_shape
        rank = _rank_of(x_shape, w_shape)
        self.conv = conv_struct(w_shape[2:], **geometry)
        self.x_extents = extents(self.x_shape, "x_shape")
        self.w_extents = extents(self.w_shape, "w_shape")
        y_extents = (ctypes.c_int64 * MAX_DIMS)()
        check(library.convoy_output_shape(self.conv, self.x_extents, self.w_extents, y_extents))
        self.y_shape = tuple(y_extents[: rank + 2])


@functools.lru_cache(maxsize=1024)
def _remembered(x_shape: Tuple[int, ...], w_shape: Tuple[int, ...], **geometry: Any) -> Layout:
    return Layout(x_shape, w_shape, geometry)


def _integers(value: Any, name: str, levels: int = 2) -> Any:
    """An integer, or a tuple of what its entries are; pairs of paddings are the second level."""
    if type(value) is int or are_integers(value):
        return value
    if levels == 0 or not _has_entries(value):
        return integer(value, name)
    return tuple(_integers(entry, name, levels - 1) for entry in value)


def _plain(value: Any, name: str) -> Any:
    """A keyword's value as it is remembered by: 1.0 equals 1, and shall not be taken for it."""
    if name == "transposed":
        return flag(value, name)
    return value if name == "padding" and isinstance(value, str) else _integers(value, name)


def layout(x_shape: Shape, w_shape: Shape, geometry: Geometry) -> Layout:
    """The layout of a call. A training repeats the same few: they are remembered."""
    shapes = shape_of(x_shape, "x_shape"), shape_of(w_shape, "w_shape")
    plain = {name: _plain(value, name) for name, value in geometry.items()}
    return _remembered(*shapes, **plain)


@keywords(Geometry)
def output_shape(x_shape: Shape, w_shape: Shape, **geometry: Unpack[Geometry]) -> Tuple[int, ...]:
    """Shape of y for shapes of x and w: [N][K] and per spatial axis, with dilation d, filter f and
    both paddings p, floor((i + p - d (f - 1) - 1) / stride) + 1; transposed:
    (i - 1) stride - p + d (f - 1) + output_padding + 1.
    """
    return layout(x_shape, w_shape, geometry).y_shape


def direction_of(value: Union[str, int]) -> Direction:
    """A direction by name ("backward_data") or value."""
    return member(value, Direction, "direction")


@keywords(Geometry)
def flops(
    direction: Union[str, int], x_shape: Shape, w_shape: Shape, **geometry: Unpack[Geometry]
) -> float:
    """Multiplications and additions of one direction, every tap counted for every output."""
    at = layout(x_shape, w_shape, geometry)
    problem = at.conv, direction_of(direction), at.x_extents, at.w_extents
    return float(library.convoy_flops(*problem))


@keywords(Geometry)
def format_problem(
    direction: Union[str, int], x_shape: Shape, w_shape: Shape, **geometry: Unpack[Geometry]
) -> str:
    """One line of the shape grammar, such as "n2c6h17w14 k4r3s4 stride2,5 forward"."""
    at = layout(x_shape, w_shape, geometry)
    problem = at.conv, at.x_extents, at.w_extents, direction_of(direction)
    text = ctypes.create_string_buffer(PROBLEM_TEXT)
    check(library.convoy_format_problem(*problem, text, PROBLEM_TEXT))
    return text.value.decode()


@keywords()
def parse_problem(text: str) -> Problem:
    """A line of the shape grammar (convoy.h has it) taken apart."""
    conv = ConvStruct()
    x_extents, w_extents = (ctypes.c_int64 * MAX_DIMS)(), (ctypes.c_int64 * MAX_DIMS)()
    direction = ctypes.c_int()
    line = c_text(text, "problem")
    check(library.convoy_parse_problem(line, conv, x_extents, w_extents, direction))
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
