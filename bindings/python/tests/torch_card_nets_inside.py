"""Whole networks of PyTorch's on a card, captured: pytest runs this file by name, in a process
where the stand-ins are the drivers (test_torch_cards.py).
"""

import copy
import gc
import threading

import pytest
import torch
from torch import nn

import convoy.torch
import torch_hidden
import torch_lacking
import torch_networks
from convoy.torch import _card, _cards, _kernels, _switch
from convoy.torch._plainly import plainly
from convoy.torch.graph.networks import ITS_TURN, MEASURED
from standin_cards import StandinCards

platform = _kernels.platform = StandinCards()
driver = platform.driver


@pytest.fixture(autouse=True)
def convoy_on():
    torch.manual_seed(0)
    with convoy.torch.enabled(route="graph"):
        yield
    platform.host.clear()
    gc.collect()


def ways():
    """How calls of networks went: (what, why) -> how many."""
    counts = _switch._current.statistics.networks()
    found = {}
    for (_, how, why), n in counts.items():
        found[how, why] = found.get((how, why), 0) + n
    return found


def captured():
    return ways().get(("graph", ""), 0)


def engine():
    (found,) = _switch._current._engines._cards.values()
    return found


def held():
    """Memory of the card that Convoy has of PyTorch's."""
    return engine()._card._memory._held


class Pair:
    """A network and the same for PyTorch alone."""

    def __init__(self, make=torch_networks.Classifier):
        self.net = make()
        self.other = copy.deepcopy(self.net)

    def step(self, *given, net=None):
        """Results, gradients of parameters and of what is given, buffers."""
        net = net or self.net
        given = [each.detach().clone().requires_grad_() for each in given]
        net.zero_grad()
        y = net(*given)
        y.backward(torch.linspace(-1, 1, y.numel()).view_as(y))
        gradients = [each.grad for each in (*net.parameters(), *given)]
        return [y.detach(), *gradients, *(each.clone() for each in net.buffers())]

    def plainly(self, *given):
        with plainly():
            return self.step(*given, net=self.other)

    def assert_same(self, *given):
        assert_same(self.step(*given), self.plainly(*given))


def assert_same(got, wanted):
    largest = max(float(each.double().norm()) for each in wanted)
    for a, b in zip(got, wanted):
        assert a.shape == b.shape and a.dtype == b.dtype
        far = float((a.double() - b.double()).norm())
        assert far <= 2e-4 * float(b.double().norm()) + 2e-5 * largest


def images(n=2):
    return torch.randn(n, 3, 16, 16)


def settled(pair, *given):
    """Captured, and as it is from then on."""
    for _ in range(3):
        pair.assert_same(*given)
    assert captured() == 2
    return pair


# ------------------------------------------------------------------------------- several results


class Two(nn.Module):
    """Of its results one depends on the other."""

    def __init__(self):
        super().__init__()
        self.trunk, self.norm = nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.head = nn.Conv2d(4, 2, 3)

    def forward(self, x):
        a = self.norm(self.trunk(x)).sigmoid()
        return a, self.head(a)


def use_both(net, x, hook=None):
    net.zero_grad()
    a, b = net(x)
    if hook is not None:
        a.register_hook(hook)
    b.square().mean().backward(retain_graph=True)
    a.square().mean().backward()
    return [a.detach(), b.detach(), *(each.grad for each in net.parameters())]


def test_results_that_depend_on_one_another():
    net, other = Two(), Two()
    other.load_state_dict(net.state_dict())
    for hook in None, None, None, lambda gradient: gradient * 0.5, None:
        x = images()
        got = use_both(net, x, hook)
        with plainly():
            assert_same(got, use_both(other, x, hook))
    assert captured() == 3
    assert ways()["pytorch", "gradients between its results are asked for"] == 1


@pytest.mark.skipif(not hasattr(torch.utils, "swap_tensors"), reason="PyTorch before 2.3")
def test_swapped_parameters():
    pair = settled(Pair(torch_networks.Convolutions), images())
    for net in pair.net, pair.other:
        weight = net.last.weight
        swapped = nn.Parameter(torch.full_like(weight, 0.1))
        torch.utils.swap_tensors(weight, swapped)
    pair.assert_same(images())
    assert captured() == 3


# ----------------------------------------------------------------------------------- steps


