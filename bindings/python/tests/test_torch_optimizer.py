"""Optimizers whose steps run where captured networks do: PyTorch's numbers, however they are read,
written, saved and gone on with, and nothing sent or fetched that need not be."""

import contextlib
import copy
import gc
import io
import os
import pickle
import signal
import threading
import time

import numpy
import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch import _switch
from convoy.torch._plainly import plainly
from convoy.torch.graph import mirror, optimizer
from convoy.torch.graph.away import AwayTensor, is_away
from convoy.torch.graph.untouched import Untouched
from torch import nn

import convoy

IS_OLD = torch.__version__.startswith("1.")


@pytest.fixture(autouse=True)
def one_thread():
    """The networks are small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["cpu", "pocl"])
def device(request):
    if request.param == "cpu":
        return "cpu"
    return request.getfixturevalue("opencl_device")


@pytest.fixture
def graphs(device):
    convoy.torch.enable(device, route="graph")
    yield device
    convoy.torch.disable()


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


@pytest.mark.parametrize("name", STEPS)
def test_steps(graphs, name):
    kind, options = STEPS[name]
    twins = Twins(kind, **options).train(7)
    assert twins.is_away()
    twins.check()
    twins.train(2).check()


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


@pytest.mark.parametrize("kind", [SGD, ADAM])
def test_parameters_and_state_stay_where_they_are(graphs, moved, kind):
    """What a step writes are batch, tangent, statistics and the step's two numbers, with PyTorch 1,
    which copies gradients, these too; what it reads are results and gradients."""
    net = make()
    stepper = convoy.torch.optimizer(kind(net.parameters(), lr=0.01))
    sizes = sorted(each.numel() for each in net.parameters())

    def step(at):
        stepper.zero_grad()
        backward(net, at)
        stepper.step()

    for at in range(4):
        step(at)
    moved["write"].clear(), moved["read"].clear()
    step(4)
    statistics = [8, 8]
    gradients = sizes if IS_OLD else []
    assert sorted(moved["write"]) == sorted([4 * 3 * 36, 16, 1, 1, *statistics, *gradients])
    assert sorted(moved["read"]) == sorted([16, *statistics, *sizes])
    moved["read"].clear()
    net[4].weight.detach()
    states = {SGD: 0, ADAM: 2}[kind]
    assert sorted(moved["read"]) == sorted(sizes * (1 + states))  # all, once
    net.state_dict(), stepper.state_dict()
    assert len(moved["read"]) == len(sizes) * (1 + states)


@pytest.mark.skipif(IS_OLD, reason="it copies gradients")
def test_gradients_that_somebody_uses_are_sent(graphs, moved):
    """Of one that has been used nobody knows what was done to it, or will be."""
    twins = Twins(**MOMENTUM).train(4)
    weight = twins.nets[0][4].weight

    def sent(between):
        moved["write"].clear()
        twins.train(1, between)
        return weight.numel() in moved["write"]

    assert not sent(lambda *_: None) and type(weight.grad) is Untouched
    assert sent(lambda net, _: net[4].weight.grad.norm()) and type(weight.grad) is torch.Tensor
    assert sent(lambda net, _: net[4].weight.grad.numpy().fill(0.1))
    assert sent(lambda net, _: net[0].weight.grad.data.mul_(2))
    assert not sent(lambda net, _: net[4].weight.grad.shape)
    twins.check()
    assert copy.deepcopy(weight.grad).equal(weight.grad)


@pytest.mark.parametrize("kind", ["register_hook", "register_post_accumulate_grad_hook"])
def test_gradients_that_hooks_change(graphs, kind):
    """Even through .data, which no version tells."""
    if not hasattr(torch.Tensor, kind):
        pytest.skip("it has no such hooks")
    twins = Twins(**MOMENTUM).train(3)

    def hook(given):
        (given.grad if isinstance(given, nn.Parameter) else given).data.mul_(2)

    for net in twins.nets:
        getattr(net[4].weight, kind)(hook)
    twins.train(4)
    assert twins.is_away()
    twins.check()


def test_gradients_of_other_optimizers_are_plain(graphs):
    twins = Twins(attached=False, **MOMENTUM).train(4)
    assert all(type(each.grad) is torch.Tensor for each in twins.nets[0].parameters())


# ---------------------------------------------------------------------------------------- reading


def _saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file) if IS_OLD else torch.load(file, weights_only=False)


def _average(net):
    averaged = torch.optim.swa_utils.AveragedModel(net)
    averaged.update_parameters(net)
    return averaged.parameters()


def _evaluated(net):
    net.eval()
    with torch.no_grad():
        found = [net(next(iter(batch(77)))) for _ in range(3)]  # the third is captured
    net.train()
    return found


def _shown(bias):
    return torch.tensor([float(each) for each in repr(bias).split("[")[1].split("]")[0].split(",")])


READS = {
    "state_dict": lambda net: net.state_dict().values(),
    "state_dict_vars": lambda net: list(_saved(net.state_dict(keep_vars=True)).values()),
    "deepcopy": lambda net: copy.deepcopy(net).parameters(),
    "deepcopy_parameter": lambda net: [copy.deepcopy(each) for each in net.parameters()],
    "copy": lambda net: [copy.copy(each) for each in net.parameters()],
    "pickle": lambda net: pickle.loads(pickle.dumps(net)).parameters(),
    "save": lambda net: _saved(net).parameters(),
    "data": lambda net: [each.data for each in net.parameters()],
    "detach": lambda net: [each.detach() for each in net.parameters()],
    "numpy": lambda net: [torch.from_numpy(each.detach().numpy()) for each in net.parameters()],
    "asarray": lambda net: [torch.tensor(numpy.asarray(each.data)) for each in net.parameters()],
    "dlpack": lambda net: [torch.from_dlpack(each.detach()) for each in net.parameters()],
    "norm": lambda net: [each.norm() for each in net.parameters()],
    "item": lambda net: [torch.tensor(each.view(-1)[3].item()) for each in net.parameters()],
    "list": lambda net: [torch.tensor(each.tolist()) for each in net.parameters()],
    "rows": lambda net: [row for each in net.parameters() for row in each],
    "vector": lambda net: [nn.utils.parameters_to_vector(net.parameters())],
    "foreach": lambda net: torch._foreach_mul([p.detach() for p in net.parameters()], 2.0),
    "kept": lambda net: [each.detach().clone() for each in net.parameters()],
    "stack": lambda net: [torch.cat([torch.ones(1, 4), net[4].weight.t()])],
    "double": lambda net: copy.deepcopy(net).double().parameters(),
    "average": _average,
    "layer": lambda net: [net[4](torch.ones(2, 8 * 36))],
    "functional": lambda net: [nn.functional.linear(torch.ones(2, 8 * 36), net[4].weight)],
    "storage": lambda net: [torch.tensor(list(each.storage())) for each in net.parameters()],
    "evaluated": _evaluated,
    "text": lambda net: [_shown(net[4].bias)],
}


@pytest.mark.parametrize("name", READS)
def test_reading(graphs, name):
    twins = Twins(**MOMENTUM).train(4)
    assert twins.is_away()
    found = []
    twins.nets[1].float()
    twins.both(lambda net, _: found.append([each.detach().clone() for each in READS[name](net)]))
    assert found[0] and len(found[0]) == len(found[1])
    for mine, right in zip(*found):
        assert type(mine) in (torch.Tensor, nn.Parameter)
        close(mine, right, 1e-4)


def test_what_reads_nothing_brings_nothing_home(graphs):
    twins = Twins(**MOMENTUM).train(3)
    net = twins.nets[0]
    for each in net.parameters():
        assert isinstance(each, nn.Parameter) and isinstance(each, torch.Tensor)
        assert each.shape == each.size() and each.dim() == each.ndim and each.numel()
        assert each.dtype is torch.float32 and each.device == torch.device("cpu")
        assert each.requires_grad and each.is_leaf and each.grad_fn is None and not each.is_cuda
        assert each.is_contiguous() and each.stride() and hash(each) == hash(each)
        assert isinstance(each.grad, torch.Tensor) and each._version
    net.zero_grad()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    assert sum(each.numel() for each in net.parameters()) and dict(net.named_parameters())
    assert twins.is_away()


def test_state_is_read_like_parameters(graphs):
    twins = Twins(ADAM, lr=0.01, eps=1e-4).train(4)
    states = [each.state[net[4].weight] for net, each, _ in twins.each()]
    assert type(states[0]["exp_avg"]) is AwayTensor
    for name in "exp_avg", "exp_avg_sq", "step":
        close(states[0][name], states[1][name])
    assert type(states[0]["exp_avg"]) is torch.Tensor
    twins.train(2).check()


def test_a_forked_child_sees_the_values(graphs):
    twins = Twins(**MOMENTUM).train(4)
    assert twins.is_away()
    right = [each.detach().float() for each in twins.nets[1].parameters()]
    child = os.fork()
    if child == 0:
        alike = [
            torch.allclose(mine, other, atol=1e-4)
            for mine, other in zip(twins.nets[0].parameters(), right)
        ]
        os._exit(0 if all(alike) else 1)
    assert os.waitpid(child, 0)[1] == 0
    twins.train(2).check()


def test_threads_that_read(graphs):
    """Each sees the values of some step, and none that were never there."""
    net = make()
    stepper = convoy.torch.optimizer(SGD(net.parameters(), lr=0.05))
    parameters, failures, over = list(net.parameters()), [], threading.Event()

    def read():
        try:
            while not over.is_set():
                assert all(torch.isfinite(each.detach()).all() for each in parameters)
                time.sleep(0.001)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for at in range(30):
        stepper.zero_grad()
        backward(net, at)
        stepper.step()
    over.set()
    for thread in threads:
        thread.join()
    assert not failures


# ---------------------------------------------------------------------------------------- writing


def _load(net, _):
    torch.manual_seed(5)
    net.load_state_dict({k: v * 0.5 + 1 if v.dim() else v for k, v in net.state_dict().items()})


def _initialise(net, _):
    with torch.no_grad():
        nn.init.constant_(net[4].weight, 0.01)
        nn.init.eye_(net[4].weight)


def _assign(net, _):
    net[4].weight.data = torch.full_like(net[4].weight, 0.02)


def _in_place(net, _):
    with torch.no_grad():
        for each in net.parameters():
            each.mul_(0.5).add_(0.01)


def _copy(net, _):
    with torch.no_grad():
        net[4].weight.copy_(torch.arange(4 * 8 * 36).reshape(4, -1) * 1e-4)
        net[4].bias[1] = 3.0


def _from_numpy(net, _):
    net[4].weight.detach().numpy()[:] = 0.03


def _vector(net, _):
    vector = nn.utils.parameters_to_vector(net.parameters())
    nn.utils.vector_to_parameters(vector * 0.5, net.parameters())


WRITES = {
    "fill": lambda net, _: net[4].weight.data.fill_(0.1),
    "load": _load,
    "init": _initialise,
    "assign": _assign,
    "in_place": _in_place,
    "copy": _copy,
    "numpy": _from_numpy,
    "vector": _vector,
    "state": lambda net, each: each.state[net[4].weight]["momentum_buffer"].mul_(0.5),
    "reset": lambda net, each: each.state.clear(),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_wins(graphs, name):
    twins = Twins(**MOMENTUM).train(4)
    assert twins.is_away()
    twins.both(WRITES[name]).train(3)
    assert twins.is_away() is (name != "vector")  # which leaves them in one memory
    twins.check()


def _clip(net, _):
    nn.utils.clip_grad_norm_(net.parameters(), 0.01)


def _scale_silently(net, _):
    for each in net.parameters():
        each.grad.data.mul_(0.5)


def _replace(net, _):
    net[4].weight.grad = torch.ones_like(net[4].weight.grad)


def _strided(net, _):
    net[4].weight.grad = net[4].weight.grad.t().contiguous().t()


def _accumulate(net, _):
    backward(net, 50, net[4].weight.dtype is torch.float64)


def _forward_again(net, _):
    x, _ = batch(60)
    net(x.to(net[4].weight.dtype))


def _other_gradients(net, _):
    """Of the same network, but nobody's."""
    x, _ = batch(60)
    torch.autograd.grad(net(x.to(net[4].weight.dtype)).square().sum(), list(net.parameters()))


