"""What cannot be watched is found: a captured network's code is compared with what was captured, at
calls that are counted, and nothing else comes of that."""

import copy
import gc
import math
import sys
import threading
import weakref

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy
import convoy.torch
import torch_hidden
import torch_networks
from convoy.torch import _switch
from convoy.torch._plainly import plainly
from convoy.torch.graph import network as captured_network
from convoy.torch.graph.away import is_away
from convoy.torch.graph.transcript import EVERY, FIRST, is_due
from torch import nn
from torch_twins import Twins, graphs, graphs_win, one_thread  # noqa: F401  fixtures


@pytest.fixture(params=["graph", "measured"])
def route(request, monkeypatch, tmp_path):
    """Captured whatever is faster."""
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    graphs_win(monkeypatch)
    torch_hidden.reset()
    convoy.torch.enable("cpu", route=request.param)
    yield request.param
    convoy.torch.disable()
    torch_hidden.reset()


@pytest.fixture
def always(monkeypatch):
    """Each call is compared. The list gets what was found."""
    found = []
    note = convoy.torch._findings.Findings.note
    monkeypatch.setattr(captured_network, "is_due", lambda call: True)
    spied = lambda self, finding: (found.append(str(finding)), note(self, finding))  # noqa: E731
    monkeypatch.setattr(convoy.torch._findings.Findings, "note", spied)
    return found


@pytest.fixture
def log():
    lines = []
    convoy.set_log(lambda level, line: lines.append(line))
    yield lines
    convoy.set_log(None)


def batch(at=0):
    return torch.randn(2, 2, 5, 5, generator=torch.Generator().manual_seed(at))


def make(way):
    torch.manual_seed(1)
    return torch_hidden.Net(torch_hidden.HIDDEN[way][0])


def counted(how):
    counts = _switch._current.statistics.networks()
    return {reason: n for (_, way, reason), n in counts.items() if way == how}


def captured():
    return counted("graph").get("", 0)


def is_right(net, at):
    """A step's result and gradients are PyTorch's."""
    other, found = copy.deepcopy(net), []
    for each, plain in (other, True), (net, False):
        each.zero_grad(set_to_none=True)
        if plain:
            with plainly():
                result = each(batch(at))
                result.square().sum().backward()
        else:
            result = each(batch(at))
            result.square().sum().backward()
        found.append([result.detach(), *(p.grad for p in each.parameters() if p.requires_grad)])
    return all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in zip(*found))


# ------------------------------------------------------------------------------------------ found


def test_which_calls_are_compared():
    assert [at for at in range(1, 1100) if is_due(at)] == [8, 16, 32, 64, 128, 256, 512, 768, 1024]
    assert FIRST == 8 and EVERY <= 512


@pytest.mark.parametrize("way", torch_hidden.HIDDEN)
def test_what_is_hidden(route, way):
    check_found(way)


def test_on_both_devices(graphs):  # noqa: F811
    torch_hidden.reset()
    check_found("memory")


def check_found(way):
    net = make(way)
    for at in range(10):
        assert is_right(net, at)
    before = captured()
    torch_hidden.HIDDEN[way][1](net, 5.0)
    right = [is_right(net, at) for at in range(16)]
    assert before >= 8 and all(right[-8:]), right
    (reason,) = [each for each in counted("pytorch") if "forward" in each]
    assert reason.startswith("forward computes aten.mul.Tensor(#"), reason
    assert ", 5.0) where" in reason and ", 1.0) was captured" in reason, reason
    assert counted("pytorch")[reason] >= 8
    report = convoy.torch.report()
    assert "1 times a captured network was found to compute something else" in report


def test_at_call_1000(route, log):
    """Training goes on right."""
    net = make("memory").requires_grad_(False)
    net.head.requires_grad_(True)
    for at in range(1000):
        net(batch(at % 4))
    assert captured() == 999
    torch_hidden.MEMORY.value = 5.0
    calls = 0
    while not counted("pytorch").get(reason_of_pytorch()):
        net(batch())
        calls += 1
        assert calls <= EVERY
    assert all(is_right(net, at) for at in range(4))
    (line,) = [each for each in log if "is not what was captured" in each]
    assert "5.0) where" in line and "255 calls lie since the last one that agreed" in line


def reason_of_pytorch():
    return next((each for each in counted("pytorch") if "was captured" in each), None)


