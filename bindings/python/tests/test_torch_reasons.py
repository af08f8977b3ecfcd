"""Reasons that the report gives are the true ones, and what only looks like a reason is none."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch import _switch
from convoy.torch._plainly import plainly
from convoy.torch.graph import network as networks
from convoy.torch.graph.steps import Steps
from test_torch_autograd import assert_steps, calls, graphs, kept  # noqa: F401  a fixture
from torch import nn
from torch.nn.utils import parametrize
from torch_twins import one_thread  # noqa: F401  a fixture


class Net(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, **options)
        self.last, self.factor = nn.Conv2d(4, 2, 3), 1.0

    def forward(self, x):
        return self.last(self.norm(self.first(x))) * self.factor


def _step(module, x):
    y = module(x)
    y.square().mean().backward()
    return y


class Doubled(nn.Module):
    def forward(self, weight):
        return weight * 2


def test_parametrizations_that_are_cached(graphs):
    module = Net()
    parametrize.register_parametrization(module.first, "weight", Doubled())

    def use(module, x):
        with parametrize.cached():
            first = module(x)
            module.first.parametrizations.weight.original.data.mul_(1.5)
            second = module(x)
            module.first.parametrizations.weight.original.data.div_(1.5)
        (first.mean() + second.square().mean() + module(x).mean()).backward()
        return first, second

    assert_steps(module, use)
    assert calls() == (3, {"inside parametrize.cached()"})


def test_what_changes_again_and_again(graphs):
    module = Net()
    for at in range(8):
        module.factor = float(at)
        assert_steps(module, _step, steps=2)
    reasons = calls()[1]
    assert any("changes again and again: factor" in why for why in reasons), reasons
    assert "changes again and again: factor" in convoy.torch.report()


@pytest.mark.parametrize("momentum", [0.0, 1.0])
def test_statistics_that_have_come_to_rest(graphs, momentum):
    """While it is captured they do not move; afterwards they do."""
    module = Net(momentum=momentum)
    other, same = copy.deepcopy(module), torch.randn(2, 3, 8, 8)
    for x in same, same, same, torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8):
        found = []
        for each, plain in (module, False), (other, True):
            with plainly() if plain else torch.enable_grad():
                found.append([each(x), *each.buffers()])
        torch.testing.assert_close(*map(kept, found), rtol=2e-4, atol=2e-4)
    assert calls() == (4, set())


def _write(module):
    """As another process does it."""
    module.last.weight.data.mul_(1.25)


def test_weights_that_others_write_during_a_proof(graphs, monkeypatch):
    module, x = Net(), torch.randn(2, 3, 8, 8)
    module.share_memory()
    comparison = networks.Comparison

    def compared(*arguments):
        _write(module)
        return comparison(*arguments)

    monkeypatch.setattr(networks, "Comparison", compared)
    before = module.last.weight.detach().clone()
    for _ in range(3):
        _step(module, x)
    assert calls() == (2, set())
    assert not torch.equal(before, module.last.weight)


def test_weights_that_others_write_during_a_run(opencl_device, monkeypatch):
    """The device is not blamed: all of a run, what it is verified by as well, goes by one copy."""
    monkeypatch.setenv("CONVOY_VERIFY", "all")
    with convoy.torch.enabled(opencl_device, route="graph"):
        module, x = Net(), torch.randn(2, 3, 8, 8)
        module.share_memory()
        for _ in range(2):
            _step(module, x)
        run = Steps.run

        def disturbed(self, graph, kept, number):
            run(self, graph, kept, number)
            _write(module)

        monkeypatch.setattr(Steps, "run", disturbed)
        for _ in range(3):
            before = copy.deepcopy(module)
            found = module(x)
            with plainly():
                torch.testing.assert_close(found, before(x), rtol=2e-4, atol=2e-4)
        (context,) = _switch._current._engines.contexts()
        assert context.health().faults == 0
        assert calls() == (4, set())


# ------------------------------------------------------------------------------ by the program


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.head = Net(), nn.Sequential(nn.Conv2d(2, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.head(self.net(x))


def test_a_module_that_the_program_declines(graphs):
    """Before it was captured, afterwards, and inside of another one."""
    module = Net()
    assert convoy.torch.decline(module, why="the test says so") is module
    assert_steps(module, _step)
    assert calls() == (0, {"the program declines it: the test says so"})
    assert "the program declines it: the test says so" in convoy.torch.report()
    outer = Outer()
    assert_steps(outer, _step, steps=3)
    assert calls("Outer") == (2, set())
    convoy.torch.decline(outer.net)
    assert_steps(outer, _step, steps=3)
    captured, reasons = calls("Outer")
    assert captured == 2 and reasons == {"net is left to PyTorch: the program declines it"}
    assert calls("Sequential")[0] == 2 and calls()[0] == 0


def test_only_modules_are_declined(graphs):
    with pytest.raises(convoy.ArgumentError, match="module is"):
        convoy.torch.decline(lambda x: x)
    with pytest.raises(convoy.ArgumentError, match="why is"):
        convoy.torch.decline(Net(), why=3)
