"""Large results of networks lie in memory that a device's process fills itself, and that is used
again: nobody may see that."""

import gc

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch import _switch
from convoy.torch.graph.host_memory import LEAST, MOST, MOST_BLOCKS, HostMemory

import convoy


class Net(torch.nn.Module):
    """Its result has 2 * 64 * 48 * 48 elements: enough for such memory."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.last = torch.nn.Conv2d(16, 64, 3, padding=1)

    def forward(self, x):
        return self.last(torch.nn.functional.silu(self.first(x)))


@pytest.fixture
def network(opencl_device):
    torch.manual_seed(0)
    net = Net()
    convoy.torch.enable(opencl_device, "graph")
    net(torch.zeros(2, 3, 48, 48))  # the first call of a kind is PyTorch's
    yield net
    convoy.torch.disable()


def memory():
    return _switch._current._engines._here._memory


def test_results_that_are_kept_stay_as_they_are(network):
    inputs = [torch.randn(2, 3, 48, 48) for _ in range(8)]
    kept = [network(x) for x in inputs]
    copies = [each.detach().clone() for each in kept]
    kept[3].data.mul_(0)  # the caller's to write to
    assert len({each.data_ptr() for each in kept}) == len(kept)
    again = [network(x).detach() for x in inputs]
    for at, (old, copy, new) in enumerate(zip(kept, copies, again)):
        assert torch.equal(new, copy)
        assert at == 3 or torch.equal(old.detach(), copy)


def test_memory_is_used_again(network):
    x = torch.randn(2, 3, 48, 48)
    for _ in range(12):
        network(x).sum().backward()
    gc.collect()
    found = memory()
    found._collect()
    assert found._lent == [] and 1 <= len(found._free) <= 3


def test_results_outlive_the_session(network):
    x = torch.randn(2, 3, 48, 48)
    network(x)
    result = network(x)
    view = result.detach()[1]
    wanted = view.clone()
    convoy.torch.disable()
    del result
    gc.collect()
    assert torch.equal(view, wanted)


def test_no_more_is_lent_than_there_is(opencl_device):
    with convoy.Context(opencl_device) as context:
        there = HostMemory(context)
        small = there.empty((LEAST - 1,))
        many = [there.empty((LEAST, 1)) for _ in range(MOST_BLOCKS + 3)]
        huge = there.empty((MOST + 1,))  # its pages are not touched
        assert len(there._lent) == MOST_BLOCKS
        assert small.shape == (LEAST - 1,) and huge.shape == (MOST + 1,)
        assert {each.shape for each in many} == {(LEAST, 1)}
        del many
        gc.collect()
        larger = there.empty((LEAST + LEAST // 2,))  # none that is free has room for it
        assert larger.shape == (LEAST + LEAST // 2,) and there._lent == []


def test_other_shapes_let_old_memory_go(opencl_device):
    with convoy.Context(opencl_device) as context:
        there = HostMemory(context)
        for step in range(30):
            there.empty((LEAST << (step % 5),))
        gc.collect()
        there._collect()
        assert there._lent == []
        assert sum(each.size for each in there._free) <= there._lent_at_most == LEAST << 4


def test_the_cpu_engine_has_pytorchs_memory():
    with convoy.Context("cpu") as context:
        there = HostMemory(context)
        there.empty((2 * LEAST,))
        assert there._lent == [] and not there._free
