"""What happens to arrays on their way in and out: nothing needless, nothing silent."""

import array
import tracemalloc

import numpy
import pytest
from numpy.testing import assert_array_equal

import convoy
from convoy._arrays import as_input, as_output, pointer


class Interface:
    """Something that is no numpy array but has the array interface."""

    def __init__(self, held):
        self.held = held
        self.__array_interface__ = held.__array_interface__


def address(value):
    return int(numpy.asarray(value).__array_interface__["data"][0])


def test_contiguous_float32_is_passed_as_it_is(operands):
    x = operands[0]
    assert as_input(x, "x") is x
    assert as_output(x, "out", x.shape) is x
    assert address(pointer(x).contents) == x.ctypes.data


@pytest.mark.parametrize(
    "wrap",
    [Interface, memoryview, lambda held: held[:], lambda held: held.view(numpy.matrix)[:1]],
    ids=["interface", "buffer", "view", "subclass"],
)
def test_other_views_share_their_memory(wrap):
    held = numpy.zeros((1, 4), numpy.float32)
    assert address(as_input(wrap(held), "x")) == held.ctypes.data
    assert address(as_output(wrap(held), "out", (1, 4))) == held.ctypes.data


def test_no_hidden_copies(context):
    """A call with `out` allocates next to nothing in Python, whatever the size of its arrays."""
    x = numpy.ones((4, 8, 128, 128), numpy.float32)
    w = numpy.ones((8, 8, 1, 1), numpy.float32)
    out = numpy.empty_like(x)
    context.forward(x, w, out=out)
    tracemalloc.start()
    context.forward(x, w, out=out)
    context.backward_data(out, w, x.shape, out=x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000 < x.nbytes


def test_result_lands_in_out(context, operands):
    x, w, _ = operands
    out = numpy.full((2, 4, 6, 7), numpy.nan, numpy.float32)
    assert context.forward(x, w, out=out) is out
    assert_array_equal(out, context.forward(x, w))


def test_buffers_as_output(context, operands):
    x, w, _ = operands
    held = array.array("f", bytes(4 * 2 * 4 * 6 * 7))
    context.forward(x, w, out=memoryview(held).cast("B").cast("f", [2, 4, 6, 7]))
    assert_array_equal(numpy.array(held).reshape(2, 4, 6, 7), context.forward(x, w))
    other = numpy.zeros((2, 4, 6, 7), numpy.float32)
    context.forward(Interface(x), w, out=Interface(other))
    assert_array_equal(other, context.forward(x, w))


def test_other_layouts_of_inputs(context, operands):
    x, w, _ = operands
    expected = context.forward(x, w)
    fortran = numpy.asfortranarray(x)
    spaced = numpy.repeat(x, 2, axis=3)[..., ::2]
    backwards = numpy.ascontiguousarray(x[..., ::-1])[..., ::-1]
    swapped = x.astype(x.dtype.newbyteorder())
    odd = numpy.zeros(x.nbytes + 1, numpy.uint8)[1:].view(numpy.float32).reshape(x.shape)
    odd[...] = x
    assert not odd.flags.aligned and as_input(odd, "x").flags.aligned
    for other in (fortran, spaced, backwards, swapped, odd):
        assert_array_equal(context.forward(other, w), expected)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64", "bool", "complex64"])
@pytest.mark.parametrize("name", ["x", "w", "bias", "out"])
def test_other_dtypes_are_refused(context, operands, name, dtype):
    x, w, _ = operands
    given = {"x": x, "w": w, "bias": numpy.zeros(4, numpy.float32)}
    given["out"] = numpy.zeros((2, 4, 6, 7), numpy.float32)
    given[name] = given[name].astype(dtype)
    with pytest.raises(convoy.ArgumentError, match=f"{name} is {dtype}.*float32"):
        context.forward(**given)


@pytest.mark.parametrize(
    "given, words",
    [
        ([[1.0], [1.0, 2.0]], "x is a list that numpy cannot read: .*inhomogeneous"),
        ("text", "x is <U4, Convoy computes in float32"),
        (None, "x is object, Convoy computes in float32"),
    ],
)
def test_what_is_no_array(context, operands, given, words):
    with pytest.raises(convoy.ArgumentError, match=words):
        context.forward(given, operands[1])


def test_torch_tensors_that_numpy_does_not_read(context, operands):
    torch = pytest.importorskip("torch", reason="PyTorch is not there")
    x, w, _ = operands
    for given, words in [
        (torch.from_numpy(x).requires_grad_(), "x is a Tensor.*requires grad"),
        (torch.from_numpy(x).bfloat16(), "x is a Tensor.*BFloat16"),
        (torch.from_numpy(x).to_sparse(), "x is a Tensor.*[Ss]parse"),
    ]:
        with pytest.raises(convoy.ArgumentError, match=words):
            context.forward(given, w)


def test_read_only_output(context, operands):
    x, w, _ = operands
    out = numpy.zeros((2, 4, 6, 7), numpy.float32)
    out.flags.writeable = False
    with pytest.raises(convoy.ArgumentError, match="read-only"):
        context.forward(x, w, out=out)
    with pytest.raises(convoy.ArgumentError, match="read-only"):
        context.forward(x, w, out=memoryview(out))
    assert not out.any()


def test_read_only_inputs_are_fine(context, operands):
    x, w, _ = operands
    frozen = x.copy()
    frozen.flags.writeable = False
    assert_array_equal(context.forward(frozen, w), context.forward(x, w))


@pytest.mark.parametrize("make", [numpy.asfortranarray, lambda a: numpy.repeat(a, 2, 3)[..., ::2]])
def test_output_in_another_layout(context, operands, make):
    x, w, _ = operands
    out = make(numpy.zeros((2, 4, 6, 7), numpy.float32))
    with pytest.raises(convoy.ArgumentError, match="C order"):
        context.forward(x, w, out=out)


class OnlyCopies:
    """numpy gets a new array from it each time: what is written there is lost."""

    def __array__(self, dtype=None, copy=None):
        return numpy.zeros((2, 4, 6, 7), numpy.float32)


def test_output_without_memory(context, operands):
    x, w, _ = operands
    with pytest.raises(convoy.ArgumentError, match="OnlyCopies"):
        context.forward(x, w, out=OnlyCopies())


def test_overlap(context):
    memory = numpy.zeros(2 * 3 * 5 * 5 + 10, numpy.float32)
    x = memory[: 2 * 3 * 5 * 5].reshape(2, 3, 5, 5)
    w = numpy.ones((3, 1, 1, 1), numpy.float32)
    for start in (0, 10):
        out = memory[start : start + x.size].reshape(x.shape)
        with pytest.raises(convoy.ArgumentError, match="overlaps"):
            context.forward(x, w, groups=3, out=out)


def test_torch_tensor_as_input(context, operands):
    torch = pytest.importorskip("torch", reason="PyTorch is not there")
    x, w, _ = operands
    tensor = torch.from_numpy(x)
    assert address(as_input(tensor, "x")) == tensor.data_ptr()
    assert_array_equal(context.forward(tensor, torch.from_numpy(w)), context.forward(x, w))


def test_shared_zeros(context, operands):
    x, w, _ = operands
    shared = context.shared_zeros((2, 4, 6, 7))
    assert shared.shape == (2, 4, 6, 7) and not shared.any() and shared.ctypes.data % 4096 == 0
    context.forward(x, w, out=shared)
    view = shared[1:]
    del shared
    assert_array_equal(view, context.forward(x, w)[1:])
    assert context.shared_zeros((3, 0)).shape == (3, 0)
    with pytest.raises(convoy.ShapeError, match="negative"):
        context.shared_zeros((3, -1))
