"""convoy.torch with tensors on a card, of which PyTorch's CPU and the tests' stand-ins of CUDA and
HIP take the place, in processes of their own: they have to be there before anything is loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import standin_cards

HERE = Path(__file__).parent
QUIET = "-q", "-p", "no:cacheprovider", "-p", "no:unraisableexception"

# All of it takes minutes: usually the newest PyTorch only has to, on CUDA.
WHOLE = pytest.mark.long if torch.__version__ < "2.13" else ()


@pytest.mark.parametrize(
    "file, kind, chosen",
    [
        pytest.param("torch_cards_inside.py", "cuda", "", marks=WHOLE),
        ("torch_cards_inside.py", "hip", "not same_as or conv2d"),
        pytest.param("torch_card_nets_inside.py", "cuda", "", marks=WHOLE),
        ("torch_card_nets_inside.py", "hip", "recorded or lack or fail"),
    ],
)
def test_inside(file, kind, chosen, opencl_device):
    if standin_cards.folder() is None:
        pytest.skip("the stand-ins of CUDA and HIP are not built (CONVOY_TESTS)")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *QUIET, "-k", chosen, str(HERE / file)],
        env=standin_cards.environment(kind),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert " passed" in run.stdout and "skipped" not in run.stdout.replace("1 skipped", "")