def _swap_memory(net, _):
    net[4].weight.grad = net[4].weight.grad.clone().mul_(2)


CHANGES = [_clip, _scale_silently, _replace, _strided, _accumulate, _forward_again]
CHANGES += [_other_gradients, _swap_memory]


@pytest.mark.parametrize("change", CHANGES)
def test_gradients_are_those_that_pytorch_has(graphs, change):
    twins = Twins(**MOMENTUM).train(2).train(4, change)
    assert twins.is_away()
    twins.check()


def test_gradients_that_are_zeroed_in_place(graphs):
    twins = Twins(**MOMENTUM)
    for each in twins.optimizers:
        each.zero_grad = lambda each=each: type(each).zero_grad(each, set_to_none=False)
    twins.train(5)
    assert twins.is_away()
    twins.check()


@pytest.mark.skipif(not hasattr(torch, "amp") or IS_OLD, reason="it has no scaler for processors")
def test_scaled_gradients(graphs):
    twins = Twins(**MOMENTUM)
    scalers = [torch.amp.GradScaler("cpu", init_scale=16.0) for _ in range(2)]
    for at in range(5):
        for (net, each, plain), scaler in zip(twins.each(), scalers):
            each.zero_grad()
            x, y = batch(at)
            with plainly() if plain else contextlib.nullcontext():
                x, y = (x.double(), y.double()) if plain else (x, y)
                scaler.scale((net(x) - y).square().mean()).backward()
                scaler.step(each)
                scaler.update()
    assert twins.is_away()
    twins.check()


