"""Networks captured as graphs give PyTorch's results, gradients and statistics, and whatever cannot
be captured is PyTorch's to compute, with a reason in the report."""

import copy
import gc
import io
import pickle
import random
import threading
import weakref

import numpy
import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
import torch_networks
from convoy.torch import _switch
from convoy.torch._plainly import plainly
from torch import nn
from torch_twins import one_thread  # noqa: F401  a fixture

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


@pytest.fixture
def graphs(monkeypatch):
    monkeypatch.setattr(convoy.torch.graph.network, "MOST_HOST_CALLS", 0)
    torch.manual_seed(1)
    convoy.torch.enable("cpu", route="graph")
    yield
    convoy.torch.disable()


def calls():
    """How often modules ran as graphs, and why they did not."""
    counts = _switch._current.statistics.networks()
    captured = sum(count for (_, how, _), count in counts.items() if how == "graph")
    reasons = {reason for (_, how, reason), _ in counts.items() if how != "graph"}
    return captured, reasons - {"the first call of its kind"}


def results_of(returned):
    return [each for each in torch.utils._pytree.tree_flatten(returned)[0] if torch.is_tensor(each)]


def loss_of(returned):
    """Of all results that have gradients, each with a weight of its own."""
    ends = [each for each in results_of(returned) if each.requires_grad]
    return sum(
        (each * torch.linspace(-1, 1, each.numel()).reshape(each.shape)).sum() for each in ends
    )


def step(module, *args, plain=False, **kwargs):
    """Results, gradients of parameters and arguments, buffers."""
    module.zero_grad(set_to_none=True)
    args = [each.detach().clone().requires_grad_(each.requires_grad) for each in args]
    with plainly() if plain else torch.enable_grad():
        returned = module(*args, **kwargs)
        loss_of(returned).backward()
    gradients = [each.grad for each in [*module.parameters(), *args]]
    return results_of(returned), gradients, list(module.buffers())


def close(got, wanted, scale=0.0):
    if got is None or wanted is None:
        return got is wanted
    far = (got.detach().double() - wanted.detach().double()).norm()
    same = got.shape == wanted.shape and got.dtype == wanted.dtype
    return same and float(far) <= 2e-4 * float(wanted.detach().double().norm()) + 1e-5 * scale


def assert_same(got, wanted):
    for names, mine, theirs in zip(("results", "gradients", "buffers"), got, wanted):
        assert len(mine) == len(theirs)
        scale = max(
            (
                float(each.detach().norm())
                for each in theirs
                if each is not None and each.is_floating_point()
            ),
            default=0.0,
        )
        wrong = [at for at, pair in enumerate(zip(mine, theirs)) if not close(*pair, scale)]
        assert not wrong, f"{names} {wrong}"


