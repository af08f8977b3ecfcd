"""What a program does with PyTorch's autograd in, around and between the results of captured
networks goes as without Convoy: each step beside the same by PyTorch alone, from equal weights."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch import _switch
from convoy.torch._plainly import is_plain as plainly_now
from convoy.torch._plainly import plainly
from convoy.torch.graph.between import ASKED
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch_twins import graphs_win, one_thread  # noqa: F401  a fixture

IS_OLD = torch.__version__.startswith("1.")
FIRST = "the first call of its kind"


def long(name):
    """On PoCL most of the time goes into compiling."""
    return pytest.param(name, marks=pytest.mark.long)


@pytest.fixture(params=["graph-cpu", "measured-cpu", long("graph-pocl"), long("measured-pocl")])
def graphs(request, monkeypatch, tmp_path):
    route, device = request.param.split("-")
    if device == "pocl":
        device = request.getfixturevalue("opencl_device")
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    graphs_win(monkeypatch)
    torch.manual_seed(1)
    convoy.torch.enable(device, route=route)
    yield
    convoy.torch.disable()


def calls(name="Net"):
    """How often modules of that name ran as graphs, and why they did not."""
    counts = _switch._current.statistics.networks()
    here = {(how, why): n for (of, how, why), n in counts.items() if of == name}
    return here.pop(("graph", ""), 0), {why for _, why in here} - {FIRST}


def assert_steps(module, use, steps=4):
    """use(module, x) does a step and returns what is to be seen of it."""
    other = copy.deepcopy(module)
    for at in range(steps):
        other.load_state_dict(module.state_dict())
        seen = []
        for each, plain in (module, False), (other, True):
            each.zero_grad(set_to_none=True)
            x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(at))
            with plainly() if plain else torch.enable_grad():
                found = use(each, x)
            gradients = [parameter.grad for parameter in each.parameters()]
            seen.append([found, gradients, list(each.buffers())])
        torch.testing.assert_close(*map(kept, seen), rtol=2e-4, atol=2e-4)


def kept(seen):
    """Copies, and texts and None by what they are."""
    if isinstance(seen, (list, tuple)):
        return [kept(each) for each in seen]
    if isinstance(seen, torch.Tensor):
        return seen.detach().clone()
    return torch.tensor(float(hash(seen) % 1000)) if not isinstance(seen, (int, float)) else seen


# ------------------------------------------------------------------------------ inside a module


class Inside(nn.Module):
    """`touch` is what its forward function does with a tensor inside."""

    def __init__(self, touch):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 3)
        self.touch = touch

    def forward(self, x):
        y = self.first(x)
        self.touch(y, self)
        return self.last(y.relu())


class Net(Inside):
    pass


def _hook(y, module):
    y.register_hook(lambda gradient: SEEN.append(gradient.clone()))


def _changing_hook(y, module):
    y.register_hook(lambda gradient: gradient * 0.5)


def _hook_of_a_parameter(y, module):
    module.first.weight.register_hook(lambda gradient: SEEN.append(gradient.clone()))


def _hook_of_a_node(y, module):
    y.grad_fn.register_hook(lambda *_: SEEN.append("called"))


def _multi_hook(y, module):
    from torch.autograd.graph import register_multi_grad_hook

    register_multi_grad_hook([y], lambda gradients: SEEN.append(gradients[0].clone()))


def _retain(y, module):
    y.retain_grad()
    SEEN.append(y)


SEEN = []
TOUCHES = {
    _hook: "sets hooks",
    _changing_hook: "sets hooks",
    _hook_of_a_node: "looks at the grad_fn",
    _retain: "retains gradients",
}
if not IS_OLD:
    TOUCHES[_multi_hook] = "looks at the grad_fn"


@pytest.mark.parametrize("touch", TOUCHES, ids=lambda each: each.__name__)
def test_a_module_that_needs_its_own_graph(graphs, touch):
    def use(module, x):
        SEEN.clear()
        y = module(x)
        y.square().sum().backward()
        tensors = [each.grad if touch is _retain else each for each in SEEN[-1:]]
        return y, len(SEEN) if touch is not _retain else 0, tensors

    assert_steps(Net(touch), use)
    captured, reasons = calls()
    assert captured == 0 and any(TOUCHES[touch] in reason for reason in reasons)


def test_hooks_where_no_gradients_are(graphs):
    """There they cannot be, and so do not matter."""
    module = Net(lambda y, module: y.requires_grad and _hook(y, module))
    with torch.no_grad():
        for _ in range(3):
            module(torch.randn(2, 3, 8, 8))
    assert calls()[0] >= 2


class Checkpoints(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.layer, self.norm = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)
        self.reentrant = reentrant

    def forward(self, x):
        return checkpoint(self.norm, self.layer(x), use_reentrant=self.reentrant)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_inside(graphs, reentrant):
    def use(module, x):
        y = module(x)
        y.square().sum().backward()
        return y, int(module.norm.num_batches_tracked)

    assert_steps(Checkpoints(reentrant), use, steps=5)
    captured, reasons = calls("Checkpoints")
    assert captured == 0 and len(reasons) == 1
    assert reentrant or any("it checkpoints" in reason for reason in reasons)


class Writes(torch.autograd.Function):
    """Code of a module within its backward pass."""

    @staticmethod
    def forward(ctx, x, module):
        ctx.module = module
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        ctx.module.norm(torch.ones_like(gradient))
        return gradient, None


class WritesInBackward(Checkpoints):
    def forward(self, x):
        return Writes.apply(self.layer(x), self)


class Notes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        SEEN.append(gradient.clone())
        return gradient


class NotesGradients(Checkpoints):
    def forward(self, x):
        return Notes.apply(self.norm(self.layer(x)))


def _reversed(gradient, factor):
    return torch.neg(gradient) * factor


class Reverses(torch.autograd.Function):
    """The usual function of one's own: it computes, and nothing else."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return _reversed(gradient, ctx.factor) * (x.abs() <= 1), None


