"""A device that dies, hangs and lies in the middle of a training: the losses are the same, and the
log says so. The layer under the driver (tests/faults/layer/rules.h) breaks PoCL."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy

SCRIPT = Path(__file__).with_name("torch_train.py")
LIBRARY = Path(convoy._load.library._name)
LAYER = LIBRARY.parent / "convoy-libexec" / "convoy-faults.so"

# What the layer does to one training | what the log says of it. Some 25 launches make a step.
FAULTS = {
    "clEnqueueNDRangeKernel#60=kill": "was killed by signal 9",
    "clEnqueueNDRangeKernel#120=stall": "no progress",
    "clEnqueueNDRangeKernel#180=zero": "computed wrongly",
}


def losses(*runner, **variables):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(convoy.__file__).parents[1]),
        "CONVOY_ROUTE": "convoy",
        "CONVOY_DEADLINE": "run=2,transfer=2",
        **variables,
    }
    command = [sys.executable, *runner, SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return [float(line) for line in done.stdout.split()], done.stderr


@pytest.mark.skipif(not LAYER.exists(), reason="the fault layer is not built")
def test_the_losses_are_the_same(opencl_device, tmp_path):
    wanted, _ = losses()
    got, told = losses(
        *("-m", "convoy", "run", "--report", "--device", opencl_device),
        OPENCL_LAYERS=str(LAYER),
        CONVOY_FAULT=",".join(FAULTS),
        CONVOY_FAULT_FILE=str(tmp_path / "calls"),
    )
    assert len(got) == len(wanted) == 10
    for mine, right in zip(got, wanted):
        assert abs(mine - right) <= 1e-4 * right
    assert all(sentence in told for sentence in FAULTS.values()) and "computed elsewhere" in told