def assert_steps(module, *args, steps=3, captured=True, **kwargs):
    """Each step from equal weights, followed by one of SGD with momentum."""
    other = copy.deepcopy(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
    for _ in range(steps):
        other.load_state_dict(module.state_dict())
        assert_same(step(module, *args, **kwargs), step(other, *args, plain=True, **kwargs))
        optimizer.step()
    if captured:
        assert calls() == (steps - 1, set())


# PyTorch 1 has no rules for the derivatives of mish and softplus: there this network stays
# PyTorch's.
LATER = set()
if torch.__version__.startswith("1."):
    LATER = {torch_networks.Functions}


@pytest.mark.parametrize("network", torch_networks.WHOLE, ids=lambda each: each.__name__)
def test_training(graphs, network):
    assert_steps(network(), torch.randn(2, 3, 16, 16), captured=network not in LATER)
    if network in LATER:
        assert calls()[1], "declined without a reason"


@pytest.mark.parametrize("network", torch_networks.WHOLE[:4], ids=lambda each: each.__name__)
def test_evaluation(graphs, network):
    module = network()
    with torch.no_grad():
        for parameter in module.buffers():
            parameter.add_(1)
    module.eval()
    for mode in torch.no_grad, torch.inference_mode:
        with mode():
            for _ in range(3):
                x = torch.randn(2, 3, 16, 16)
                with plainly():
                    wanted = results_of(module(x))
                assert all(map(close, results_of(module(x)), wanted))
    assert calls() == (5, set())
    assert_steps(module, torch.randn(2, 3, 16, 16), captured=False)  # in evaluation mode


def test_arguments(graphs):
    """Gradients of the argument, keywords, numbers among the arguments, other extents."""
    module = torch_networks.Several()
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    assert_steps(module, x, factor=2.0)
    assert_steps(module, x, more=torch.randn(2, 4, 8, 8), steps=2, captured=False)
    assert_steps(module, x, factor=3.0, steps=2, captured=False)
    last = torch.randn(3, 3, 9, 7).to(memory_format=torch.channels_last)
    assert_steps(module, last, steps=2, captured=False)
    assert calls() == (5, set())


def test_results_look_like_pytorchs(graphs):
    module = torch_networks.Several()
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    for _ in range(2):
        got = module(x)
    with plainly():
        wanted = module(x)
    assert list(got) == list(wanted) and got["name"] == "several"
    assert type(got["other"]) is list and got["other"][1].dtype == torch.int64
    assert got["used"].requires_grad and not got["other"][1].requires_grad
    assert got["used"].stride() == wanted["used"].stride()


def test_results_without_a_gradient(graphs):
    """What nothing asks for has none, as in PyTorch: an optimizer leaves it alone."""
    module = torch_networks.Several()
    x = torch.randn(2, 3, 8, 8)
    for _ in range(3):
        module.zero_grad(set_to_none=True)
        module(x)["used"].sum().backward()
        assert module.unused.weight.grad is None and module.used.weight.grad is not None
    module(x)["other"][1] * 2  # an integer


class Rows(nn.Module):
    """Rows of a table, by a buffer of integers."""

    def __init__(self):
        super().__init__()
        self.into = nn.Linear(16, 16)
        self.table = nn.Parameter(torch.randn(9, 16))
        self.register_buffer("places", torch.tensor([3, 0, 8, 8, 1]))

    def forward(self, x):
        return self.into(x)[..., None, :] * self.table[self.places]


def test_indices_that_change(graphs):
    """Their values are part of what is captured, however they are written."""
    module = Rows()
    x = torch.randn(4, 16)
    assert_steps(module, x)
    for change in (
        lambda: module.places.copy_(torch.tensor([1, 2, 3, 4, 5])),
        lambda: module.places.data.fill_(7),
        lambda: module.load_state_dict({**module.state_dict(), "places": torch.arange(5)}),
    ):
        change()
        assert_steps(module, x, steps=2, captured=False)
    assert calls()[0] >= 5


@pytest.mark.parametrize("wrong", [1.01, -1.0])
def test_a_number_that_is_wrong(wrong):
    """Rounding explains what PyTorch has no digit of, and nothing else."""
    from convoy.torch.graph.proof import at_once
    from convoy.torch.graph.proof import difference as stops

    def difference(*arguments):
        return at_once(stops(*arguments))

    numbers = torch.Generator().manual_seed(0)
    large = torch.randn(100, generator=numbers)
    number, nothing = torch.tensor([0.5]), torch.tensor([1e-9])
    names, wanted = ["large", "number", "nothing"], [large, number, nothing]

    def in_float64(which):
        off = 0.0 if which is None else 1e-6 * torch.randn(1, generator=numbers).double()
        return [large.double(), number.double() * (1 + off), torch.tensor([1e-17]).double()]

    assert difference(names, [large, number, nothing * -300], wanted, in_float64) is None
    found = difference(names, [large, number * wrong, nothing], wanted, in_float64)
    assert found is not None and found.name == "number"
    found = difference(names, [large, number, nothing * 1e9 * wrong], wanted, in_float64)
    assert found is not None and found.name == "nothing"


class Dropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(16, 64), nn.Dropout(0.25)

    def forward(self, x):
        return self.drop(self.linear(x))


def test_dropout(graphs):
    module = Dropout()
    x = torch.randn(512, 16, requires_grad=True)
    module(x)
    torch.manual_seed(5)
    first, second = module(x), module(x)
    torch.manual_seed(5)
    again = module(x)
    assert torch.equal(first, again) and not torch.equal(first, second)
    kept = (first != 0).float()
    assert abs(float(kept.mean()) - 0.75) < 0.02
    with plainly():
        torch.testing.assert_close(first, module.linear(x) * kept / 0.75, rtol=1e-4, atol=1e-5)
    first.sum().backward()
    wanted = (kept.sum(0)[:, None] * 0 + kept.t() @ x.detach()) / 0.75
    torch.testing.assert_close(module.linear.weight.grad, wanted, rtol=1e-4, atol=1e-4)
    assert calls() == (3, set())


# ---------------------------------------------------------------------------------- left to PyTorch


class Base(nn.Module):
    """Enough for a network."""

    def __init__(self):
        super().__init__()
        self.layer, self.inner = nn.Linear(4, 4), nn.Identity()
        self.register_buffer("kept", torch.zeros(4))
        self.count = 0

    def forward(self, x):
        return self.inner(self.layer(x))


OUTSIDE = torch.ones(4)


class Branches(Base):
    def forward(self, x):
        return super().forward(x) * (2 if x.sum() > 0 else 3)


class Counts(Base):
    def forward(self, x):
        self.count += 1
        return super().forward(x)


class Assigns(Base):
    def forward(self, x):
        self.kept = self.kept * 0.5 + 1
        return super().forward(x) + self.kept


class DrawsFromPython(Base):
    def forward(self, x):
        return super().forward(x) * random.random()


class DrawsFromNumpy(Base):
    def forward(self, x):
        return super().forward(x) * float(numpy.random.rand())


class ReadsOutside(Base):
    def forward(self, x):
        return super().forward(x) + OUTSIDE


class WritesArgument(Base):
    def forward(self, x):
        return super().forward(x.mul_(2))


class WritesParameter(Base):
    def forward(self, x):
        self.layer.weight.data = torch.renorm(self.layer.weight.data, 2, 0, 1.0)
        return super().forward(x)


class AssignsParameter(Base):
    def forward(self, x):
        with torch.no_grad():
            self.layer.weight *= 0.9
        return super().forward(x)


class Returns(Base):
    def forward(self, x):
        return super().forward(x), x


class NoOperator(Base):
    def forward(self, x):
        return torch.special.i0(super().forward(x).detach()) + super().forward(x)


DECLINED = {
    Branches: "cannot be traced",
    Counts: "its attribute count",
    Assigns: "kept",
    DrawsFromPython: "random numbers that are not PyTorch's",
    DrawsFromNumpy: "random numbers that are not PyTorch's",
    ReadsOutside: "",  # PyTorch 2 does not trace it, PyTorch 1 does
    WritesArgument: "writes its argument",
    WritesParameter: "moves a tensor",
    AssignsParameter: "assigns one of its parameters",
    Returns: "part of what it was given",
    NoOperator: "operators that Convoy has not",
}


@pytest.mark.parametrize("network", DECLINED, ids=lambda each: each.__name__)
def test_declined(graphs, network):
    module = network()
    other = copy.deepcopy(module)
    for seed in range(3):
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed))
        got = []
        for each, plain in (module, False), (other, True):
            random.seed(seed), numpy.random.seed(seed)
            got.append(step(each, x, plain=plain))
        assert_same(*got)
    assert module.count == other.count
    captured, reasons = calls()
    assert captured == 0 and any(DECLINED[network] in reason for reason in reasons)
    assert any(network.__name__ in line for line in convoy.torch.report().splitlines())


