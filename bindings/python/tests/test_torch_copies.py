"""Copies kept on a device for backward: found again, never stale, never too many."""

import gc

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy
import convoy.torch
from convoy.torch._copies import Copies


@pytest.fixture
def copies(context):
    return Copies(context, 10_000)


def kept(copies):
    copies.drop_gone()
    return len(copies._kept), copies._bytes


def test_found_again(copies):
    x = torch.randn(3, 4)
    sent = copies.send(x, True)
    assert copies.find(x) is sent and (sent.read() == x.numpy()).all()
    assert kept(copies) == (1, 48)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.add_(1),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: setattr(x, "data", torch.zeros(3, 4)),
        lambda x: x.transpose_(0, 1),
        lambda x: x.t_(),
    ],
)
def test_changed_is_sent_anew(copies, change):
    x = torch.randn(3, 4)
    sent = copies.send(x, True)
    change(x)
    found = copies.find(x)
    assert found is not sent and (found.read() == x.numpy()).all()
    assert len(copies._kept) == 1


def test_forward_sends_anew_what_data_has_changed(copies):
    x = torch.randn(3, 4)
    copies.send(x, True)
    x.data.add_(1)  # no new version
    assert (copies.send(x, True).read() == x.numpy()).all()


def test_go_with_their_tensors(copies):
    x, y = torch.randn(3, 4), torch.randn(5)
    copies.send(x, True), copies.send(y, True), copies.send(x * 2, True), copies.send(y, False)
    gc.collect()
    assert kept(copies) == (2, 68)
    del x
    gc.collect()
    assert kept(copies) == (1, 20)


def test_the_oldest_go_first(copies):
    tensors = [torch.randn(1000) for _ in range(4)]  # 4,000 bytes each
    sent = [copies.send(tensor, True) for tensor in tensors]
    assert kept(copies) == (2, 8000)
    assert copies.find(tensors[3]) is sent[3] and copies.find(tensors[0]) is not sent[0]
    copies.send(torch.randn(4000), True)
    assert copies._bytes <= 10_000


def test_a_step_sends_each_operand_once(opencl_device, monkeypatch):
    """x and w in forward, the gradients of the outputs in backward, biases; and nothing stays."""
    sent, send = [], Copies.send
    monkeypatch.setattr(
        Copies, "send", lambda self, x, keep: (sent.append(tuple(x.shape)), send(self, x, keep))[1]
    )
    with convoy.torch.enabled(opencl_device, route="convoy"):
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3), torch.nn.Tanh(), torch.nn.Conv2d(8, 4, 3)
        )
        for _ in range(3):
            sent.clear()
            model(torch.randn(2, 3, 8, 8, requires_grad=True)).square().sum().backward()
            assert sent == [
                *((2, 3, 8, 8), (8, 3, 3, 3), (8,)),
                *((2, 8, 6, 6), (4, 8, 3, 3), (4,)),
                *((2, 4, 4, 4), (2, 8, 6, 6)),
            ]
        gc.collect()
        [way] = convoy.torch._switch._current._devices.routes.ways
        assert kept(way._copies)[0] == 2  # the weights


def test_check_finds_what_data_has_changed_before_backward(opencl_device, monkeypatch):
    """That is the limit of the copies (docs/pytorch.md)."""
    monkeypatch.setenv("CONVOY_CHECK", "1")
    with convoy.torch.enabled(opencl_device, route="convoy"):
        model, x = torch.nn.Conv2d(3, 4, 3), torch.randn(2, 3, 8, 8, requires_grad=True)
        y = model(x)
        model.weight.data.mul_(2)
        with pytest.raises(convoy.WrongResultError, match="backward_data"):
            y.sum().backward()
        model(x).sum().backward()  # forward has sent it anew
