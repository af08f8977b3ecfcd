"""The list of programs that plans of captured networks have is what the planner makes now. One of
its networks is captured anew; the others are where the list is written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")
pytest.importorskip("torchvision_ops", reason="no torchvision")

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "planned_programs.py"


@pytest.mark.skipif(torch.__version__.startswith("1."), reason="the list is of PyTorch 2's graphs")
def test_programs_of_resnet18():
    command = [sys.executable, str(SCRIPT), "torch", "--check", "--only", "resnet18"]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    found = subprocess.run(command, stdout=subprocess.PIPE, env=environment, timeout=300)
    assert found.returncode == 0, found.stdout.decode()