def test_a_backward_pass_after_the_step_raises(graphs):
    twins = Twins(**MOMENTUM).train(3)
    net, stepper = twins.nets[0], twins.optimizers[0]
    x, y = batch(9)
    loss = (net(x) - y).square().mean()
    loss.backward(retain_graph=True)
    stepper.step()
    assert twins.is_away()
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()


def test_collectives_use_what_they_are_given(graphs, tmp_path):
    """They work in C++, on memory."""
    distributed = torch.distributed
    twins = Twins(**MOMENTUM).train(4)
    net = twins.nets[0]
    store = f"file://{tmp_path / 'store'}"
    distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        backward(net, 9)
        distributed.all_reduce(net[4].weight.grad)
        assert type(net[4].weight.grad) is torch.Tensor and twins.is_away()
        distributed.all_reduce(net[4].weight)
        assert not twins.is_away()
    finally:
        distributed.destroy_process_group()


# ------------------------------------------------------------------------------------ checkpoints


@pytest.mark.parametrize("name", ["momentum", "dampening", "adam", "adamw"])
@pytest.mark.parametrize("here_first", [True, False])
def test_checkpoints_go_both_ways(graphs, name, here_first):
    """Begun with an attached optimizer and gone on with a plain one, and the other way round."""
    kind, options = STEPS[name]
    first = Twins(kind, attached=here_first, **options).train(4)
    saved = _saved([(net.state_dict(), each.state_dict()) for net, each, _ in first.each()])
    second = Twins(kind, attached=not here_first, **options)
    second.done = first.done
    for (net, each, _), (weights, state) in zip(second.each(), saved):
        net.load_state_dict(weights)
        each.load_state_dict(state)
    second.train(4)
    assert second.is_away() is not here_first
    second.check()