def test_other_kinds_of_calls_are_asked_next(route):
    """Trained and evaluated, a module reads the same."""
    net = make("memory")
    for at in range(4):
        assert is_right(net, at)
    net.eval()
    for at in range(7):
        assert is_right(net, at)
    torch_hidden.MEMORY.value = 5.0
    for at in range(3):
        net(batch(at))
    net.train()
    assert is_right(net, 0)


def test_an_error_if_asked_for(monkeypatch):
    monkeypatch.setenv("CONVOY_STRICT", "1")
    torch_hidden.reset()
    with convoy.torch.enabled("cpu", route="graph"):
        net = make("memory")
        for at in range(6):
            net(batch(at))
        torch_hidden.MEMORY.value = 5.0
        with pytest.raises(convoy.WrongResultError, match="aten.mul.Tensor.* 5.0.* calls lie"):
            for at in range(4):
                net(batch(at))
        assert is_right(net, 0)
    torch_hidden.reset()


class Returns(nn.Module):
    """Other results, or none, or an error, by what is in memory."""

    def __init__(self, kind):
        super().__init__()
        self.conv, self.kind = nn.Conv2d(2, 3, 3), kind

    def forward(self, x):
        a, b = self.conv(x).chunk(2, 2) if self.kind == "order" else (self.conv(x), x + 1)
        changed = torch_hidden._of_memory(self) > 1
        if not changed:
            return a, b, 1
        if self.kind == "error":
            raise ValueError("a test's")
        return {"order": (b, a, 1), "number": (a, b, 2), "fewer": (a, a, 1)}[self.kind]


@pytest.mark.parametrize("kind", ["order", "number", "fewer", "error"])
def test_what_is_returned(route, kind):
    net, x = Returns(kind), torch.randn(1, 2, 6, 6)
    for _ in range(5):
        net(x)
    assert captured() == 4
    torch_hidden.MEMORY.value = 2.0
    if kind == "error":
        with pytest.raises(ValueError, match="a test's"):
            [net(x) for _ in range(5)]
        return
    for _ in range(5):
        got = net(x)
    with plainly():
        wanted = net(x)
    assert got[2] == wanted[2] and all(map(torch.equal, got[:2], wanted[:2]))


class Draws(nn.Module):
    """Leaves a layer out by a generator that is hidden."""

    def __init__(self):
        super().__init__()
        self.conv, self.other = nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x):
        x = self.conv(x)
        torch_hidden.MEMORY.value += 1
        return self.other(x) if torch_hidden._of_memory(self) % 2 else x


def test_what_differs_each_time_is_not_captured(route):
    net, x = Draws(), torch.randn(1, 2, 6, 6)
    for _ in range(6):
        net(x)
    assert captured() == 0
    assert any(each.startswith("it is not the same each time") for each in counted("pytorch"))


# ------------------------------------------------------------------------------- nothing is changed


class Twice(nn.Module):
    """What it is given it is given twice, and statistics are written."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.drop = nn.BatchNorm1d(5), nn.Dropout(0.5)

    def forward(self, q, k, v):
        return self.drop(self.norm(self.attention(q, k, v)[0])) * torch.tensor([2.0])


class Standardized(nn.Module):
    """Weights are reshaped, which in another layout is a copy."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        w = self.conv.weight.reshape(4, -1)
        w = (w - w.mean(1, keepdim=True)).reshape(4, 3, 3, 3)
        return nn.functional.conv2d(x, w)


def trained(net, x, steps=4):
    """Bits of all that comes of it."""
    torch.manual_seed(3)
    optimizer, found = torch.optim.SGD(net.parameters(), lr=0.01), []
    for _ in range(steps):
        optimizer.zero_grad()
        made = torch.utils._pytree.tree_flatten(net(*x))[0]
        made = [each for each in made if torch.is_tensor(each) and each.requires_grad]
        sum(each.square().mean() for each in made).backward()
        optimizer.step()
        found += [each.detach().clone() for each in made]
    return [*found, *net.state_dict().values(), torch.rand(3)]


NETWORKS = [*torch_networks.WHOLE, torch_networks.Several]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda each: each.__name__)
def test_nobody_is_accused(graphs_on_cpu, always, network):
    torch.manual_seed(2)
    size = 8 if network is torch_networks.Several else 16
    net, x = network(), torch.randn(2, 3, size, size)
    trained(net, (x,))
    net.eval()
    for mode in torch.no_grad, torch.inference_mode:
        with mode():
            [net(torch.randn(2, 3, size, size)) for _ in range(3)]
    assert not always


