"""Tensors of the program are what they are without Convoy: nothing refers to them that PyTorch's
swap of tensors would see, and what was swapped, converted or given other extents is computed with.
"""

import copy
import weakref

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch._plainly import plainly
from torch import nn
from torch_twins import Twins, one_thread  # noqa: F401  a fixture

swapping = pytest.mark.skipif(
    not hasattr(torch.utils, "swap_tensors"), reason="PyTorch before 2.3 swaps no tensors"
)


@pytest.fixture(params=["graph", "measured", "convoy"])
def route(request, device):
    torch.manual_seed(3)
    convoy.torch.enable(device, route=request.param)
    yield request.param
    convoy.torch.disable()


def make():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3))


def images():
    return torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))


def steps(module, x, count=3):
    for _ in range(count):
        module.zero_grad()
        y = module(x)
        y.square().sum().backward()
    return y, [each.grad for each in module.parameters()]


def assert_as_pytorch(module, x):
    other = copy.deepcopy(module)
    got = steps(module, x)
    with plainly():
        wanted = steps(other, x)
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-3)


def test_nothing_refers_to_tensors(route):
    module, x = make(), images().requires_grad_()
    y, gradients = steps(module, x)
    tensors = [*module.parameters(), *module.buffers(), *gradients, x, x.grad, y]
    assert not any(weakref.getweakrefs(each) for each in tensors)


@swapping
def test_swapped(route):
    module, x = make(), images()
    steps(module, x)
    for each in module[0], module[3]:
        torch.utils.swap_tensors(each.weight, nn.Parameter(torch.randn_like(each.weight)))
    assert_as_pytorch(module, x)


@swapping
def test_converted_by_swapping(route):
    module, x = make(), images()
    steps(module, x)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        assert_as_pytorch(module.double(), x.double())
        assert_as_pytorch(module.float(), x)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_other_extents(route):
    """In the same tensor."""
    module, x = make(), images()
    steps(module, x)
    module[3].weight.data = torch.randn(2, 4, 2, 2)
    module[3].kernel_size = (2, 2)
    module.zero_grad(set_to_none=True)
    assert_as_pytorch(module, x)


@swapping
def test_swapped_while_away(device):
    """With an optimizer on the device: parameters, their gradients and the optimizer's state."""
    with convoy.torch.enabled(device, route="graph"):
        twins = Twins(torch.optim.SGD, lr=0.01, momentum=0.9).train(4)
        assert twins.is_away()
        parameter = next(iter(twins.nets[0].parameters()))
        tensors = [parameter, *twins.optimizers[0].state[parameter].values()]
        assert not any(weakref.getweakrefs(each) for each in tensors)
        for net in twins.nets:
            weight = net[0].weight
            torch.utils.swap_tensors(weight, nn.Parameter(torch.full_like(weight, 0.1)))
        twins.train(3)
        twins.check()
