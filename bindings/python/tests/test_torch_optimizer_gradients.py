"""Gradients for optimizers whose steps run where captured networks do: what they were when the step
was asked for counts, whoever changed them how, and what nobody touched is not sent."""

import contextlib
import copy

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

from convoy.torch._plainly import plainly
from convoy.torch.graph.untouched import Untouched
from torch import nn
from torch_twins import IS_OLD, MOMENTUM, Twins, backward, batch
from torch_twins import graphs, moved, one_thread  # noqa: F401  fixtures


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
