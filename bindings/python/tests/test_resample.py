"""Resampling against its definition in numpy and, where it is there, against PyTorch."""

import convoy
import numpy
import pytest
from numpy.testing import assert_allclose

FLOAT = numpy.float32
MODES = ["nearest", "nearest_exact", "linear", "linear_aligned"]
CASES = [
    ((7,), (15,)),
    ((31,), (13,)),
    ((5, 8), (10, 16)),
    ((9, 12), (17, 5)),
    ((1, 6), (4, 1)),
    ((3, 4, 5), (6, 8, 10)),
    ((4, 5, 3), (5, 3, 7)),
]


def _matrix(mode, extent, result):
    """[result][extent]: the weights along an axis, positions in float32."""
    weights = numpy.zeros((result, extent))
    for o in range(result):
        step = FLOAT(extent) / FLOAT(result)
        at = FLOAT(o) * step
        if mode == "nearest_exact":
            at = (FLOAT(o) + FLOAT(0.5)) * step
        if mode == "linear":  # fma: of exact float64 products, rounded once
            at = FLOAT(max(float(step) * (o + 0.5) - 0.5, 0.0))
        if mode == "linear_aligned":
            at = FLOAT(o) * (FLOAT(extent - 1) / FLOAT(result - 1) if result > 1 else FLOAT(0))
        low = min(int(at), extent - 1)
        high = float(at - FLOAT(low)) if mode.startswith("linear") else 0.0
        weights[o, low] += 1.0 - min(high, 1.0)
        weights[o, min(low + 1, extent - 1)] += min(high, 1.0)
    return weights