def test_a_checkpoint_is_loaded_in_the_middle(graphs):
    twins = Twins(ADAM, lr=0.01, eps=1e-4).train(3)
    saved = copy.deepcopy([each.state_dict() for each in twins.optimizers])
    twins.train(2)
    for each, state in zip(twins.optimizers, saved):
        each.load_state_dict(state)
    twins.train(3)
    assert twins.is_away()
    twins.check()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_of_an_optimizer_is_a_plain_one(graphs, copied):
    twins = Twins(**MOMENTUM).train(4)
    twin = copied(twins.optimizers[0])
    assert type(twin) is SGD and "step" not in vars(twin)
    for mine, other in zip(twins.nets[1].parameters(), twin.param_groups[0]["params"]):
        close(other, mine)
        wanted = twins.optimizers[1].state[mine]["momentum_buffer"]
        close(twin.state[other]["momentum_buffer"], wanted)


# ------------------------------------------------------------------------- as PyTorch's are used


def test_schedulers(graphs):
    twins = Twins(**MOMENTUM)
    schedulers = [torch.optim.lr_scheduler.StepLR(each, 1, 0.8) for each in twins.optimizers]
    for _ in range(6):
        twins.train(1)
        for each in schedulers:
            each.step()
    assert twins.is_away()
    twins.check()
    stepper = twins.optimizers[0]
    assert stepper.param_groups[0]["lr"] == twins.optimizers[1].param_groups[0]["lr"] < 0.02


