"""Plain DistributedDataParallel over gloo, two processes started by torchrun."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy

PROGRAM = Path(__file__).with_name("torch_ddp.py")


@pytest.mark.skipif(
    not torch.distributed.is_available(), reason="PyTorch without torch.distributed"
)
@pytest.mark.parametrize("route", ["convoy", "graph"])
@pytest.mark.parametrize("device", ["cpu", "pocl"])
def test_two_processes(device, route, request, tmp_path):
    name = request.getfixturevalue("opencl_device") if device == "pocl" else device
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(convoy.__file__).parents[1]),
        "CONVOY_DEVICE": name,
        "CONVOY_ROUTE": route,
        "CONVOY_FAILOVER": "0",
        "CONVOY_THREADS": "",
        "OMP_NUM_THREADS": "1",
        "PYTHONFAULTHANDLER": "1",
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    command += ["--redirects=1", "--tee=1"]  # without them that of 1.13 fails on Python 3.11
    command += [f"--log_dir={tmp_path}", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment)
    # What the processes said, before what torchrun says of their end.
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[:6000]}"
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    lines = sorted(re.findall("rank.*", done.stdout))
    if route == "convoy":
        assert lines == [
            f"rank {rank} of 2: right, on ['{name}'], {share} threads, 0 calls as graphs"
            for rank in (0, 1)
        ]
    else:  # the first of three steps is PyTorch's
        assert len(lines) == 2
        assert all(re.search("right, .*, 2 calls as graphs", line) for line in lines)
