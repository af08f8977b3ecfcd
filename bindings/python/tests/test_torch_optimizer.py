"""Optimizers whose steps run where captured networks do: PyTorch's numbers, however it is used, and
nothing sent or fetched that need not be."""

import contextlib
import copy
import gc
import os
import signal

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch import _switch
from convoy.torch._plainly import plainly
from convoy.torch.graph import optimizer as stepping
from convoy.torch.graph.away import is_away
from torch import nn
from torch_twins import ADAM, IS_OLD, MOMENTUM, SGD, STEPS, Twins, backward, batch, close, make
from torch_twins import graphs, moved, one_thread  # noqa: F401  fixtures

import convoy


@pytest.mark.parametrize("name", STEPS)
def test_steps(graphs, name):
    kind, options = STEPS[name]
    twins = Twins(kind, **options).train(7)
    assert twins.is_away()
    twins.check()
    twins.train(2).check()


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
    monkeypatch.setattr(stepping, "MOST_CAPTURES", 3)
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
