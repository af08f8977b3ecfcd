"""Pooling against its definition in numpy, PyTorch's where it is there, and differences."""

import convoy
import numpy
import pytest
from numpy.testing import assert_allclose

FLOAT = numpy.float32


def _windows(extent, window, stride, padding):
    """(begin, end) of each along an axis, inside the map."""
    count = (extent + 2 * padding - window) // stride + 1
    starts = [i * stride - padding for i in range(count)]
    return [(max(at, 0), min(at + window, extent)) for at in starts]


def _pool(x, window, stride, padding, count_padding):
    rows = _windows(x.shape[2], window, stride, padding)
    columns = _windows(x.shape[3], window, stride, padding)
    y = numpy.empty(x.shape[:2] + (len(rows), len(columns)))
    for i, (top, bottom) in enumerate(rows):
        for j, (left, right) in enumerate(columns):
            part = x[:, :, top:bottom, left:right].astype(float)
            size = window * window if count_padding else part.shape[2] * part.shape[3]
            y[:, :, i, j] = part.sum((2, 3)) / size
    return y


CASES = [(2, 2, 0, False), (3, 1, 1, False), (3, 2, 1, True), (5, 3, 2, False)]


@pytest.mark.parametrize("window, stride, padding, count_padding", CASES)
def test_means_and_gradients(window, stride, padding, count_padding):
    random = numpy.random.default_rng(1)
    keywords = {"stride": stride, "padding": padding, "count_padding": count_padding}
    x = random.standard_normal((2, 3, 9, 11)).astype(FLOAT)
    with convoy.Context(device="cpu") as context:
        wanted = _pool(x, window, stride, padding, count_padding)
        assert_allclose(context.average_pool(x, window, **keywords), wanted, atol=1e-6)
        tensor = context.tensor(x)
        y = context.average_pool(tensor, window, **keywords)
        assert y.shape == wanted.shape
        assert context.average_pool(tensor, window, out=y, **keywords) is y
        dy = random.standard_normal(wanted.shape).astype(FLOAT)
        dx = context.average_pool_backward(context.tensor(dy), x.shape, window, **keywords).numpy()
        other = random.standard_normal(x.shape).astype(FLOAT)
        moved = _pool(other, window, stride, padding, count_padding)
        assert abs((dx.astype(float) * other).sum() - (dy * moved).sum()) < 1e-3
        array = context.average_pool_backward(dy, x.shape, window, **keywords)
        assert (array == dx).all()


def test_windows_are_apart_unless_a_stride_is_given():
    x = numpy.arange(16, dtype=FLOAT).reshape(1, 1, 4, 4)
    with convoy.Context(device="cpu") as context:
        assert (context.average_pool(x, 2) == [[[[2.5, 4.5], [10.5, 12.5]]]]).all()
        assert context.average_pool(x, (1, 4)).shape == (1, 1, 4, 1)


def test_what_is_wrong_is_said():
    x = numpy.zeros((1, 1, 4, 4), FLOAT)
    with convoy.Context(device="cpu") as context:
        tensor = context.tensor(x)
        with pytest.raises(convoy.ArgumentError, match="padding 2 and 2 of axis 0"):
            context.average_pool(tensor, 2, padding=2)
        with pytest.raises(convoy.ArgumentError, match="3 entries for 2 axes"):
            context.average_pool(x, (1, 2, 3))
        with pytest.raises(convoy.ShapeError):
            context.average_pool(tensor, 5)
        with pytest.raises(convoy.ShapeError, match="2 extents"):
            context.average_pool(x[0, 0], 2)
        with pytest.raises(convoy.ArgumentError, match="out is for tensors"):
            context.average_pool(x, 2, out=x)
        with pytest.raises(convoy.ShapeError, match="extent 2 of y is 4, not 2"):
            context.average_pool(tensor, 2, out=context.tensor((1, 1, 4, 4)))


def _windows_of(x, extent, stride, padding, dilation):
    """All windows of a map, as an array [n][c][oz][oh][ow][elements], padded with -inf."""
    rank = len(extent)
    padded = numpy.pad(
        x, [(0, 0), (0, 0)] + [(each, each) for each in padding], constant_values=-numpy.inf
    )
    reach = [(e - 1) * d + 1 for e, d in zip(extent, dilation)]
    view = numpy.lib.stride_tricks.sliding_window_view(padded, reach, tuple(range(2, 2 + rank)))
    steps = (slice(None), slice(None)) + tuple(slice(None, None, s) for s in stride)
    gaps = tuple(slice(None, None, d) for d in dilation)
    some = view[steps][(Ellipsis, *gaps)]
    return some.reshape(some.shape[: 2 + rank] + (-1,))


MAXIMA = [
    ((9,), 2, None, 0, 1),
    ((50,), 5, 3, 2, 2),
    ((8, 10), 2, None, 0, 1),
    ((9, 11), 3, 1, 1, 1),
    ((9, 12), (3, 2), (2, 1), (1, 0), (1, 3)),
    ((5, 6, 7), 2, 2, 1, 1),
]


