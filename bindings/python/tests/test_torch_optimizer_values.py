"""Parameters and state that are on the device only: whoever reads or writes them, copies, saves or
loads them does so with the values that they should have."""

import copy
import io
import os
import pickle
import threading
import time

import numpy
import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch.graph.away import AwayTensor
from torch import nn
from torch_twins import ADAM, IS_OLD, MOMENTUM, SGD, STEPS, Twins, backward, batch, close, make
from torch_twins import graphs, moved, one_thread  # noqa: F401  fixtures


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


# What is read comes home in the same way from both devices: from one of them a third will do.
READ = [("cpu", name) for name in READS] + [("pocl", name) for name in list(READS)[::3]]


@pytest.mark.parametrize("device, name", READ, indirect=["device"])
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
        is_home = not twins.is_away()  # it has no device to ask
        alike = [
            torch.allclose(mine, other, atol=1e-4)
            for mine, other in zip(twins.nets[0].parameters(), right)
        ]
        os._exit(0 if is_home and all(alike) else 1)
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