def test_hooks(graphs):
    """Of modules inside they are the module's own doing, of the module itself Convoy's to call."""
    module, seen = Base(), []
    module.register_forward_hook(lambda *_: seen.append("forward"))
    module.register_forward_pre_hook(lambda *_: seen.append("before"))
    for _ in range(3):
        step(module, torch.randn(3, 4))
    assert seen == ["before", "forward"] * 3
    assert calls()[0] == 2
    module.layer.register_forward_hook(lambda *_: seen.append("inside"))
    for _ in range(3):
        step(module, torch.randn(3, 4))
    assert seen.count("inside") == 3 and "layer has hooks" in calls()[1]


def around(name):
    return {
        "autocast": lambda f: torch.autocast("cpu", torch.bfloat16)(f)(),
        "vmap": lambda f: (torch.vmap if VERSION >= (2, 0) else _functorch().vmap)(lambda _: f())(
            torch.zeros(2)
        ),
        "dtype": _in_double,
    }[name]


def _functorch():
    import functorch

    return functorch


def _in_double(function):
    torch.set_default_dtype(torch.float64)
    try:
        return function()
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", ["autocast", "vmap", "dtype"])
def test_surroundings(graphs, name):
    module, x = Base(), torch.randn(3, 4)
    for _ in range(3):
        module(x)
    captured = calls()[0]
    got = around(name)(lambda: module(x))
    with plainly():
        wanted = around(name)(lambda: module(x))
    torch.testing.assert_close(got, wanted)
    assert calls()[0] == captured


@pytest.mark.parametrize(
    "x",
    [torch.randn(3, 4).double(), torch.zeros(0, 4), torch.randn(3, 4).to_sparse()],
    ids=["double", "empty", "sparse"],
)
def test_arguments_that_are_pytorchs(graphs, x):
    module = Base().double() if x.dtype == torch.float64 else Base()
    for _ in range(3):
        module(x)
    assert calls()[0] == 0


