"""A network that is captured and whose optimizer is attached, beside the same by PyTorch alone, for
the tests of such optimizers; and their fixtures."""

import contextlib

import convoy.torch
import pytest
import torch
from convoy.torch._plainly import plainly
from convoy.torch.graph import mirror
from convoy.torch.graph.away import is_away
from torch import nn

IS_OLD = torch.__version__.startswith("1.")


@pytest.fixture(autouse=True)
def one_thread():
    """The networks are small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def graphs(device):
    convoy.torch.enable(device, route="graph")
    yield device
    convoy.torch.disable()


@pytest.fixture
def moved(monkeypatch):
    """Elements that were written to the engine and read from it, call by call."""
    counts = {"write": [], "read": []}
    for name in counts:
        original = getattr(mirror.Batch, name)

        def spied(self, tensors, name=name, original=original):
            counts[name] += [each.numel() for each in tensors]
            return original(self, tensors)

        monkeypatch.setattr(mirror.Batch, name, spied)
    return counts


def make():
    """No parameter of it has a gradient that is rounding alone, of which Adam makes whole steps."""
    torch.manual_seed(1)
    layers = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.SiLU(), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(8 * 36, 4))


def batch(at):
    numbers = torch.Generator().manual_seed(at)
    return (torch.randn(shape, generator=numbers) for shape in ((4, 3, 6, 6), (4, 4)))


def backward(net, at, plain=False):
    """A step's gradients; plainly and in float64 for what Convoy is compared with."""
    x, y = batch(at)
    with plainly() if plain else contextlib.nullcontext():
        if plain:
            x, y = x.double(), y.double()
        (net(x) - y).square().mean().backward()


class Twins:
    """A network that is captured and whose optimizer is attached, and the same in float64 by
    PyTorch alone."""

    def __init__(self, kind=torch.optim.SGD, attached=True, **options):
        self.nets = make(), make().double()
        self.optimizers = [kind(each.parameters(), **options) for each in self.nets]
        if attached:
            assert convoy.torch.optimizer(self.optimizers[0]) is self.optimizers[0]
        self.done = 0

    def each(self):
        """(network, optimizer, whether it is PyTorch's)"""
        return zip(self.nets, self.optimizers, (False, True))

    def train(self, steps, between=lambda net, optimizer: None):
        """`between` is called after backward."""
        for at in range(self.done, self.done + steps):
            for net, optimizer, plain in self.each():
                optimizer.zero_grad()
                backward(net, at, plain)
                with plainly() if plain else contextlib.nullcontext():
                    between(net, optimizer)
                    optimizer.step()
        self.done += steps
        return self

    def both(self, change):
        for net, optimizer, plain in self.each():
            with plainly() if plain else contextlib.nullcontext():
                change(net, optimizer)
        return self

    def is_away(self):
        return all(map(is_away, self.nets[0].parameters()))

    def check(self):
        ours, theirs = (each.state_dict() for each in self.nets)
        for name in theirs:
            close(ours[name], theirs[name])
        ours, theirs = (each.state_dict()["state"] for each in self.optimizers)
        ours, theirs = map(kept, (ours, theirs))
        assert ours.keys() == theirs.keys()
        for at, state in ours.items():
            assert state.keys() == theirs[at].keys()
            for name, mine in state.items():
                close(mine, theirs[at][name])
        assert not self.is_away()


def kept(state):
    """By parameter. PyTorch 1 notes that there is no momentum."""
    return {at: each for at, each in state.items() if set(each.values()) != {None}}


def close(got, wanted, tolerance=2e-5):
    wanted = torch.as_tensor(wanted)
    far = (torch.as_tensor(got).detach().double() - wanted.detach().double()).abs().max()
    assert got.shape == wanted.shape
    assert far <= tolerance * max(1.0, float(wanted.detach().abs().max())), float(far)


SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
STEPS = {
    "sgd": (SGD, dict(lr=0.05)),
    "decay": (SGD, dict(lr=0.05, weight_decay=0.1)),
    "momentum": (SGD, dict(lr=0.05, momentum=0.9, weight_decay=0.01)),
    "dampening": (SGD, dict(lr=0.05, momentum=0.9, dampening=0.25)),
    "nesterov": (SGD, dict(lr=0.05, momentum=0.9, weight_decay=0.01, nesterov=True)),
    "adam": (ADAM, dict(lr=0.01, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.1)),
    "adamw": (ADAMW, dict(lr=0.01, eps=1e-4, weight_decay=0.1)),
}
MOMENTUM = STEPS["momentum"][1]


def graphs_win(monkeypatch):
    """With route "measured" what can be captured is, and is the faster way."""
    from convoy.torch import _budget
    from convoy.torch.graph import contest

    monkeypatch.setattr(_budget, "_LEAST", float("inf"))
    monkeypatch.setattr(contest.Contest, "way", lambda self: contest.GRAPH)
