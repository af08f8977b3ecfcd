"""Fixtures: a CPU context, the cases, and the OpenCL device of type CPU where there is one."""

import os
import tempfile

# Tests run beside others, where threads that look for work are in each other's way. It is read
# when OpenMP is loaded. test_waiting.py takes it away again.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import convoy
import numpy
import pytest
from cases import CASES, Case


@pytest.fixture(scope="session", autouse=True)
def private_state():
    """Workers are killed here: that is not to be held against the user's devices."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CONVOY_STATE_DIR"] = folder
        os.environ["CONVOY_FAULT_LIMIT"] = "0"
        os.environ["CONVOY_ROUTE_FILE"] = os.path.join(folder, "routes.txt")
        for name in "CONVOY_CACHE_DIR", "POCL_CACHE_DIR":  # as given, else none of the user's
            os.environ.setdefault(name, os.path.join(folder, name))
        os.environ.setdefault("CONVOY_TUNE_FILE", os.path.join(folder, "tune.txt"))
        yield


def _machine_id():
    """As the library reads it: its records have "-" for a machine without one."""
    try:
        with open("/etc/machine-id") as file:
            return file.readline().strip() or "-"
    except OSError:
        return "-"


@pytest.fixture
def gone_device(tmp_path, monkeypatch):
    """Part of the name of a device that this machine has had, and has not now. Its id is ocl:77."""
    place = f"{_machine_id()} | ocl:77 | My Old Card | AMD | 1 | 2026-10-01 | 2026-11-20"
    (tmp_path / "devices.txt").write_text(f"convoy-devices 1\n{place}\n")
    monkeypatch.setenv("CONVOY_STATE_DIR", str(tmp_path))
    return "old card"


@pytest.fixture(scope="session")
def context():
    with convoy.open(device="cpu", failover=False, tune=False, threads=2) as opened:
        yield opened


@pytest.fixture(scope="session", params=CASES)
def case(request):
    return Case(request.param)


@pytest.fixture(scope="session")
def opencl_device():
    """Id of an OpenCL device of type CPU (PoCL), asked for through the worker."""
    found, why = convoy.list_devices()
    ids = [
        device.id
        for device in found
        if device.type == convoy.DeviceType.CPU and not device.simulator
    ]
    if not ids:
        pytest.skip(f"no OpenCL device of type CPU: {why or 'only ' + str(len(found)) + ' others'}")
    return ids[0]


@pytest.fixture(params=["cpu", "pocl"])
def device(request):
    """The CPU engine, and the device above."""
    return request.getfixturevalue("opencl_device") if request.param == "pocl" else "cpu"


@pytest.fixture
def operands():
    """x, w and dy of a padded 3x3 convolution, float32."""
    generator = numpy.random.default_rng(5)
    shapes = (2, 3, 8, 9), (4, 3, 3, 3), (2, 4, 8, 9)
    return [generator.standard_normal(shape).astype(numpy.float32) for shape in shapes]
