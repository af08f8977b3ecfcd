"""Matrix products against numpy, and the gradients of a linear layer against differences."""

import convoy
import numpy
import pytest
from numpy.testing import assert_allclose

FLOAT = numpy.float32

# The shapes of a and b as they are multiplied.
CASES = [
    ((5, 7), (7, 3)),
    ((1, 300), (300, 70)),
    ((4, 5, 7), (4, 7, 3)),
    ((4, 5, 7), (7, 3)),
    ((5, 7), (4, 7, 3)),
    ((1, 5, 7), (4, 7, 3)),
    ((0, 7), (7, 3)),
    ((5, 0), (0, 3)),
    ((0, 5, 7), (7, 3)),
]


def _real(random, shape):
    return random.standard_normal(shape).astype(FLOAT)


def _swapped(array):
    return numpy.ascontiguousarray(numpy.swapaxes(array, -1, -2))


@pytest.mark.parametrize("left, right", CASES)
def test_products(left, right):
    random = numpy.random.default_rng(1)
    a, b = _real(random, left), _real(random, right)
    wanted = a.astype(float) @ b.astype(float)
    with convoy.Context(device="cpu") as context:
        for swaps_a in (False, True):
            for swaps_b in (False, True):
                given = _swapped(a) if swaps_a else a, _swapped(b) if swaps_b else b
                keywords = {"transpose_a": swaps_a, "transpose_b": swaps_b}
                y = context.matmul(*given, **keywords)
                assert y.shape == wanted.shape and y.dtype == FLOAT
                assert_allclose(y, wanted, atol=1e-4)
                tensors = [context.tensor(array) for array in given]
                out = context.matmul(*tensors, **keywords)
                assert (out.read() == y).all()
                assert context.matmul(*tensors, out=out, **keywords) is out


def test_a_sum_over_the_batch():
    random = numpy.random.default_rng(2)
    a, b = _real(random, (4, 5, 7)), _real(random, (4, 7, 3))
    with convoy.Context(device="cpu") as context:
        y = context.matmul(a, b, sum_batch=True)
        assert_allclose(y, (a.astype(float) @ b.astype(float)).sum(0), atol=1e-4)


def test_the_gradients_of_a_linear_layer():
    random = numpy.random.default_rng(3)
    x, w = _real(random, (2, 6, 5)), _real(random, (4, 5))
    dy = _real(random, (2, 6, 4))
    with convoy.Context(device="cpu") as context:
        x_on, w_on, dy_on = (context.tensor(array) for array in (x, w, dy))
        assert_allclose(context.matmul(x_on, w_on, transpose_b=True).read(), x @ w.T, atol=1e-5)
        dx = context.matmul(dy_on, w_on).read()
        dw = context.matmul(dy_on, x_on, transpose_a=True, sum_batch=True).read()
        other_x, other_w = _real(random, x.shape), _real(random, w.shape)
        assert abs((dx * other_x).sum() - (dy * (other_x @ w.T)).sum()) < 1e-3
        assert abs((dw * other_w).sum() - (dy * (x @ other_w.T)).sum()) < 1e-3


def test_what_is_wrong_is_said():
    a, b = numpy.zeros((3, 4), FLOAT), numpy.zeros((5, 6), FLOAT)
    with convoy.Context(device="cpu") as context:
        with pytest.raises(convoy.ShapeError, match="4 columns, b, 5 by 6, has 5 rows"):
            context.matmul(a, b)
        with pytest.raises(convoy.ShapeError, match="a has 1 extents"):
            context.matmul(a[0], b)
        with pytest.raises(convoy.ShapeError, match="batch of 2, b of 3"):
            context.matmul(numpy.zeros((2, 3, 4), FLOAT), numpy.zeros((3, 4, 5), FLOAT))
        with pytest.raises(convoy.ArgumentError, match="out is for tensors"):
            context.matmul(a, a, transpose_b=True, out=b)
        with pytest.raises(convoy.ArgumentError, match="b is"):
            context.matmul(context.tensor(a), b)
        with pytest.raises(convoy.ArgumentError, match="transpose_b"):
            context.matmul(a, b, transpose_b=2)
        with pytest.raises(convoy.ShapeError, match="y has 12 elements, not 9"):
            tensor = context.tensor(a)
            context.matmul(tensor, tensor, transpose_b=True, out=tensor)
