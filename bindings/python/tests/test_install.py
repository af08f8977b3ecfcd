"""The two ways to get the package: pip from the source tree, and a CMake build with PYTHONPATH."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import convoy

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import convoy, numpy, pathlib
library = pathlib.Path(convoy._load.library._name)
with convoy.open("cpu") as context:
    y = context.forward(numpy.ones((1, 2, 5), numpy.float32), numpy.ones((3, 2, 2), numpy.float32))
assert (y == 4).all() and y.shape == (1, 3, 4)
found, why = convoy.list_devices()
print(pathlib.Path(convoy.__file__).parent, library, len(found), why, sep="\\n")
"""


def run(*command, **options):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=900, **options
    )


def bare_environment():
    """Nothing that leads to this source tree or to a library built elsewhere."""
    ours = ("PYTHONPATH", "CONVOY_LIBRARY", "CONVOY_LIBEXEC")
    return {name: value for name, value in os.environ.items() if name not in ours}


@pytest.fixture(scope="module")
def fresh_python(tmp_path_factory):
    """The interpreter of a new virtual environment with what the build needs."""
    folder = tmp_path_factory.mktemp("venv")
    made = run(sys.executable, "-m", "venv", folder)
    if made.returncode != 0:
        pytest.skip(f"no virtual environment: {(made.stdout + made.stderr).strip()[-200:]}")
    python = folder / "bin" / "python"
    got = run(python, "-m", "pip", "install", "numpy", "scikit-build-core>=0.10")
    if got.returncode != 0:
        pytest.skip(f"the package index is out of reach: {got.stderr.strip()[-200:]}")
    return python


def test_pip_install(fresh_python, tmp_path):
    # Where files lie does not depend on how the compiler optimises, which takes most of the time.
    quick = "--config-settings=cmake.build-type=Debug"
    installed = run(fresh_python, "-m", "pip", "install", quick, ROOT, env=bare_environment())
    assert installed.returncode == 0, installed.stderr[-2000:]
    ended = run(fresh_python, "-c", SCRIPT, cwd=tmp_path, env=bare_environment())
    assert ended.returncode == 0, ended.stderr
    package, library, count, why = ended.stdout.splitlines()[:4]
    assert "site-packages" in package and library == f"{package}/libconvoy.so"
    # The worker of the wheel finds the same devices as the one of the build tree.
    here, reason = convoy.list_devices()
    assert int(count) == len(here), (why, reason)


def test_without_pip(tmp_path):
    """The source tree's package finds build/release, or what CONVOY_LIBRARY says."""
    environment = {**bare_environment(), "PYTHONPATH": str(ROOT / "bindings" / "python")}
    if not (ROOT / "build" / "release" / "libconvoy.so").exists():
        environment["CONVOY_LIBRARY"] = convoy._load.library._name
    ended = run(sys.executable, "-c", SCRIPT, cwd=tmp_path, env=environment)
    assert ended.returncode == 0, ended.stderr
    package, library = ended.stdout.splitlines()[:2]
    assert package == str(ROOT / "bindings" / "python" / "convoy")
    assert Path(library).name.startswith("libconvoy.so")


def test_copied_beside_the_package(tmp_path):
    """The wheel's layout without a wheel: the library next to the package's files wins."""
    shutil.copytree(ROOT / "bindings" / "python" / "convoy", tmp_path / "convoy")
    shutil.copy(convoy._load.library._name, tmp_path / "convoy" / "libconvoy.so")
    environment = {**bare_environment(), "PYTHONPATH": str(tmp_path)}
    ended = run(sys.executable, "-c", SCRIPT, cwd=tmp_path, env=environment)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[1] == str(tmp_path / "convoy" / "libconvoy.so")