@pytest.mark.skipif(IS_OLD, reason="its rates are numbers")
def test_a_rate_that_is_a_tensor(graphs):
    twins = Twins(SGD, lr=torch.tensor(0.05), momentum=0.5).train(3)
    twins.both(lambda _, each: each.param_groups[0]["lr"].fill_(0.01)).train(3)
    assert twins.is_away()
    twins.check()


def test_closures(graphs):
    twins, losses = Twins(**MOMENTUM), []
    for at in range(5):
        for net, each, plain in twins.each():

            def closure(net=net, each=each, plain=plain, at=at):
                assert torch.is_grad_enabled()
                each.zero_grad()
                backward(net, at, plain)
                return at

            with torch.no_grad():
                losses.append(each.step(closure))
    assert losses == [at for at in range(5) for _ in range(2)]
    assert twins.is_away()
    twins.check()


@pytest.mark.skipif(not hasattr(SGD, "register_step_pre_hook"), reason="it has no such hooks")
def test_hooks_of_the_step(graphs):
    twins, seen = Twins(**MOMENTUM), []
    stepper = twins.optimizers[0]
    count = len(stepper.param_groups[0]["params"])

    def note(optimizer, args, kwargs):
        seen.append(len(optimizer.param_groups[0]["params"]))

    stepper.register_step_pre_hook(note)
    stepper.register_step_post_hook(note)
    twins.train(4)
    assert twins.is_away() and seen == [count] * 8


def test_groups(graphs):
    """Of other options each, and one that comes later."""
    nets = make(), make().double()
    optimizers = []
    for net in nets:
        first, second = {"params": net[0].parameters(), "lr": 0.02}, {"params": [net[1].weight]}
        optimizers.append(SGD([first, {**second, "momentum": 0.0}], **MOMENTUM))
    twins = Twins(**MOMENTUM)
    twins.nets, twins.optimizers = nets, optimizers
    convoy.torch.optimizer(optimizers[0])
    twins.train(3)
    assert is_away(nets[0][0].weight) and not is_away(nets[0][4].weight)

    def add(net, each):
        each.add_param_group({"params": net[4].parameters(), "weight_decay": 0.2})

    twins.both(add).train(3)
    assert is_away(nets[0][4].weight) and not is_away(nets[0][1].bias)
    twins.check()


