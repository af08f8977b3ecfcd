"""One process of a distributed training, started by torchrun from test_torch_ddp.py: three steps,
each process with a part of the batch, compared with the same steps on the whole batch by PyTorch
alone."""

import os
import re

import torch
import torch.distributed
from torch import nn

import convoy.torch
from convoy.torch import _device

STEPS = 3
PART = 4


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.SiLU(),
        nn.Conv2d(8, 8, 3, 1, 1),
        nn.Flatten(),
        nn.Linear(512, 4),
    )


def train(network, batches, attach=lambda optimizer: optimizer):
    optimizer = attach(torch.optim.SGD(network.parameters(), 0.1))
    for batch in batches:
        optimizer.zero_grad()
        network(batch).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in network.parameters()]


def main():
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(1)
    batches = torch.randn(STEPS, size * PART, 3, 16, 16)
    wanted = train(network(), batches)
    wanted_later = train(network(), [*batches, *batches])

    convoy.torch.enable()
    part = batches[:, rank * PART : (rank + 1) * PART]
    got = train(nn.parallel.DistributedDataParallel(network()), part)
    for mine, right in zip(got, wanted):
        torch.testing.assert_close(mine, right, rtol=1e-4, atol=1e-6)
    for mine in got:  # what both have averaged must be the same to the bit
        other = mine.clone()
        torch.distributed.broadcast(other, 0)
        assert torch.equal(mine, other)
    where = sorted({place for place, _, _ in convoy.torch.counts()})
    graphs = re.search("([0-9]+) of [0-9]+ calls of networks as graphs", convoy.torch.report())
    print(
        f"rank {rank} of {size}: right, on {where}, {_device.threads_of_process()} threads, "
        f"{graphs[1] if graphs else 0} calls as graphs\n",
        end="",
    )
    parallel = nn.parallel.DistributedDataParallel(network())
    stepped = train(parallel, [*part, *part], convoy.torch.optimizer)
    for mine, right in zip(stepped, wanted_later):
        torch.testing.assert_close(mine, right, rtol=1e-4, atol=1e-6)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
