"""The tests' own reference, against PyTorch in float64: another author's convolution."""

import numpy
import pytest
from cases import CASES, Case

torch = pytest.importorskip("torch", reason="PyTorch checks the reference and is not there")

FORWARD = {1: "conv1d", 2: "conv2d", 3: "conv3d"}
TRANSPOSED = {1: "conv_transpose1d", 2: "conv_transpose2d", 3: "conv_transpose3d"}


def per_side(tensor, padding, sign):
    """Pads (or with sign -1 crops) per side, which PyTorch's convolutions cannot."""
    flat = [sign * side for pair in reversed(padding) for side in pair]
    return torch.nn.functional.pad(tensor, flat)


def torch_forward(case, x, w):
    rank = x.ndim - 2
    geometry = case.geometry
    padding = geometry.get("padding", ((0, 0),) * rank)
    common = {
        "stride": geometry.get("stride", 1),
        "dilation": geometry.get("dilation", 1),
        "groups": geometry.get("groups", 1),
    }
    if not geometry.get("transposed"):
        return getattr(torch.nn.functional, FORWARD[rank])(per_side(x, padding, 1), w, **common)
    common["output_padding"] = geometry.get("output_padding", 0)
    y = getattr(torch.nn.functional, TRANSPOSED[rank])(x, w, **common)
    return per_side(y, padding, -1)


@pytest.mark.parametrize("name", CASES)
def test_reference(name):
    case = Case(name)
    x = torch.tensor(case.x, dtype=torch.float64, requires_grad=True)
    w = torch.tensor(case.w, dtype=torch.float64, requires_grad=True)
    y = torch_forward(case, x, w)
    y.backward(torch.tensor(case.dy, dtype=torch.float64))
    numpy.testing.assert_array_equal(case.y, y.detach().numpy())
    numpy.testing.assert_array_equal(case.dx, x.grad.numpy())
    numpy.testing.assert_array_equal(case.dw, w.grad.numpy())