def _resampled(x, mode, extents, transposed=False):
    for axis, extent in enumerate(extents, 2):
        before = x.shape[axis]
        if transposed:
            matrix = _matrix(mode, extent, before).T
        else:
            matrix = _matrix(mode, before, extent)
        x = numpy.moveaxis(numpy.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("extents, results", CASES)
def test_as_defined(extents, results, mode):
    random = numpy.random.default_rng(1)
    x = random.standard_normal((2, 3, *extents)).astype(FLOAT)
    dy = random.standard_normal((2, 3, *results)).astype(FLOAT)
    with convoy.Context(device="cpu") as context:
        wanted = _resampled(x.astype(float), mode, results)
        y = context.resample(x, results, mode=mode)
        assert_allclose(y, wanted, atol=2e-6, rtol=0)
        if mode.startswith("nearest"):
            assert (y == wanted).all()
        tensor = context.tensor(x)
        out = context.resample(tensor, results, mode=mode)
        assert out.shape == wanted.shape and (out.read() == y).all()
        assert context.resample(tensor, results, mode=mode, out=out) is out
        dx = context.resample_backward(dy, x.shape, mode=mode)
        assert_allclose(dx, _resampled(dy.astype(float), mode, extents, True), atol=1e-5, rtol=0)
        made = context.resample_backward(context.tensor(dy), x.shape, mode=mode)
        assert (made.read() == dx).all()


def test_a_scale_says_the_extents():
    x = numpy.arange(8, dtype=FLOAT).reshape(1, 1, 2, 4)
    with convoy.Context(device="cpu") as context:
        assert (context.resample(x, scale=2) == x.repeat(2, 2).repeat(2, 3)).all()
        assert context.resample(x, scale=(1.9, 2.3)).shape == (1, 1, 3, 9)
        assert context.resample(x, (5, 9), scale=(2.5, 2.5)).shape == (1, 1, 5, 9)
        assert context.resample(x, 3).shape == (1, 1, 3, 3)


TORCH = {"nearest": "nearest", "nearest_exact": "nearest-exact"}


def _torch_mode(mode, rank):
    return TORCH.get(mode, ("linear", "bilinear", "trilinear")[rank - 1])


def _torch_call(torch, x, mode, keywords):
    tensor = torch.tensor(x, requires_grad=True)
    linear = mode.startswith("linear")
    corners = {"align_corners": mode.endswith("aligned")} if linear else {}
    function = torch.nn.functional.interpolate
    y = function(tensor, mode=_torch_mode(mode, x.ndim - 2), **keywords, **corners)
    dy = torch.linspace(-1, 1, y.numel()).reshape(y.shape)
    y.backward(dy)
    return y.detach().numpy(), dy.numpy(), tensor.grad.numpy()


def _near(x, mode):
    """How far PyTorch may be away: positions between elements are rounded to float32 before or
    after a multiplication, by its release and the processor, and slopes are as steep as x allows.
    """
    if mode.startswith("nearest"):
        return 0
    return 2e-6 + sum(x.shape[2:]) * 2.0**-23 * numpy.ptp(x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("extents, results", CASES)
def test_as_pytorch(extents, results, mode):
    torch = pytest.importorskip("torch")
    x = numpy.random.default_rng(2).standard_normal((2, 3, *extents)).astype(FLOAT)
    y, dy, dx = _torch_call(torch, x, mode, {"size": results})
    with convoy.Context(device="cpu") as context:
        got = context.resample(x, results, mode=mode)
        assert_allclose(got, y, atol=_near(x, mode), rtol=0)
        back = context.resample_backward(dy, x.shape, mode=mode)
        assert_allclose(back, dx, atol=1e-5 + 2 * _near(dy, mode), rtol=0)


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact", "linear"])
@pytest.mark.parametrize("extents", [(31,), (9, 12), (5, 4, 7)])
@pytest.mark.parametrize("scale", [2.0, 1.3, 0.7, 3.9])
def test_scales_as_pytorch(extents, mode, scale):
    torch = pytest.importorskip("torch")
    x = numpy.random.default_rng(3).standard_normal((1, 2, *extents)).astype(FLOAT)
    y, dy, dx = _torch_call(torch, x, mode, {"scale_factor": scale})
    with convoy.Context(device="cpu") as context:
        got = context.resample(x, mode=mode, scale=scale)
        assert got.shape == y.shape
        assert_allclose(got, y, atol=_near(x, mode), rtol=0)
        back = context.resample_backward(dy, x.shape, mode=mode, scale=scale)
        assert_allclose(back, dx, atol=1e-5 + 2 * _near(dy, mode), rtol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_every_pair_of_extents_as_pytorch(mode):
    """Nearest elements to the bit: positions are rounded where PyTorch rounds them."""
    torch = pytest.importorskip("torch")
    random = numpy.random.default_rng(4)
    corners = {"align_corners": mode.endswith("aligned")} if mode.startswith("linear") else {}
    with convoy.Context(device="cpu") as context:
        for extent in range(1, 60, 3):
            x = random.standard_normal((1, 2, extent)).astype(FLOAT)
            for result in range(1, 200, 7):
                y = torch.nn.functional.interpolate(
                    torch.tensor(x), result, mode=_torch_mode(mode, 1), **corners
                ).numpy()
                got = context.resample(x, result, mode=mode)
                near = _near(x, mode)
                assert_allclose(got, y, atol=near, rtol=0, err_msg=f"{extent} to {result}")


def test_what_is_wrong_is_said():
    x = numpy.zeros((1, 1, 4, 4), FLOAT)
    with convoy.Context(device="cpu") as context:
        tensor = context.tensor(x)
        with pytest.raises(convoy.ArgumentError, match="neither the extents"):
            context.resample(x)
        with pytest.raises(convoy.ArgumentError, match="3 entries for 2 axes"):
            context.resample(x, (1, 2, 3))
        with pytest.raises(convoy.ArgumentError, match="scale is -1; it must be above 0"):
            context.resample(x, 8, scale=-1)
        with pytest.raises(convoy.ArgumentError, match="mode is 'cubic'"):
            context.resample(x, 8, mode="cubic")
        with pytest.raises(convoy.ShapeError, match="extent 2 of y is 0; legal are 1"):
            context.resample(x, (0, 4))
        with pytest.raises(convoy.ShapeError, match="x has 2 extents"):
            context.resample(x[0, 0], 4)
        with pytest.raises(convoy.ShapeError, match="extent 1 of x is 1, of y 2"):
            context.resample(tensor, 8, out=context.tensor((1, 2, 8, 8)))
        with pytest.raises(convoy.ShapeError, match="dy has 4 extents, not 3"):
            context.resample_backward(x, (1, 1, 4))
        with pytest.raises(convoy.ArgumentError, match="out is for tensors"):
            context.resample(x, 8, out=tensor)