@pytest.fixture
def graphs_on_cpu():
    with convoy.torch.enabled("cpu", route="graph"):
        yield


def test_the_same_bits(graphs_on_cpu, always, monkeypatch):
    """Compared or not: statistics, random numbers, results and weights."""
    torch.manual_seed(5)
    net, x = Twice(), torch.randn(2, 5, 8)
    other = copy.deepcopy(net)
    first = trained(net, (x, x, x))
    assert captured() == 3 and not always, counted("pytorch")
    monkeypatch.setattr(captured_network, "is_due", lambda call: False)
    assert all(map(torch.equal, first, trained(other, (x, x, x))))


class Loose(nn.Module):
    """A buffer and an argument that are not dense, of which copies are made."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.register_buffer("scale", torch.tensor([2.0]).expand(3))

    def forward(self, x):
        return self.conv(x.contiguous()) * self.scale.reshape(3, 1, 1) + self.scale.contiguous()[0]


def test_what_is_not_dense(graphs_on_cpu, always):
    for x in torch.randn(2, 3, 8, 16)[..., ::2], torch.randn(1, 3, 8, 8).expand(2, -1, -1, -1):
        before = captured()
        trained(Loose(), (x,))
        assert captured() == before + 3 and not always, counted("pytorch")


def test_another_layout(graphs_on_cpu, always):
    net, x = Standardized(), torch.randn(2, 3, 8, 8)
    trained(net, (x,))
    net.to(memory_format=torch.channels_last)
    trained(net, (x,))
    trained(net, (x.to(memory_format=torch.channels_last),))
    assert captured() >= 8 and not always


def test_parameters_that_are_away_stay_there(graphs_on_cpu, always):
    twins = Twins(torch.optim.Adam, lr=0.01).train(4)
    assert twins.is_away()
    twins.train(3)
    assert twins.is_away() and all(map(is_away, twins.nets[0].parameters()))
    assert captured() >= 5 and not always
    twins.check()


def test_threads(graphs_on_cpu, always):
    net, x = torch_networks.Classifier(), torch.randn(2, 3, 16, 16)
    [net(x).sum().backward() for _ in range(2)]

    def run():
        [net(x).sum().backward() for _ in range(5)]

    threads = [threading.Thread(target=run) for _ in range(3)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert captured() == 16 and not always


def test_a_lack_of_memory_accuses_nobody(graphs_on_cpu, always, monkeypatch):
    net, x = torch_networks.Classifier(), torch.randn(2, 3, 16, 16)
    [net(x) for _ in range(3)]

    def lacking(*_):
        raise MemoryError

    monkeypatch.setattr("convoy.torch.graph.transcript.like", lacking)
    [net(x) for _ in range(3)]
    assert captured() == 5 and not always


# --------------------------------------------------------------------------------- to the last bit


def _sign(net):
    return math.copysign(1.0, net.o.number)


def _kind(net):
    return 2.0 if isinstance(net.o.nested["a"][0], float) else 1.0


def _kind_of_own(net):
    return 2.0 if isinstance(net.nested["a"][0], float) else 1.0


def _order(net):
    return next(iter(net.nested.values()))[0]


#: name: how it is read, the value, and another that is equal to it.
EQUAL = {
    "sign of zero": (_sign, "number", 0.0, -0.0),
    "sign of its own zero": (lambda net: math.copysign(1.0, net.number), "number", 0.0, -0.0),
    "nested": (_kind, "nested", {"a": [1]}, {"a": [1.0]}),
    "its own nested": (_kind_of_own, "nested", {"a": [1]}, {"a": [1.0]}),
    "order": (_order, "nested", {"a": [1], "b": [3]}, {"b": [3], "a": [1]}),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_values_that_differ(route, name):
    read, attribute, value, other = EQUAL[name]
    net = torch_hidden.Net(read)
    for each in net, net.o:
        setattr(each, attribute, value)
    for at in range(3):
        assert is_right(net, at)
    for each in net, net.o:
        setattr(each, attribute, other)
    for at in range(3):
        assert is_right(net, at)
    assert captured() == 5, counted("pytorch")


# ------------------------------------------------------------------------------------ what it keeps


class Owner:
    pass


def _by_object(net):
    net.owner = Owner()
    net.owner.net = net


def _by_child(net):
    net[0].parents = [net]


def _by_tensor(net):
    _by_object(net)
    net.table = torch.ones(1)


@pytest.mark.parametrize("refer", [_by_object, _by_child, _by_tensor])
def test_a_module_that_refers_to_itself_goes(route, refer):
    net, x = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU()), batch()
    refer(net)
    [net(x).sum().backward() for _ in range(3)]
    assert captured() == 2, counted("pytorch")
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_an_import_inside(route, tmp_path, monkeypatch):
    """What a module does when it is imported, it does once."""
    text = "VALUES = {}\ndef _fill():\n    VALUES['a'] = [1.0] * 9000\n_fill()\nSCALE = 1.0\n"
    (tmp_path / "convoy_test_import.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    def read(net):
        import convoy_test_import

        return convoy_test_import.SCALE

    net = torch_hidden.Net(read)
    net(batch())
    del sys.modules["convoy_test_import"]  # the pass that is captured imports it
    [net(batch(at)) for at in range(2)]
    assert captured() == 2, counted("pytorch")
    del sys.modules["convoy_test_import"]


# ----------------------------------------------------------------------------------------- assume


class Counting(nn.Module):
    """A count of its own, one of an object's, and a global one."""

    seen = 0

    def __init__(self):
        super().__init__()
        self.conv, self.o, self.calls = nn.Conv2d(2, 3, 3), torch_hidden.Plain(count=0), 0

    def forward(self, x):
        self.calls += 1
        self.o.count += 1
        Counting.seen += 1
        torch_hidden.TABLE["calls"] = self.calls
        return self.conv(x)