# -------------------------------------------------------------------------------------- guards


def _freeze(module):
    module.norm.eval()


def _replace(module):
    module.last.weight = nn.Parameter(torch.randn_like(module.last.weight))


def _write_silently(module):
    module.last.weight.data.view(-1)[3] += 1


def _load(module):
    module.load_state_dict({k: v * 1.5 for k, v in module.state_dict().items()})


def _without_gradient(module):
    module.first.weight.requires_grad_(False)


def _other_layer(module):
    module.last = nn.Conv2d(8, 4, 1, bias=False)


def _other_number(module):
    module.wide.padding = (1, 1)
    module.wide.dilation = (1, 1)


def _other_momentum(module):
    module.norm.momentum = 0.5


CHANGES = [
    _freeze,
    _replace,
    _write_silently,
    _load,
    _without_gradient,
    _other_layer,
    _other_number,
    _other_momentum,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_changes_of_the_module(graphs, change):
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    other = copy.deepcopy(module)
    for _ in range(2):
        assert_same(step(module, x), step(other, x, plain=True))
    torch.manual_seed(2)
    change(module)
    torch.manual_seed(2)
    change(other)
    for _ in range(3):
        assert_same(step(module, x), step(other, x, plain=True))
    assert calls()[0] >= 3


# ------------------------------------------------------------------------------------- autograd


@pytest.fixture
def pair(graphs):
    """A captured network and its twin, which is called plainly."""
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    step(module, x), step(module, x)
    assert calls()[0] == 1
    return module, copy.deepcopy(module), x


def gradients(module):
    return [each.grad.clone() for each in module.parameters()]


def test_several_forward_passes_before_backward(pair):
    module, other, x = pair
    for each, plain in (module, False), (other, True):
        each.zero_grad(set_to_none=True)
        with plainly() if plain else torch.enable_grad():
            first, second, third = each(x), each(x * 2), each(x * 3)
            second.square().sum().backward()
            first.sum().backward()
            third.mean().backward()
    assert all(map(close, gradients(module), gradients(other)))


def test_backward_twice(pair):
    module, other, x = pair
    for each, plain in (module, False), (other, True):
        each.zero_grad(set_to_none=True)
        with plainly() if plain else torch.enable_grad():
            loss = each(x).square().sum()
            loss.backward(retain_graph=True)
            loss.backward()
            with pytest.raises(RuntimeError, match="second time"):
                loss.backward()
    assert all(map(close, gradients(module), gradients(other)))
    assert all(map(close, module.buffers(), other.buffers()))  # written once


def test_gradients_of_gradients(pair):
    module, other, x = pair
    for each, plain in (module, False), (other, True):
        each.zero_grad(set_to_none=True)
        with plainly() if plain else torch.enable_grad():
            given = x.clone().requires_grad_()
            for _ in range(2):
                (slope,) = torch.autograd.grad(each(given).square().sum(), given, create_graph=True)
                (slope.square().sum() + each(given).sum()).backward()
    assert all(map(close, gradients(module), gradients(other)))
    assert "gradients of its gradients are asked for" in calls()[1]


def test_a_parameter_changed_before_backward(pair):
    module, _, x = pair
    loss = module(x).sum()
    with torch.no_grad():
        module.last.weight.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()


class Decays(nn.Module):
    """Backward needs what the buffer had before forward wrote it."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.register_buffer("factor", torch.ones(4, 8, 8))
        self.register_buffer("decay", torch.ones(()))

    def forward(self, x):
        y = self.conv(x) * self.factor.clone()
        self.factor.mul_(self.decay)
        return y


def test_a_buffer_that_forward_overwrites(graphs):
    """The factor begins as what changes nothing, so that a wrong one is not noticed at once. With
    PyTorch 1, which traces no writes, the network stays PyTorch's."""
    captured, module = VERSION >= (2,), Decays()
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    assert_steps(module, x, captured=captured)
    for decay in 0.5, 3.0, 0.25:
        module.decay.fill_(decay)
        before = calls()[0]
        assert_steps(module, x, captured=False)
        assert not captured or calls() == (before + 3, set())


def test_checkpointing(pair):
    from torch.utils.checkpoint import checkpoint

    module, other, x = pair
    for each, plain in (module, False), (other, True):
        each.zero_grad(set_to_none=True)
        with plainly() if plain else torch.enable_grad():
            for reentrant in (True, False):
                given = x.clone().requires_grad_()
                checkpoint(each, given, use_reentrant=reentrant).sum().backward()
    assert all(map(close, gradients(module), gradients(other)))


def test_accumulation(pair):
    module, other, x = pair
    for each, plain in (module, False), (other, True):
        each.zero_grad(set_to_none=True)
        with plainly() if plain else torch.enable_grad():
            for _ in range(3):
                each(x).mean().backward()
    assert all(map(close, gradients(module), gradients(other)))


# ------------------------------------------------------------------------------------- lifetimes


def test_modules_know_nothing_of_it(pair):
    module, other, x = pair
    assert module.__dict__.keys() == other.__dict__.keys()
    twin = pickle.loads(pickle.dumps(copy.deepcopy(module)))
    torch.save(module, io.BytesIO())
    torch.save(module.state_dict(), io.BytesIO())
    assert_same(step(twin, x), step(module, x, plain=True))


def test_a_network_goes_with_its_module(graphs):
    module = torch_networks.Convolutions()
    for _ in range(2):
        step(module, torch.randn(2, 3, 8, 8))
    (record,) = (record for _, record in _switch._current.networks._records.values())
    (network,) = record.networks.values()
    gone = weakref.ref(network.pair)
    del record, network, module
    gc.collect()
    assert gone() is None and not _switch._current.networks._records


def test_traces_leave_no_source(graphs):
    """PyTorch would keep it for good."""
    module, sources = torch_networks.WHOLE[0](), torch.fx.graph_module._loader.eval_cache
    before = len(sources)
    step(module, torch.randn(2, 3, 16, 16))
    step(module, torch.randn(2, 3, 16, 16))
    assert calls() == (1, set()) and len(sources) == before


def test_kinds_of_arguments_are_forgotten(graphs):
    module = Base()
    for count in range(1, 13):
        for _ in range(2):
            module(torch.randn(count, 4))
    (record,) = (record for _, record in _switch._current.networks._records.values())
    assert len(record.networks) == 8 and calls()[0] == 12


def test_turned_off_between_forward_and_backward(pair):
    module, other, x = pair
    module.zero_grad(set_to_none=True)
    loss = module(x).sum()
    convoy.torch.disable()
    loss.backward()
    step(other, x, plain=True)
    other.zero_grad(set_to_none=True)
    other(x).sum().backward()
    assert all(map(close, gradients(module), gradients(other)))


def test_threads(graphs):
    """Each trains its own network, which is captured when no other thread is inside a module, and
    one that they share and that was captured before is called by all."""
    shared, failures = torch_networks.Convolutions().eval(), []
    with torch.no_grad():
        for _ in range(3):
            shared(torch.ones(1, 3, 8, 8))
    before = calls()[0]
    assert before

    def train(seed):
        try:
            module, other = Base(), None
            for at in range(6):
                x = torch.randn(3, 4)
                other = copy.deepcopy(module)
                assert_same(step(module, x), step(other, x, plain=True))
                with torch.no_grad():
                    image = torch.full((1, 3, 8, 8), float(seed + at))
                    got = shared(image)
                    with plainly():
                        assert close(got, shared(image))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and calls()[0] - before >= 3 * 6


# --------------------------------------------------------------------------------- wrong results


def test_a_wrong_operator_is_noticed_before_it_is_used(graphs, monkeypatch):
    table = convoy.torch.graph.operators.OPERATORS
    right = table["silu.default"]

    def wrong(e, a):
        value = right(e, a)
        return e.elementwise("y = x * 1.001", [value], value.shape)

    monkeypatch.setitem(table, "silu.default", wrong)
    module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
    assert_steps(module, x, steps=5, captured=False)
    captured, reasons = calls()
    assert captured == 0 and any("gives something else" in reason for reason in reasons)


def test_every_step_is_compared_if_asked_for(monkeypatch):
    monkeypatch.setenv("CONVOY_CHECK", "1")
    with convoy.torch.enabled("cpu", route="graph"):
        module, x = torch_networks.Convolutions(), torch.randn(2, 3, 8, 8)
        assert_steps(module, x)
        dropout = Dropout()
        for _ in range(3):
            step(dropout, torch.randn(4, 16))
        (record,) = (
            record for of, record in _switch._current.networks._records.values() if of() is module
        )
        (network,) = record.networks.values()
        forward = network.pair.forward

        def wrong(*arguments):
            values, news, call = forward(*arguments)
            return [values[0] * 1.01], news, call

        monkeypatch.setattr(network.pair, "forward", wrong)
        with pytest.raises(convoy.WrongResultError, match="result 0"):
            module(x)