@pytest.mark.parametrize(
    "make",
    [
        torch_networks.Convolutions,
        torch_networks.Classifier,
        torch_networks.Transposed,
        torch_networks.Volumes,
        torch_networks.Squeeze,
        torch_networks.Norms,
    ],
)
def test_steps_are_pytorchs(make):
    pair = Pair(make)
    for _ in range(4):
        pair.assert_same(images())
    assert captured() == 3


def test_steps_repeat_and_wait_for_nothing():
    pair = settled(Pair(), images())
    pair.net.eval()
    x = images()
    first = [pair.step(x) for _ in range(3)][-1]
    waits = driver.waits()
    for _ in range(100):
        for got, wanted in zip(pair.step(x), first):
            assert torch.equal(got, wanted)
    assert driver.waits() == waits


def test_evaluation_and_other_shapes():
    pair = settled(Pair(), images())
    pair.net.eval()
    pair.other.eval()
    for n in (2, 3):
        x = images(n)
        with torch.no_grad():
            for _ in range(3):
                with plainly():
                    wanted = pair.other(x)
                assert_same([pair.net(x)], [wanted])
    assert captured() == 6


def test_views_that_begin_anywhere():
    pair = settled(Pair(), images())
    whole = torch.randn(2 * 3 * 16 * 16 + 1)
    x = whole[1:].view(2, 3, 16, 16)
    assert x.data_ptr() % 64
    y = pair.net(x)
    with plainly():
        assert_same([y.detach()], [pair.other(x).detach()])
    turned = images().contiguous(memory_format=torch.channels_last)
    for _ in range(3):
        pair.assert_same(turned)


def test_parameters_that_are_written_and_replaced():
    pair = settled(Pair(), images())
    for net in (pair.net, pair.other):
        with torch.no_grad():
            for each in net.parameters():
                each.mul_(0.9)
            net.head.weight.data = net.head.weight.data * 1.1
    pair.assert_same(images())
    assert captured() == 3


def test_passes_that_wait_for_their_backward():
    pair = settled(Pair(), images())
    pair.net.eval()
    pair.other.eval()
    given = [images() for _ in range(3)]

    def several(net):
        leaves = [each.clone().requires_grad_() for each in given]
        net.zero_grad()
        results = [net(each) for each in leaves]
        for each in (1, 2, 0):
            results[each].square().sum().backward()
        return [each.grad for each in (*leaves, *net.parameters())]

    for _ in range(3):
        with plainly():
            wanted = several(pair.other)
        assert_same(several(pair.net), wanted)


def test_backward_once_more():
    pair = settled(Pair(torch_networks.Convolutions), images())
    pair.net.eval()
    pair.other.eval()

    def twice(net):
        x = images().fill_(0.3).requires_grad_()
        y = net(x)
        found = [torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for _ in range(2)]
        return [y.detach(), *found]

    for _ in range(3):
        with plainly():
            wanted = twice(pair.other)
        assert_same(twice(pair.net), wanted)


def test_memory_is_given_back():
    pair = settled(Pair(), images())
    kept = len(held())
    for _ in range(20):
        pair.step(images())
    assert len(held()) == kept
    y = pair.net(images().requires_grad_())
    assert len(held()) > kept  # for its backward pass
    del y
    pair.step(images())
    assert len(held()) == kept