class ReversesGradients(Checkpoints):
    def forward(self, x):
        return Reverses.apply(self.norm(self.layer(x)), 0.5)


def test_functions_of_the_programs_own(graphs):
    """Those that do more than compute gradients go on doing it."""

    def use(module, x):
        SEEN.clear()
        y = module(x)
        y.square().sum().backward()
        return y, len(SEEN), SEEN[-1:]

    assert_steps(NotesGradients(False), use)
    captured, reasons = calls("NotesGradients")
    assert captured == 0 and "its function Notes may do more than compute gradients" in reasons
    assert_steps(ReversesGradients(False), use)
    assert calls("ReversesGradients") == (3, set())


def test_a_backward_pass_that_writes(graphs):
    """Neither a trace nor a proof of Convoy's writes what is the module's."""
    module = WritesInBackward(False)
    for _ in range(4):
        before = int(module.norm.num_batches_tracked)
        y = module(torch.randn(2, 3, 8, 8))
        assert int(module.norm.num_batches_tracked) == before
        y.sum().backward()
        assert int(module.norm.num_batches_tracked) == before + 1


# -------------------------------------------------------------------------------- between results


class Trunk(nn.Module):
    """What it returns are results that depend on one another, each in its own way on each before,
    with a dropout between."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.second, self.third = nn.Conv2d(4, 4, 3), nn.Conv2d(4, 2, 1)
        self.aside = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = self.norm(self.first(x))
        b = self.second(a).sigmoid() + a[..., 1:-1, 1:-1]
        c = self.third(b) * a[:, :2, 2:4, 2:4].mean() + self.aside(a).mean()
        return {"a": a, "more": (b, c), "aside": self.aside(a)}


def _results(module, x):
    found = module(x)
    return [found["a"], *found["more"], found["aside"]]


def _loss(*results):
    return sum((each.square() * (at + 1)).mean() for at, each in enumerate(results))


def _use_all(module, x):
    results = _results(module, x)
    _loss(*results).backward()
    return results


def _hooks(module, x):
    results, seen = _results(module, x), []
    for each in results[:2]:
        each.register_hook(lambda gradient: seen.append(gradient) or gradient * 0.5)
    _loss(*results).backward()
    return results, seen


def _only_behind(module, x):
    """The gradient comes to `a` and `b` by way of `c` alone."""
    a, b, c, _ = _results(module, x)
    seen = []
    a.register_hook(lambda gradient: seen.append(gradient) or gradient * 0)
    b.register_hook(lambda gradient: seen.append(gradient) or gradient * 2)
    c.square().sum().backward()
    return seen


def _retained(module, x):
    results = _results(module, x)
    for each in results:
        each.retain_grad()
    _loss(*results).backward()
    return [each.grad for each in results]


def _asked(module, x):
    a, b, c, aside = _results(module, x)
    return (
        torch.autograd.grad(_loss(a, b, c), [a, b, module.first.weight], retain_graph=True),
        torch.autograd.grad(c.square().sum(), [b, a], retain_graph=True),
        torch.autograd.grad(_loss(a, b, c, aside), [module.first.weight], retain_graph=True),
        torch.autograd.grad(aside.square().sum(), a)[0],
    )


def _inputs(module, x):
    a, b, c, _ = _results(module, x)
    _loss(a, b, c).backward(inputs=[a, module.second.weight], retain_graph=True)
    found = a.grad
    b.square().sum().backward()
    return found


def _asked_of_a_node(module, x):
    a, b, c, _ = _results(module, x)
    seen = []
    a.grad_fn.register_hook(lambda _, gradients: seen.append(gradients[0]))
    _loss(b, c).backward()
    return seen


def _twice(module, x):
    """Gradients of gradients by way of a result."""
    a, b, c, _ = _results(module, x)
    (slope,) = torch.autograd.grad(c.square().sum(), a, create_graph=True)
    (slope.square().sum() + _loss(a, b)).backward()
    return slope


ASKING = [_hooks, _only_behind, _retained, _asked, _inputs, _asked_of_a_node, _twice]


def test_results_that_depend_on_one_another(graphs):
    """Nobody asks for gradients between them."""
    assert_steps(Trunk(), _use_all)
    assert calls("Trunk") == (3, set())


@pytest.mark.parametrize("use", ASKING, ids=lambda each: each.__name__)
def test_gradients_between_results(graphs, use):
    """The first step in which they are asked for is right already."""
    module = Trunk()
    assert_steps(module, _use_all, steps=2)
    assert_steps(module, use, steps=3)
    captured, reasons = calls("Trunk")
    assert captured == 2 and (reasons == {ASKED} or use is _twice)


def test_gradients_between_results_on_a_device(opencl_device):
    with convoy.torch.enabled(opencl_device, route="graph"):
        module = Trunk()
        assert_steps(module, _use_all, steps=2)
        assert_steps(module, _hooks, steps=2)
        assert calls("Trunk") == (2, {ASKED})


def test_a_hook_that_is_gone(graphs):
    def use(module, x):
        results = _results(module, x)
        results[0].register_hook(lambda gradient: gradient * 0).remove()
        _loss(*results).backward()

    assert_steps(Trunk(), use)
    assert calls("Trunk") == (3, set())


class Drops(Trunk):
    def forward(self, x):
        a = self.first(x)
        return a, nn.functional.dropout(self.second(a), 0.5)


def test_random_numbers_between_results(graphs):
    """The gradient between them is that of the very numbers that were drawn."""
    module = Drops()
    for _ in range(2):
        _loss(*module(torch.randn(2, 3, 8, 8))).backward()
    module.zero_grad(set_to_none=True)
    with torch.no_grad():
        module.second.bias.fill_(10.0)  # so that zero is what was dropped
    x = torch.randn(2, 3, 8, 8)
    a, b = module(x)
    seen = []
    a.register_hook(seen.append)
    b.sum().backward()
    kept = (b != 0).float() * 2
    wanted = torch.nn.grad.conv2d_input(a.shape, module.second.weight, kept)
    torch.testing.assert_close(seen[0], wanted, rtol=1e-4, atol=1e-4)
    assert calls("Drops")[0] == 2


class Heads(nn.Module):
    def __init__(self, split=lambda y: y):
        super().__init__()
        self.trunk, self.split = nn.Conv2d(3, 4, 3), split
        self.one, self.other = nn.Conv2d(4, 2, 3), nn.Conv2d(3, 5, 3)
        self.apart = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        y = self.trunk(x)
        return self.one(y), self.other(x), self.apart(self.split(y))


def _one_by_one(module, x):
    one, other, apart = module(x)
    for each in one, other, apart:
        each.square().sum().backward()


def _step_between(module, x):
    one, other, _ = module(x)
    one.square().sum().backward(retain_graph=True)
    with torch.no_grad():
        for each in *module.one.parameters(), *module.trunk.parameters():
            each.sub_(each.grad, alpha=0.01)
    other.square().sum().backward()


def _hook_on_one(module, x):
    """It is called when a gradient comes there, and only then."""
    one, other, _ = module(x)
    seen = []
    one.register_hook(lambda gradient: seen.append(gradient * 1))
    other.square().sum().backward(retain_graph=True)
    count = len(seen)
    one.square().sum().backward()
    return seen, count


def _written(module, x):
    """In place, before backward: nothing else is computed from it."""
    one, other, _ = module(x)
    one.mul_(2)
    (one.square().sum() + other.sum()).backward()
    return one


@pytest.mark.parametrize(
    "use", [_one_by_one, _step_between, _hook_on_one, _written], ids=lambda each: each.__name__
)
def test_results_apart(graphs, use):
    assert_steps(Heads(torch.detach), use)
    assert calls("Heads") == (3, set())


def test_results_that_share_layers_one_by_one(graphs):
    """PyTorch asks for retain_graph there."""

    def use(module, x):
        one, _, apart = module(x)
        one.square().sum().backward(retain_graph=plainly_now())
        apart.square().sum().backward()

    module = Heads()
    assert_steps(module, lambda module, x: module(x)[0].sum().backward(), steps=2)
    assert_steps(module, use, steps=3)
    assert calls("Heads") == (4, set())


class Squashes(Heads):
    def forward(self, x):
        return self.trunk(x).sigmoid(), self.other(x)


def test_a_result_that_is_written_before_backward(graphs):
    """PyTorch computes the gradient of its own from the result, and raises."""

    def use(module, x):
        one, other = module(x)
        doubled = one * 2 if plainly_now() else one.mul_(2)
        (doubled.square().sum() + other.sum()).backward()
        return doubled

    module = Squashes()
    assert_steps(module, lambda module, x: module(x)[0].sum().backward(), steps=2)
    assert_steps(module, use)
    assert calls("Squashes") == (5, set())


def test_a_result_goes_backward_once(graphs):
    module = Heads()
    for _ in range(3):
        one, other, _ = module(torch.randn(2, 3, 8, 8))
        one.sum().backward()
        with pytest.raises(RuntimeError, match="second time"):
            one.sum().backward()
    assert calls("Heads")[0] == 2


def test_a_parameter_changed_before_one_result_goes_backward(graphs):
    module = Heads()
    for _ in range(3):
        one, other, _ = module(torch.randn(2, 3, 8, 8))
        with torch.no_grad():
            module.one.weight.add_(1)
        other.sum().backward()
        with pytest.raises(RuntimeError, match="inplace"):
            one.square().sum().backward()
    assert calls("Heads")[0] == 2


class Same(Heads):
    def forward(self, x):
        y = self.trunk(x)
        return y, self.apart(y), {"again": y}


def test_a_tensor_that_is_returned_twice(graphs):
    def use(module, x):
        first, other, more = module(x)
        assert more["again"] is first
        (first.sum() + more["again"].square().sum() + other.sum()).backward()
        return first

    assert_steps(Same(), use)
    assert calls("Same") == (3, set())


class Pooled(Heads):
    def __init__(self):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        return self.pool(self.trunk(x))


def test_strides_of_axes_of_one_element(graphs):
    module = Pooled().to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with plainly():
        wanted = module(x).stride()
    for _ in range(3):
        assert module(x).stride() == wanted
    assert calls("Pooled")[0] == 2