ASSUMED = "calls", "o.count", "seen", "torch_hidden.TABLE"


def test_assume(route):
    net, x = Counting(), batch()
    [net(x) for _ in range(4)]
    assert captured() == 0 and any("it changes" in each for each in counted("pytorch"))
    assert convoy.torch.assume(net, *ASSUMED) is net
    [net(x) for _ in range(4)]
    assert captured() == 4, counted("pytorch")
    net.o.count, net.calls, Counting.seen = 100, 200, 300
    [net(x) for _ in range(3)]
    assert captured() == 7
    torch_hidden.TABLE.pop("calls")


def test_assume_of_a_module_inside(route):
    net, x = nn.Sequential(Counting(), nn.ReLU()), batch()
    convoy.torch.assume(net[0], *ASSUMED)
    [net(x) for _ in range(4)]
    assert captured() == 3, counted("pytorch")
    torch_hidden.TABLE.pop("calls")


def test_what_is_assumed_and_is_not_so(route):
    """It is found, or the network is not captured."""
    net = torch_hidden.Net(lambda net: net.o.scale)
    convoy.torch.assume(net, "o.scale")
    for at in range(4):
        assert is_right(net, at)
    net.o.scale = 5.0
    right = [is_right(net, at) for at in range(10)]
    assert not right[0] and all(right[-4:])


@pytest.mark.parametrize(
    "paths, message",
    [
        (("o.scael",), "Plain has no scael; there is scale"),
        (("oo",), "Net has no oo; there is read, o"),
        (("torch_hidden.TABEL",), "torch_hidden has no TABEL; there is .*TABLE"),
        (("conv.weight",), "is a Parameter"),
        (("conv",), "is a Conv2d"),
        ((3,), "a path is 3"),
        ((), "no path"),
    ],
)
def test_paths_that_are_not_there(paths, message):
    with pytest.raises(convoy.ArgumentError, match=message):
        convoy.torch.assume(make("memory"), *paths)


def test_only_modules_are_assumed_of():
    with pytest.raises(convoy.ArgumentError, match="no torch.nn.Module"):
        convoy.torch.assume(3, "a")


# ----------------------------------------------------------------------------------------- report


def test_report(route):
    net = torch_hidden.Net(lambda net: net.o.scale)
    [net(batch(at)) for at in range(9)]
    net.eval()
    [net(batch(at)) for at in range(3)]
    (trained_line,) = [each for each in convoy.torch.report().splitlines() if "training:" in each]
    assert trained_line.startswith("  Net in training: 8 calls, compared at the 8th; watched are")
    assert "attributes of 5 modules" in trained_line and "o.scale" in trained_line
    (other,) = [each for each in convoy.torch.report().splitlines() if "in evaluation" in each]
    assert "2 calls, compared at the first" in other
    before = convoy.torch.report()
    convoy.torch.disable()
    assert convoy.torch.report() == before
    convoy.torch.enable("cpu", route=route)
