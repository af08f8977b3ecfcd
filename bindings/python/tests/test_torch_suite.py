"""PyTorch's own tests of convolution fail with Convoy where they fail without it, and nowhere else.

They are not in PyTorch's packages: CONVOY_PYTORCH_TESTS names the file, test/nn/test_convolution.py
of the matching release (test/test_nn.py of 1.13, where they were then).
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy

FILE = os.environ.get("CONVOY_PYTORCH_TESTS")


def outcomes(folder, name, *runner):
    """passed, failed or skipped, by the name of the test."""
    result = folder / f"{name}.xml"
    pytest_words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "onv", FILE]
    packages = str(Path(convoy.__file__).parents[1]), os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages)}
    subprocess.run(
        [sys.executable, *runner, *pytest_words, f"--junitxml={result}"],
        cwd=Path(FILE).parent,
        env={**environment, "CONVOY_ROUTE": "convoy"},
        stdout=open(folder / f"{name}.log", "w"),
        stderr=subprocess.STDOUT,
    )
    found = {}
    for case in ElementTree.parse(result).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        found[f"{case.get('classname')}.{case.get('name')}"] = kinds.pop() if kinds else "passed"
    return found


@pytest.mark.skipif(not FILE, reason="CONVOY_PYTORCH_TESTS does not name PyTorch's tests")
def test_no_failure_of_its_own(tmp_path):
    plain = outcomes(tmp_path, "plain")
    ours = outcomes(tmp_path, "convoy", "-m", "convoy", "run", "--report")
    differ = {name: ours.get(name) for name, kind in plain.items() if ours.get(name) != kind}
    counts = {kind: list(plain.values()).count(kind) for kind in sorted(set(plain.values()))}
    print("plain:", counts, (tmp_path / "convoy.log").read_text()[-1500:])
    assert counts.get("passed", 0) > 100 and not differ