class Twice(nn.Module):
    """Results and gradients that are the same array."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.a, self.b = nn.Parameter(torch.randn(4, 8)), nn.Parameter(torch.randn(4, 8))

    def forward(self, x):
        y = self.layer(x) + (self.a + self.b)
        return y, y.view(8, 4), y.clone()


def test_one_array_for_several():
    net = Twice()
    other = copy.deepcopy(net)
    for _ in range(4):
        x = torch.randn(4, 8)
        results, wanted = net(x), None
        with plainly():
            wanted = other(x)
        for got in (results, wanted):
            (got[0].sum() * 2 + got[1].square().sum() + got[2].sum()).backward()
        assert_same([each.detach() for each in results], [each.detach() for each in wanted])
        gradients = [[each.grad for each in of.parameters()] for of in (net, other)]
        assert_same(*gradients)
        net.zero_grad()
        other.zero_grad()
    assert captured() == 3
    with torch.no_grad():
        for _ in range(3):
            results = net(x)
        results[0].zero_()
        assert results[2].abs().sum() > 0


# -------------------------------------------------------------------------------- recorded


def test_a_recorded_step_is_replayed():
    pair = settled(Pair(), images())
    x, ones = images().requires_grad_(), torch.ones(2, 10)
    parameters = list(pair.net.parameters())
    with platform.recorded() as replay:
        y = pair.net(x)
        found = torch.autograd.grad(y, parameters, ones)
    assert captured() == 3
    for scale in (1.0, 0.5, 2.0):
        with torch.no_grad():
            x.copy_(images())
            for a, b in zip(parameters, pair.other.parameters()):
                b.copy_(a.mul_(scale))
        replay[0]()
        with plainly():
            wanted = pair.other(x)
            gradients = torch.autograd.grad(wanted, list(pair.other.parameters()), ones)
        assert_same([y.detach(), *found], [wanted.detach(), *gradients])


@torch.no_grad()
def test_what_is_hidden_is_found():
    """By calls that are counted; while they are recorded nothing is looked at."""
    torch_hidden.reset()
    net, x = torch_hidden.Net(torch_hidden.HIDDEN["memory"][0]), torch.randn(2, 2, 5, 5)
    for _ in range(4):
        net(x)
    assert captured() == 3
    torch_hidden.MEMORY.value = 5.0
    with platform.recorded():
        for _ in range(10):
            net(x)
    assert captured() == 13, ways()
    for _ in range(6):
        y = net(x)
    with plainly():
        wanted = net(x)
    torch_hidden.reset()
    assert captured() == 17
    assert [why for _, why in ways() if "5.0) where aten.mul.Tensor(" in why], ways()
    torch.testing.assert_close(y, wanted)


def test_what_is_new_is_not_recorded():
    pair = Pair()
    for _ in range(2):  # seen once, and then again
        with platform.recorded():
            pair.net(images())
    assert ways() == {("pytorch", _card.RECORDED): 2}
    pair.other.load_state_dict(pair.net.state_dict())
    settled(pair, images())


def test_random_numbers_are_pytorchs():
    """So that PyTorch draws others when what was recorded is replayed."""
    net = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.5), nn.Linear(64, 4))
    x = torch.randn(4, 8, requires_grad=True)

    def step(seed):
        torch.manual_seed(seed)
        net.zero_grad()
        x.grad = None
        y = net(x)
        before = torch.get_rng_state()
        y.sum().backward(retain_graph=True)
        once = x.grad.clone()
        y.sum().backward()  # of the same numbers
        assert torch.equal(x.grad, 2 * once) and torch.equal(torch.get_rng_state(), before)
        return y.detach(), once

    for _ in range(2):
        step(1)
    (a, da), (b, db), (c, _) = step(1), step(1), step(2)
    assert captured() == 4
    assert torch.equal(a, b) and torch.equal(da, db) and not torch.equal(a, c)
    with platform.recorded() as replay:
        y = net(x)
    replay[0]()
    assert captured() == 5 and y.shape == (4, 4)


# -------------------------------------------------------------------------- on the host


class Strides(nn.Module):
    """Numbers of the host beside a network on a card."""

    def __init__(self):
        super().__init__()
        self.inside = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.unread = torch.tensor([8.0, 16.0])
        self.scale = torch.tensor(0.5)
        platform.host |= {self.unread.data_ptr(), self.scale.data_ptr()}

    def forward(self, x):
        return self.inside(x) * self.scale


def test_numbers_of_the_host():
    pair = Pair(Strides)
    platform.host.add(pair.other.scale.data_ptr())
    settled(pair, torch.randn(4, 8))
    for net in (pair.net, pair.other):
        net.scale.fill_(2.0)
    for _ in range(3):
        pair.assert_same(torch.randn(4, 8))
    assert ways()["pytorch", "the first call of its kind"] == 1
    assert captured() == 5


# ------------------------------------------------------------------------------- measured


def test_both_ways_take_turns(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    with convoy.torch.enabled(route="measured"):
        pair = Pair()
        for _ in range(8):
            pair.assert_same(images())
        assert ways()["graph", ""] >= 3
        assert sum(n for (_, why), n in ways().items() if why in (ITS_TURN, MEASURED)) >= 2


# ----------------------------------------------------------------------- what goes wrong


def test_a_failing_launch_is_an_error():
    pair = settled(Pair(), images())
    driver.fail_next(1)
    with pytest.raises(RuntimeError, match="Convoy: .* failed, and the tensors' memory is not"):
        pair.net(images().requires_grad_())
    pair.net.load_state_dict(pair.other.state_dict())
    pair.assert_same(images())
    assert "1 faults of the device" in convoy.torch.report()


def test_a_device_that_fails_between_the_passes():
    pair = settled(Pair(), images())
    x = images()
    y = pair.net(x.requires_grad_())
    pair.net.zero_grad(set_to_none=True)
    driver.fail_next(1)
    with pytest.raises(RuntimeError, match="failed"):
        y.sum().backward()
    assert all(each.grad is None for each in pair.net.parameters())
    y.sum().backward()  # of what forward has left nothing was lost
    with plainly():
        pair.other.zero_grad()
        pair.other(x).sum().backward()
    got, wanted = ([each.grad for each in net.parameters()] for net in (pair.net, pair.other))
    assert_same(got, wanted)


class Full(RuntimeError):
    """The card's memory is."""


