"""Moves against numpy."""

import convoy
import numpy
import pytest

FLOAT = numpy.float32


def _any(random, dtype, shape):
    if dtype == FLOAT:
        return random.standard_normal(shape).astype(FLOAT)
    limits = numpy.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("axes", [(0,), (1, 0), (2, 0, 1), (0, 2, 3, 1), (3, -1, 1, 0, 2)])
def test_permutations(axes, dtype):
    x = _any(numpy.random.default_rng(1), numpy.dtype(dtype), (3, 4, 2, 5, 6)[: len(axes)])
    with convoy.Context(device="cpu") as context:
        wanted = x.astype(FLOAT).transpose(axes)
        y = context.permute(x, axes)
        assert y.dtype == FLOAT and (y == wanted).all()
        tensor = context.tensor(x)
        made = context.permute(tensor, axes)
        assert made.shape == wanted.shape and (made.read() == wanted).all()
        assert context.permute(tensor, axes, out=made) is made


SLICES = [
    numpy.s_[1:],
    numpy.s_[:, ::-1],
    numpy.s_[..., 1:-1],
    numpy.s_[2:0:-1, ..., ::-3],
    numpy.s_[:, 1:2, 5:2],
    numpy.s_[::4, -2:, ::2],
    numpy.s_[:],
]


@pytest.mark.parametrize("key", SLICES)
def test_slices(key):
    x = _any(numpy.random.default_rng(2), FLOAT, (4, 3, 7))
    with convoy.Context(device="cpu") as context:
        y = context.slice(x, key)
        assert y.shape == x[key].shape and (y == x[key]).all()
        assert (context.slice(context.tensor(x), key).read() == x[key]).all()


PADDING = [
    (1, [(1, 1)] * 3),
    ((0, 2, (1, 3)), [(0, 0), (2, 2), (1, 3)]),
    ([(0, 1), (1, 0), 0], [(0, 1), (1, 0), (0, 0)]),
]


@pytest.mark.parametrize("padding, pairs", PADDING)
def test_padding(padding, pairs):
    x = _any(numpy.random.default_rng(3), FLOAT, (4, 3, 7))
    with convoy.Context(device="cpu") as context:
        wanted = numpy.pad(x, pairs, constant_values=-1.5)
        assert (context.pad(x, padding, value=-1.5) == wanted).all()
        assert (context.pad(context.tensor(x), padding, value=-1.5).read() == wanted).all()
        back = context.pad(wanted, [(-begin, -end) for begin, end in pairs])
        assert (back == x).all()


