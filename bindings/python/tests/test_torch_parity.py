"""PyTorch programs give the same results with Convoy as without, on the CPU engine and on PoCL."""

import os

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from torch_cases import CASES, assert_same, compute


@pytest.fixture(scope="module")
def plain():
    """What PyTorch alone computes."""
    convoy.torch.disable()
    return {name: compute(name) for name in CASES}


@pytest.fixture(scope="module", params=["cpu", "pocl"])
def device(request, plain):
    """Convoy is enabled for the device; faults are errors."""
    name = request.getfixturevalue("opencl_device") if request.param == "pocl" else "cpu"
    os.environ["CONVOY_FAILOVER"] = "0"
    with convoy.torch.enabled(name, route="convoy"):
        yield name
    del os.environ["CONVOY_FAILOVER"]


@pytest.fixture
def counts(device):
    """What has been counted since the test began."""
    before = convoy.torch.counts()

    def since():
        return {
            key: number - before.get(key, 0)
            for key, number in convoy.torch.counts().items()
            if number > before.get(key, 0)
        }

    return since


@pytest.mark.parametrize("name", CASES)
def test_same_as_pytorch(name, device, plain, counts):
    results = compute(name)
    assert len(results) == len(plain[name])
    for got, wanted in zip(results, plain[name]):
        assert_same(got, wanted)
    here = {where for where, _, _ in counts()}
    reasons = {reason for where, _, reason in counts() if where == "pytorch"}
    why = CASES[name][1]
    assert reasons == ({why} if why else set())
    assert here == ({"pytorch"} if why else {device})
