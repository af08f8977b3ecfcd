"""padding="same" and "valid": PyTorch's shapes and PyTorch's values."""

import numpy
import pytest
from numpy.testing import assert_array_equal

import convoy
from cases import integers

# extents of the input, of the filter, dilation: odd and even, of every rank
SAME = [
    ((9,), (3,), 1),
    ((9,), (4,), 1),
    ((8,), (4,), 3),
    ((7, 6), (3, 5), 1),
    ((7, 6), (2, 4), (3, 1)),
    ((5, 6), (1, 2), 1),
    ((3, 3), (5, 6), 1),
    ((4, 5, 6), (2, 3, 4), (1, 2, 3)),
]


def operands(extents, filters, groups=1):
    x, w = integers((2, 4, *extents), 1), integers((6, 4 // groups, *filters), 2)
    return x, w


@pytest.mark.parametrize("extents, filters, dilation", SAME)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.filterwarnings("ignore:Using padding='same' with even:UserWarning")
def test_same_and_valid_are_pytorchs(context, extents, filters, dilation, groups):
    torch = pytest.importorskip("torch", reason="PyTorch is not there")
    convolve = getattr(torch.nn.functional, f"conv{len(extents)}d")
    x, w = operands(extents, filters, groups)
    roomy = operands([extent + 9 for extent in extents], filters, groups)[0]
    for word, values in ("same", x), ("valid", roomy):
        keywords = {"padding": word, "dilation": dilation, "groups": groups}
        wanted = convolve(torch.from_numpy(values), torch.from_numpy(w), **keywords).numpy()
        assert_array_equal(context.forward(values, w, **keywords), wanted)
        assert convoy.output_shape(values.shape, w.shape, **keywords) == wanted.shape


@pytest.mark.parametrize("extents, filters, dilation", SAME)
def test_the_result_has_the_inputs_extents(context, extents, filters, dilation):
    x, w = operands(extents, filters)
    keywords = {"padding": "same", "dilation": dilation}
    y = context.forward(x, w, **keywords)
    assert y.shape[2:] == extents
    assert context.backward_data(y, w, x.shape, **keywords).shape == x.shape
    assert context.backward_weights(x, y, w.shape, **keywords).shape == w.shape
    tensors = context.tensor(x), context.tensor(w)
    assert_array_equal(context.forward(*tensors, **keywords).read(), y)
    text = convoy.format_problem("forward", x.shape, w.shape, **keywords)
    assert convoy.parse_problem(text).x_shape == x.shape


def test_the_odd_one_is_at_the_end(context):
    x, w = numpy.ones((1, 1, 4), numpy.float32), numpy.ones((1, 1, 4), numpy.float32)
    assert_array_equal(context.forward(x, w, padding="same"), [[[3, 4, 3, 2]]])
    text = convoy.format_problem("forward", x.shape, w.shape, padding="same")
    assert "pad1:2" in text


@pytest.mark.parametrize(
    "keywords, words",
    [
        ({"padding": "same", "stride": 2}, r"stride 1, not \[2, 2\].*write padding in numbers"),
        ({"padding": "same", "stride": (1, 2)}, r"stride 1, not \[1, 2\]"),
        ({"padding": "same", "transposed": True}, "transposed.*numbers"),
        ({"padding": "valid", "transposed": True}, 'transposed.*0 for "valid"'),
        ({"padding": "full"}, "'full', not \"same\", \"valid\" or numbers"),
        ({"padding": "SAME"}, "'SAME'"),
        ({"padding": ("same", 0)}, "'same', not an integer"),
        ({"padding": b"same"}, "b'same'"),
        ({"padding": "same", "dilation": 2**62}, "dilation|padding|64 bits"),
        ({"padding": "same", "dilation": 0}, "dilation.*0"),
        ({"padding": "same", "dilation": -1}, "dilation.*-1"),
        ({"padding": "same", "dilation": (1, 1, 1)}, "dilation has 3 entries"),
        ({"stride": "same"}, "stride is 'same', not an integer"),
    ],
)
def test_what_it_does_not_go_with(context, keywords, words):
    x, w = numpy.ones((1, 3, 7, 8), numpy.float32), numpy.ones((3, 3, 3, 4), numpy.float32)
    with pytest.raises(convoy.ArgumentError, match=words):
        context.forward(x, w, **keywords)


def test_shapes_are_checked_first(context):
    with pytest.raises(convoy.ShapeError, match=r"\(1, 3, 7\)"):
        context.forward(numpy.ones((1, 3, 7), numpy.float32), numpy.ones((3, 3), numpy.float32))
    with pytest.raises(convoy.ShapeError, match="0"):
        convoy.output_shape((1, 3, 7), (3, 3, 0), padding="same")


def test_under_pytorch():
    """Where PyTorch pads before it convolves, and where it does not."""
    torch = pytest.importorskip("torch", reason="PyTorch is not there")
    import convoy.torch

    for filters in (3, 4):
        model = torch.nn.Conv2d(2, 3, filters, padding="same")
        x = torch.randn(1, 2, 6, 7)
        wanted = model(x)
        with convoy.torch.enabled("cpu", route="convoy"):
            torch.testing.assert_close(model(x), wanted)
            assert sum(convoy.torch.counts().values()) == 1
            assert ("cpu", "forward", "") in convoy.torch.counts()
