"""What the archive of sources holds: all that a build needs, and nothing else."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("scikit_build_core", reason="the archive is made by scikit-build-core")

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (
    "bindings/python/convoy/",
    "bindings/python/convoy_autoload/",
    "cl/",
    "cmake/",
    "include/convoy/",
    "src/",
)
FILES = ("CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "docs/python.md", "pyproject.toml")
KINDS = (".c", ".h", ".cl", ".py", ".pyi", ".cmake", ".in", ".map", ".md", ".txt", ".typed")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The folder that the archive of this checkout unpacks to."""
    folder = tmp_path_factory.mktemp("sdist")
    make = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", make, str(folder)], cwd=ROOT, check=True)
    (archive,) = folder.glob("libconvoy-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked


def test_holds_sources_only(sources):
    names = [path.relative_to(sources).as_posix() for path in sources.rglob("*") if path.is_file()]
    assert len(names) > 500
    strangers = [name for name in names if name not in FILES and not name.startswith(FOLDERS)]
    assert not strangers
    assert not [name for name in names if name not in FILES and not name.endswith(KINDS)]
    assert not [name for name in names if "cache" in os.path.dirname(name)]
    assert not set(FILES) - set(names)


def test_holds_what_a_build_needs(sources, tmp_path):
    """CMake names each source that is missing; the wheel's settings are pyproject.toml's."""
    off = [f"-DCONVOY_{part}=OFF" for part in ("TESTS", "TOOLS", "EXAMPLES")]
    made = subprocess.run(
        ["cmake", "-S", str(sources), "-B", str(tmp_path), *off], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    for folder in "include", "src", "cl":
        headers = {name for name in _names(ROOT / folder) if name.endswith(".h")}
        assert headers and not headers - set(_names(sources / folder))


def _names(folder):
    for where, _, names in os.walk(folder):
        yield from (os.path.relpath(os.path.join(where, name), folder) for name in names)
