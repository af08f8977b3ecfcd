"""Average pooling against its definition in numpy, and against differences."""

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