@pytest.mark.parametrize("name", ["dampening", "adam"])
def test_parameters_without_a_gradient_are_left_alone(graphs, name):
    kind, options = STEPS[name]
    twins, turn = Twins(kind, **options), [0]

    def without(net, _):
        turn[0] += 1
        if turn[0] % 6 in (1, 2):
            net[4].weight.grad = None

    twins.train(9, without)
    assert twins.is_away()
    twins.check()


def test_parameters_that_are_frozen_for_a_while(graphs):
    twins = Twins(**MOMENTUM).train(3)
    twins.both(lambda net, _: net[0].weight.requires_grad_(False)).train(4)
    twins.both(lambda net, _: net[0].weight.requires_grad_(True)).train(4)
    assert twins.is_away()
    twins.check()


def test_options_that_change(graphs, monkeypatch):
    monkeypatch.setattr(optimizer, "MOST_CAPTURES", 3)
    twins = Twins(**MOMENTUM).train(3)
    for at in range(5):
        twins.both(lambda _, each: each.param_groups[0].update(momentum=0.5 + 0.05 * at))
        twins.train(1)
        assert twins.is_away() is (at < 3)  # from then on they are PyTorch's
    twins.check()


def test_an_option_that_convoy_has_not(graphs):
    twins = Twins(ADAM, lr=0.01, eps=1e-4).train(3)
    twins.both(lambda _, each: each.param_groups[0].update(maximize=True)).train(2)
    assert not twins.is_away()
    twins.check()


