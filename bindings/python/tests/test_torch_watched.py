"""Whatever forward reads that is no tensor is noticed before the next result when it has changed,
or the network is PyTorch's, with a reason in the report."""

import cProfile
import os
import sys

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
import torch_ways
from convoy.torch import _switch
from convoy.torch._plainly import plainly
from torch_twins import graphs, graphs_win, one_thread  # noqa: F401  fixtures


@pytest.fixture(params=["graph", "measured"])
def route(request, monkeypatch, tmp_path):
    """Captured whatever is faster."""
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    graphs_win(monkeypatch)
    torch_ways.reset()
    convoy.torch.enable("cpu", route=request.param)
    yield request.param
    convoy.torch.disable()
    torch_ways.reset()
    os.unlink(torch_ways.PATH)


def reasons():
    counts = _switch._current.statistics.networks()
    return {reason for (name, how, reason), _ in counts.items() if how != "graph" and name == "Net"}


def captured():
    counts = _switch._current.statistics.networks()
    return sum(count for (_, how, _), count in counts.items() if how == "graph")


def outputs(net, xs, between=lambda at: None):
    found = []
    for at, x in enumerate(xs):
        between(at)
        found.append(net(x).detach().clone())
    return found


def batches(count):
    numbers = torch.Generator().manual_seed(2)
    return [torch.randn(2, 2, 5, 5, generator=numbers) for _ in range(count)]


def by_route(ways):
    """Every way as a graph. By the other route what is captured is watched by the same code, so
    that every third will do."""
    pairs = [("graph", way) for way in ways] + [("measured", way) for way in list(ways)[::3]]
    return pytest.mark.parametrize("route, way", pairs, indirect=["route"])


@by_route(torch_ways.WATCHED)
def test_watched(route, way):
    check_watched(way)


@pytest.mark.parametrize("way", ["namespace", "closure"])
def test_on_both_devices(graphs, way):  # noqa: F811
    torch_ways.reset()
    check_watched(way)


def check_watched(way):
    """It changes twice, and the network stays a graph."""
    read, change = torch_ways.WATCHED[way]
    net = torch_ways.make(read)
    for value in 1.0, 5.0, 9.0:
        if value > 1:
            change(net, value)
        before = captured()
        for x in batches(3):
            with plainly():
                wanted = net(x)
            torch.testing.assert_close(net(x), wanted)
        assert captured() >= before + 2, reasons()


@by_route(torch_ways.DECLINED)
def test_declined(route, way):
    """Nor is anything taken from what the program counts or draws."""
    read, reason = torch_ways.DECLINED[way]
    runs = []
    for plain in False, True:
        torch_ways.reset()
        net = torch_ways.make(read)
        if plain:
            with plainly():
                runs.append(outputs(net, batches(6)))
        else:
            runs.append(outputs(net, batches(6)))
    for got, wanted in zip(*runs):
        torch.testing.assert_close(got, wanted)
    assert captured() == 0 and any(reason in each for each in reasons()), reasons()


@by_route(torch_ways.UNSTEADY)
def test_unsteady(route, way):
    read, reason = torch_ways.UNSTEADY[way]
    outputs(torch_ways.make(read), batches(4))
    assert captured() == 0 and any(reason in each for each in reasons()), reasons()


class Backward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch_ways.Scaled.apply(self.layer(x)).sum()


def gradient_of(net, x):
    net.zero_grad(set_to_none=True)
    net(x).backward()
    return net.layer.weight.grad.clone()


def test_backward(route):
    """What a function of the program's reads on the way back."""
    net, x = Backward(), torch.randn(2, 3)
    before = [gradient_of(net, x) for _ in range(3)][-1]
    torch_ways.SCALE = 4.0
    for _ in range(3):
        torch.testing.assert_close(gradient_of(net, x), 4 * before)


def test_a_value_of_each_step(route):
    """It is right in each, and there is an end to capturing it anew."""
    net = torch_ways.make(torch_ways.WATCHED["namespace"][0])
    for at, x in enumerate(batches(12)):
        net.args.scale = 1.0 / (at + 1)
        with plainly():
            wanted = net(x)
        torch.testing.assert_close(net(x), wanted)
        if at == 6:
            before = captured()
    assert captured() == before


def test_what_nobody_reads(route):
    """It may change, and the network is captured once."""
    net = torch_ways.make(torch_ways.quiet)
    outputs(net, batches(6), lambda at: torch_ways.disturb(net, at))
    assert captured() == 5, reasons()


def _profile(*_):
    pass


def test_a_profile_is_put_back(route):
    net = torch_ways.make(torch_ways.WATCHED["namespace"][0])
    sys.setprofile(_profile)
    try:
        outputs(net, batches(3))
        assert sys.getprofile() is _profile
    finally:
        sys.setprofile(None)
    profile = cProfile.Profile()
    profile.enable()
    outputs(net.eval(), batches(3))
    gradient_of(Backward(), torch.randn(2, 3))
    profile.disable()
    assert any("gradient_of" in str(each.code) for each in profile.getstats())
    assert captured() == 4, reasons()