@pytest.mark.parametrize("extents, window, stride, padding, dilation", MAXIMA)
def test_maxima_and_gradients(extents, window, stride, padding, dilation):
    random = numpy.random.default_rng(2)
    axes = [
        each if isinstance(each, tuple) else (each,) * len(extents)
        for each in (window, window if stride is None else stride, padding, dilation)
    ]
    keywords = {"stride": stride, "padding": padding, "dilation": dilation}
    x = random.standard_normal((2, 3, *extents)).astype(FLOAT)
    wanted = _windows_of(x, *axes).max(-1)
    with convoy.Context(device="cpu") as context:
        assert (context.max_pool(x, window, **keywords) == wanted).all()
        tensor = context.tensor(x)
        y = context.max_pool(tensor, window, **keywords)
        assert y.shape == wanted.shape
        assert context.max_pool(tensor, window, out=y, **keywords) is y
        dy = random.standard_normal(wanted.shape).astype(FLOAT)
        dx = context.max_pool_backward(x, dy, window, **keywords)
        tensors = context.max_pool_backward(tensor, context.tensor(dy), window, **keywords)
        assert (tensors.numpy() == dx).all()
        # Between x and x + h each maximum stays where it is: its difference is the gradient.
        h = 1e-6 * random.standard_normal(x.shape)
        moved = _windows_of(x + h, *axes).max(-1) - wanted.astype(float)
        assert abs((dx * h).sum() - (dy * moved).sum()) < 1e-9


def _torch_call(torch, x, kind, rank, window, keywords):
    tensor = torch.tensor(x, requires_grad=True)
    y = getattr(torch.nn.functional, f"{kind}_pool{rank}d")(tensor, window, **keywords)
    dy = torch.linspace(-1, 1, y.numel()).reshape(y.shape)
    y.backward(dy)
    return y.detach().numpy(), dy.numpy(), tensor.grad.numpy()


TORCH = [
    (1, 3, {"stride": 2, "padding": 1, "ceil_mode": True}),
    (2, 2, {"ceil_mode": True}),
    (2, 3, {"stride": 2, "padding": 1}),
    (2, 5, {"stride": 1, "padding": 2}),
    (2, (3, 2), {"stride": (2, 3), "padding": (1, 1), "ceil_mode": True}),
    (3, 2, {"stride": 2, "padding": 1, "ceil_mode": True}),
]


@pytest.mark.parametrize("rank, window, keywords", TORCH)
@pytest.mark.parametrize("values", ["real", "equal", "nan"])
def test_as_pytorch(rank, window, keywords, values):
    torch = pytest.importorskip("torch")
    random = numpy.random.default_rng(rank)
    x = random.standard_normal((2, 3, *(9, 12, 7)[:rank])).astype(FLOAT)
    if values == "equal":
        x = numpy.round(x)
    if values == "nan":
        x[random.random(x.shape) < 0.1] = numpy.nan
    with convoy.Context(device="cpu") as context:
        y, dy, dx = _torch_call(torch, x, "max", rank, window, keywords)
        assert numpy.array_equal(context.max_pool(x, window, **keywords), y, equal_nan=True)
        assert_allclose(context.max_pool_backward(x, dy, window, **keywords), dx, atol=1e-6)
        if values == "nan":
            return
        for counts in (False, True):
            both = {**keywords, "count_include_pad": counts}
            y, dy, dx = _torch_call(torch, x, "avg", rank, window, both)
            mine = {**keywords, "count_padding": counts}
            assert_allclose(context.average_pool(x, window, **mine), y, atol=1e-6)
            got = context.average_pool_backward(dy, x.shape, window, **mine)
            assert_allclose(got, dx, atol=1e-6)


def test_dilated_as_pytorch():
    torch = pytest.importorskip("torch")
    x = numpy.random.default_rng(3).standard_normal((1, 2, 13, 17)).astype(FLOAT)
    keywords = {"stride": 2, "padding": 1, "dilation": (2, 3), "ceil_mode": True}
    y, dy, dx = _torch_call(torch, x, "max", 2, 3, keywords)
    with convoy.Context(device="cpu") as context:
        assert (context.max_pool(x, 3, **keywords) == y).all()
        assert_allclose(context.max_pool_backward(x, dy, 3, **keywords), dx, atol=1e-6)


def test_what_is_wrong_with_maxima_is_said():
    x = numpy.zeros((1, 1, 4, 4), FLOAT)
    with convoy.Context(device="cpu") as context:
        tensor = context.tensor(x)
        with pytest.raises(convoy.ArgumentError, match="padding 2 and 2 of axis 0"):
            context.max_pool(tensor, 2, padding=2)
        with pytest.raises(convoy.ShapeError, match="extent 2 of dy is 4, not 2"):
            context.max_pool_backward(x, x, 2)
        with pytest.raises(convoy.ArgumentError, match="out is for tensors"):
            context.max_pool_backward(x, x[:, :, :2, :2], 2, out=x)
        with pytest.raises(convoy.ShapeError, match="extent 2 of dx is 2, not 4"):
            dy = context.tensor((1, 1, 2, 2))
            context.max_pool_backward(tensor, dy, 2, out=dy)
