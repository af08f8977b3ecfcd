"""Ultralytics, unchanged, trains YOLOv8n through `python -m convoy run`: the losses are those of
plain PyTorch, on the CPU engine and on PoCL, by single convolutions and by graphs, also where the
device dies, hangs and lies; the run is resumed on the other device, and the model exports. Of other
models and tasks bench/ultralytics_losses.py compares the losses.
"""

import functools
import os
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")
pytest.importorskip("ultralytics", reason="no ultralytics")

import convoy
from ready import Ready

TESTS = Path(__file__).parent
LAYER = Path(convoy._load.library._name).parent / "convoy-libexec" / "convoy-faults.so"
SIZE = 160
STEPS = 10  # two epochs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The images; also where Ultralytics keeps its settings."""
    import ultralytics_set

    folder = tmp_path_factory.mktemp("yolo")
    ultralytics_set.make(folder, SIZE)
    return folder


@pytest.fixture(scope="module")
def ready():
    made = Ready("torchvision_ops")
    yield made
    made.close()


@pytest.fixture(scope="module")
def train(folder, ready):
    return functools.partial(train_in, folder, ready)


def train_in(folder, ready, name, *words, device=None, **variables):
    """Losses of the steps, and what the process wrote to stderr."""
    losses = folder / f"{name}.txt"
    runner = ["-m", "convoy", "run", "--device", device, "--report"] if device else []
    script = [TESTS / "ultralytics_train.py", folder, SIZE, losses, *words]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(convoy.__file__).parents[1]),
        "YOLO_CONFIG_DIR": str(folder),
        "YOLO_OFFLINE": "true",
        "YOLO_AUTOINSTALL": "false",
        "CONVOY_ROUTE": "convoy",
        **variables,
    }
    done = ready.run(runner + script, environment, timeout=280)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return [float(line) for line in losses.read_text().split()], done.stderr


@pytest.fixture(scope="module")
def plain(train):
    return train("plain", STEPS)[0]


def assert_losses(losses, plain):
    assert len(losses) == len(plain) == STEPS
    for got, wanted in zip(losses, plain):
        assert abs(got - wanted) <= 1e-3 * wanted


def assert_captured(told):
    """Each step but the first, which is PyTorch's."""
    found = re.search(r"(\d+) of \d+ calls of networks as graphs", told)
    assert found and int(found[1]) >= STEPS - 1


def test_losses(train, plain, device):
    losses, told = train("losses", STEPS, device=device, CONVOY_FAILOVER="0")
    assert_losses(losses, plain)
    report = told[told.index("convolution operations through Convoy") :].splitlines()[1:]
    assert {line.split()[1] for line in report} == {device}


def test_graphs(train, plain, device):
    losses, told = train(
        "graphs", STEPS, device=device, CONVOY_FAILOVER="0", CONVOY_ROUTE="graph"
    )
    assert_losses(losses, plain)
    assert_captured(told)


# What the layer under the driver does to one training, all within its steps, and what the log says.
FAULTS = {
    "clEnqueueNDRangeKernel#2000=kill": "was killed by signal 9",
    "clEnqueueNDRangeKernel#3000=stall": "no progress",
    "clEnqueueNDRangeKernel#4000=zero": "computed wrongly",
}


@pytest.mark.skipif(not LAYER.exists(), reason="the fault layer is not built")
def test_faults_in_the_middle(train, plain, opencl_device, tmp_path):
    """A lie in a graph is certain to be seen where all is verified."""
    losses, told = train(
        *("faults", STEPS),
        device=opencl_device,
        CONVOY_ROUTE="graph",
        CONVOY_VERIFY="all",
        CONVOY_DEADLINE="run=5,transfer=5",
        OPENCL_LAYERS=str(LAYER),
        CONVOY_FAULT=",".join(FAULTS),
        CONVOY_FAULT_FILE=str(tmp_path / "calls"),
    )
    assert_losses(losses, plain)
    assert_captured(told)
    assert all(sentence in told for sentence in FAULTS.values())


def test_every_operation_of_two_steps(train):
    """CONVOY_CHECK: outputs and gradients of every layer against PyTorch's, within the rounding of
    float32."""
    losses, _ = train("checked", 2, device="cpu", CONVOY_CHECK="1")
    assert len(losses) == 2


@pytest.mark.parametrize("route", ["convoy", "graph"])
def test_resume_on_the_other_device_and_export(folder, train, opencl_device, route):
    first, _ = train("first", STEPS, "stop", 1, device="cpu", CONVOY_ROUTE=route)
    last = folder / "run" / "weights" / "last.pt"
    rest, _ = train(
        "rest", STEPS, "resume", last, device=opencl_device, CONVOY_ROUTE=route
    )
    assert len(first) == STEPS // 2 and len(rest) == STEPS // 2
    assert all(loss == loss and loss < 2 * first[0] for loss in rest)
    train("export", 0, "export", last, device="cpu")