def test_a_lack_of_memory_is_the_allocators_error(monkeypatch):
    pair = settled(Pair(), images())

    def full(size, index):
        raise Full("out of memory")

    monkeypatch.setattr(engine()._card._memory, "make", full)
    with pytest.raises(Full):
        pair.step(images())
    monkeypatch.undo()
    pair.other.load_state_dict(pair.net.state_dict())
    pair.assert_same(images())


# --------------------------------------------------------------------- what PyTorch computes


def test_tf32(monkeypatch):
    pair = settled(Pair(), images())
    monkeypatch.setattr(platform, "tf32", True)
    pair.assert_same(images())
    assert ways()["pytorch", _cards.TF32] == 1


@pytest.mark.parametrize("make", torch_lacking.GIVEN)
def test_what_convoy_has_not(make):
    """PyTorch carries it out on the card, between the network's stages."""
    pair = settled(Pair(make), torch_lacking.GIVEN[make]())
    for _ in range(3):
        pair.assert_same(torch_lacking.GIVEN[make]())
    assert captured() == 5


def test_two_passes_with_what_convoy_has_not():
    """Each has memory of its own for what PyTorch's operators read."""
    pair = settled(Pair(torch_lacking.Sorted), torch.randn(4, 8))
    given = [torch.randn(4, 8) for _ in range(2)]

    def both(net):
        net.zero_grad()
        first, second = net(given[0]), net(given[1])
        (first.square().sum() + 3 * second.square().sum()).backward()
        return [first.detach(), second.detach(), *(each.grad for each in net.parameters())]

    with plainly():
        wanted = both(pair.other)
    for _ in range(3):
        assert_same(both(pair.net), wanted)


def test_results_that_pytorchs_operators_read():
    pair = Pair(torch_lacking.Everything)

    def step(net):
        x = torch.linspace(-2, 3, 32).view(4, 8).sin().requires_grad_()
        net.zero_grad()
        y, z, places = net(x)
        (y.square() + z.cos()).sum().backward()
        gradients = [each.grad for each in (*net.parameters(), x)]
        return [y.detach(), z.detach(), places, *gradients]

    with plainly():
        wanted = step(pair.other)
    for _ in range(5):
        assert_same(step(pair.net), wanted)
    assert captured() == 4


def test_too_much_that_convoy_has_not():
    pair = Pair(torch_lacking.TooMany)
    for _ in range(4):
        pair.assert_same(torch.randn(4, 8))
    counts = _switch._current.statistics.networks()
    assert any("operators that Convoy has not: sort" in why for _, _, why in counts)
    assert counts["Sequential", "graph", ""] >= 1  # inside of it


class Table(nn.Module):
    """Reads rows by numbers that are a buffer."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(6, 8))
        self.register_buffer("index", torch.tensor([5, 0, 3, 3]))
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        return self.head(x + self.table[self.index])


def test_numbers_of_rows_that_change():
    pair = settled(Pair(Table), torch.randn(4, 8))
    for net in (pair.net, pair.other):
        net.index.fill_(2)
    for _ in range(3):
        pair.assert_same(torch.randn(4, 8))


def test_numbers_of_rows_that_are_loaded_again():
    pair = settled(Pair(Table), torch.randn(4, 8))
    for _ in range(8):
        pair.net.load_state_dict(pair.net.state_dict())
        pair.assert_same(torch.randn(4, 8))
    assert captured() == 10  # as it was captured first