class Both(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = nn.Sequential(first, nn.SiLU()), nn.Sequential(second, nn.Tanh())


def test_networks_that_share_parameters(graphs):
    """Two captured ones, stepped together; and one of PyTorch's between."""
    torch.manual_seed(2)
    shared = nn.Linear(6, 6)
    nets = [Both(shared, shared)]
    nets.append(copy.deepcopy(nets[0]).double())
    assert nets[1].first[0] is nets[1].second[0]
    steppers = [ADAM(each.parameters(), lr=0.01, eps=1e-3) for each in nets]
    convoy.torch.optimizer(steppers[0])
    for at in range(6):
        x = torch.randn(3, 6, generator=torch.Generator().manual_seed(at))
        for net, each, plain in zip(nets, steppers, (False, True)):
            each.zero_grad()
            with plainly() if plain else contextlib.nullcontext():
                given = x.double() if plain else x
                loss = net.first(given).square().sum() + net.second(given).sum()
                if at == 4:
                    loss = loss + nn.functional.linear(given, net.first[0].weight).sum()
                loss.backward()
                each.step()
        assert is_away(nets[0].first[0].weight) is (at > 0)
    for mine, right in zip(*(each.parameters() for each in nets)):
        close(mine, right)


def _shared(net):
    net[1].bias.data = net[1].weight.data  # one memory


def _part(net):
    net[1].weight.data = torch.cat([net[1].weight.data, torch.zeros(3)])[:8]


def _strides(net):
    net[0].weight.data = net[0].weight.data.to(memory_format=torch.channels_last)


@pytest.mark.parametrize("change", [_shared, _part, _strides])
def test_parameters_that_are_pytorchs(graphs, change):
    twins = Twins(**MOMENTUM)
    for net in twins.nets:
        change(net)
    twins.train(4)
    away = [is_away(each) for each in twins.nets[0].parameters()]
    assert any(away) and not all(away)
    twins.check()


# -------------------------------------------------------------------------------------- on and off


def test_without_a_captured_network_nothing_changes(device):
    twins = Twins(**MOMENTUM).train(2)  # not enabled
    with convoy.torch.enabled(device, route="convoy"):
        twins.train(2)
    with convoy.torch.enabled(device, route="graph"):
        twins.train(1)  # the first call of its kind
        assert not any(map(is_away, twins.nets[0].parameters()))
        with plainly():
            twins.train(2)
        assert not any(map(is_away, twins.nets[0].parameters()))
        twins.train(2)
        assert twins.is_away()
    twins.train(2).check()


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_turned_off_and_on_in_the_middle(device, name):
    kind, options = STEPS[name]
    twins = Twins(kind, **options)
    for _ in range(2):
        convoy.torch.enable(device, route="graph")
        twins.train(4)
        assert twins.is_away()
        convoy.torch.disable()
        assert not any(map(is_away, twins.nets[0].parameters()))
        twins.train(2)
    convoy.torch.enable(device, route="graph")
    twins.train(3)
    convoy.torch.enable(device, route="convoy")
    assert not any(map(is_away, twins.nets[0].parameters()))
    twins.check()
    convoy.torch.disable()


def test_the_device_is_given_back(graphs):
    """An optimizer keeps no device."""
    twins = Twins(**MOMENTUM).train(3)
    (context,) = _switch._current._engines.contexts()
    convoy.torch.disable()
    gc.collect()
    assert context.closed
    twins.check()


def test_turned_off_between_backward_and_step(graphs):
    twins = Twins(**MOMENTUM).train(3)
    twins.train(1, lambda *_: convoy.torch.disable())
    twins.check()


@pytest.mark.parametrize("when", ["read", "forward", "step"])
def test_the_worker_is_killed(opencl_device, when):
    """Before parameters are read, before the next forward pass, between backward pass and step."""
    with convoy.torch.enabled(opencl_device, route="graph"):
        twins = Twins(ADAM, lr=0.01, eps=1e-4).train(6)
        assert twins.is_away()
        (context,) = _switch._current._engines.contexts()

        def kill(*_):
            pid = context.health().worker_pid
            if pid:
                os.kill(pid, signal.SIGKILL)

        if when == "step":
            twins.train(1, kill)
        else:
            kill()
        if when != "read":
            twins.train(3)
            assert twins.is_away()
        twins.check()
        assert context.health().faults > 0
        twins.train(2).check()


def test_every_step_is_compared_if_asked_for(device, monkeypatch):
    monkeypatch.setenv("CONVOY_CHECK", "1")
    with convoy.torch.enabled(device, route="graph"):
        Twins(**MOMENTUM).train(5).check()


def test_a_model_that_goes_while_it_is_away(graphs):
    twins = Twins(**MOMENTUM).train(4)
    assert twins.is_away()
    del twins
    Twins(**MOMENTUM).train(4).check()


# ------------------------------------------------------------------------------------------ errors


def _weights():
    return [nn.Parameter(torch.zeros(2))]


def _with(**options):
    return SGD([nn.Parameter(torch.zeros(2, **options))], lr=0.1)


class OtherSgd(SGD):
    pass


def _scheduled():
    made = SGD(_weights(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(made, 1)
    return made


WRONG = {
    "RMSprop, not exactly": lambda: torch.optim.RMSprop(_weights(), lr=0.1),
    "OtherSgd, not exactly": lambda: OtherSgd(_weights(), lr=0.1),
    "optimizer is a int": lambda: 3,
    "amsgrad is True": lambda: ADAM(_weights(), lr=0.1, amsgrad=True),
    "maximize is True": lambda: SGD(_weights(), lr=0.1, maximize=True),
    "capturable is True": lambda: ADAM([{"params": _weights(), "capturable": True}], lr=0.1),
    "differentiable is True": lambda: SGD(_weights(), lr=0.1, differentiable=True),
    "parameter 0 of parameter group 0 is float64": lambda: _with(dtype=torch.float64),
    "is complex64, not float32": lambda: _with(dtype=torch.complex64),
    "is on meta": lambda: _with(device="meta"),
    "step was replaced before": _scheduled,
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_not_supported_is_said(words):
    with pytest.raises(convoy.ArgumentError, match=words):
        convoy.torch.optimizer(WRONG[words]())


def test_attached_once(graphs):
    stepper = convoy.torch.optimizer(SGD(_weights(), lr=0.1))
    with pytest.raises(convoy.ArgumentError, match="step was replaced"):
        convoy.torch.optimizer(stepper)
    with pytest.raises(TypeError, match="optimizer"):
        convoy.torch.optimizer(optimiser=stepper)
