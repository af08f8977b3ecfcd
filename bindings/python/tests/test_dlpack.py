"""Context.wrap: on the stand-ins of CUDA's driver and of HIP, and where there is no card."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import convoy

INSIDE = Path(__file__).with_name("dlpack_inside.py")


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_on_stand_ins(kind):
    pytest.importorskip("torch", reason="no PyTorch, which starts the stand-ins")
    standin_cards = __import__("standin_cards")
    if standin_cards.folder() is None:
        pytest.skip("the stand-ins of drivers are not built")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(INSIDE)]
    ran = subprocess.run(
        command, env=standin_cards.environment(kind), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_processors_wrap_nothing():
    with convoy.Context("cpu") as context:
        with pytest.raises(convoy.UnsupportedError, match="no memory on a card"):
            context.set_stream(0)
        with pytest.raises(convoy.ArgumentError, match="set_stream comes first"):
            context.wrap(np.zeros(16, np.float32))


def test_arrays_of_the_host_and_others_are_refused():
    from convoy import _dlpack

    with pytest.raises(convoy.ArgumentError, match="on no card: DLPack's device 1"):
        _dlpack.device_of(np.zeros(16, np.float32))
    with pytest.raises(convoy.ArgumentError, match="a list has no __dlpack_device__"):
        _dlpack.device_of([1.0])