def test_strided_views():
    x = numpy.arange(64, dtype=FLOAT)
    with convoy.Context(device="cpu") as context:
        windows = numpy.lib.stride_tricks.sliding_window_view(x, 5)[::3]
        assert (context.strided(x, windows.shape, (3, 1)) == windows).all()
        wanted = [[63] * 4, [59] * 4, [55] * 4]
        assert (context.strided(x, (3, 4), (-4, 0), offset=63) == wanted).all()
        tensor, out = context.tensor(x), context.tensor((8, 8))
        shape, order = (2,) * 6, (5, 3, 1, 0, 2, 4)
        wanted = x.reshape(shape).transpose(order)
        strides = [each // 4 for each in wanted.strides]
        assert context.strided(tensor, shape, strides, out=out) is out
        assert (out.read().reshape(shape) == wanted).all()
        with pytest.raises(convoy.ShapeError, match="5 extents at most"):
            context.strided(tensor, shape, strides)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("count", [1, 3, 12, 30])
def test_concatenation(count, axis):
    random = numpy.random.default_rng(5)
    arrays = []
    for i in range(count):
        shape = [2, 3, 4]
        shape[axis] = i % 4
        arrays.append(_any(random, numpy.dtype(["float32", "int32", "uint8"][i % 3]), shape))
    wanted = numpy.concatenate([each.astype(FLOAT) for each in arrays], axis)
    with convoy.Context(device="cpu") as context:
        assert (context.concatenate(arrays, axis) == wanted).all()
        tensors = [context.tensor(each) for each in arrays]
        out = context.concatenate(tensors, axis)
        assert out.shape == wanted.shape and (out.read() == wanted).all()
        assert context.concatenate(tensors, axis, out=out) is out
        twice = context.concatenate([tensors[-1]] * 2, axis).read()
        assert (twice == numpy.concatenate([arrays[-1].astype(FLOAT)] * 2, axis)).all()


def test_gradients_in_a_graph():
    """Of a sum of moves, against the adjoint in numpy."""
    random = numpy.random.default_rng(4)
    x = _any(random, FLOAT, (3, 4, 5))
    dy = _any(random, FLOAT, (4, 6, 7))
    with convoy.Context(device="cpu") as context:
        tensor, weights = context.tensor(x), context.tensor(dy)

        @context.capture
        def graph():
            y = context.pad(context.permute(tensor, (1, 0, 2)), (0, 0, 1))
            z = context.slice(y, numpy.s_[:, ::-1])
            both = context.concatenate([z, z], 1)
            return context.gradients(both, [tensor], dy=weights)

        (dx,) = graph.run()
        wanted = (dy[:, :3] + dy[:, 3:])[:, ::-1, 1:-1].transpose(1, 0, 2)
        assert (dx.read() == wanted).all()


def test_what_is_wrong_is_said():
    x = numpy.zeros((2, 3, 4), FLOAT)
    with convoy.Context(device="cpu") as context:
        tensor = context.tensor(x)
        with pytest.raises(convoy.ArgumentError, match="axes has 2 entries for 3 axes"):
            context.permute(x, (0, 1))
        with pytest.raises(convoy.ArgumentError, match="for 3 axes"):
            context.permute(x, (0, 1, 3))
        with pytest.raises(convoy.ArgumentError, match="axes are 0 1 1"):
            context.permute(x, (0, 1, 1))
        with pytest.raises(convoy.ArgumentError, match="one slice for each"):
            context.slice(x, (0, slice(None)))
        with pytest.raises(convoy.ArgumentError, match="one slice for each"):
            context.slice(x, (slice(None),) * 4)
        with pytest.raises(convoy.ArgumentError, match="slices are"):
            context.slice(x, slice("a"))
        with pytest.raises(convoy.ArgumentError, match="2 entries for 3 axes"):
            context.pad(x, (1, 2))
        with pytest.raises(convoy.ArgumentError, match="numbers or pairs"):
            context.pad(x, ((1, 2, 3), 0, 0))
        with pytest.raises(convoy.ShapeError, match="more off than there is"):
            context.pad(x, -2)
        with pytest.raises(convoy.ArgumentError, match="mode is 'round'"):
            context.pad(x, 1, mode="round")
        with pytest.raises(convoy.ArgumentError, match="strides has 1 entries for 2 axes"):
            context.strided(x, (2, 2), (1,))
        with pytest.raises(convoy.ShapeError, match="elements 0 to 24 of x are taken, it has 24"):
            context.strided(tensor, (25,), (1,))
        with pytest.raises(convoy.ArgumentError, match="nothing to concatenate"):
            context.concatenate([])
        with pytest.raises(convoy.ArgumentError, match="axis is 3 for 3 axes"):
            context.concatenate([x], 3)
        with pytest.raises(convoy.ShapeError, match="extent 0 of input 1 is 1, of y 2"):
            context.concatenate([x, x[:1]], 1)
        with pytest.raises(convoy.ShapeError, match="input 1 has 2 extents, y has 3"):
            context.concatenate([x, x[0]], 2)
        with pytest.raises(convoy.ArgumentError, match="tensors go with tensors only"):
            context.concatenate([tensor, x])
        with pytest.raises(convoy.ArgumentError, match="out is for tensors"):
            context.concatenate([x], out=tensor)
        with pytest.raises(convoy.ArgumentError, match="out is for tensors"):
            context.pad(x, 1, out=tensor)
        with pytest.raises(convoy.ShapeError, match="x has 3 extents, y has 2"):
            context.slice(tensor, slice(1), out=context.tensor((2, 3)))
