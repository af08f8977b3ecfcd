"""Every variable of the environment that Convoy reads tells what it may be where it is nonsense."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import convoy

ROOT = Path(__file__).resolve().parents[3]
HEADER = (ROOT / "include/convoy/convoy.h").read_text()
TABLE = HEADER[HEADER.index("field              environment") :]
TABLE = TABLE[: TABLE.index("typedef struct convoy_options")]

# what is named, what its sentence says of what it may be
SWITCH = "0, 1, off or on"
LEGAL = {
    "CONVOY_ISOLATION": "process, none or caller",
    "CONVOY_FAILOVER": SWITCH,
    "CONVOY_REQUIRE_DEVICE": SWITCH,
    "CONVOY_THREADS": "a number from 0 to 4096",
    "CONVOY_WORKSPACE_LIMIT": "a number from 0 to",
    "CONVOY_MEMORY_LIMIT": "a number from 0 to",
    "CONVOY_TUNE": SWITCH,
    "CONVOY_DEVICE_WAIT_BUDGET": "it may be 0 to 1e+06",
    "CONVOY_TEAM": "openmp or pool",
    "CONVOY_DEADLINE": "it may be a list such as start=20,probe=10",
    "CONVOY_VERIFY": "all, sample or off",
    "CONVOY_NAN_WATCH": SWITCH,
    "CONVOY_WINOGRAD": SWITCH,
    "CONVOY_HISTORY_LIMIT": "a number from 0 to",
    "CONVOY_CPU_STALL": "it may be 0 to 86400",
    "CONVOY_CPU_ISA": "avx512, avx2 or baseline",
    "CONVOY_FAULT_LIMIT": "a number from 0 to 1000000",
    "CONVOY_LOG": "off, error, warning, info or debug",
    "CONVOY_COMPILE_WORKERS": "a number from 0 to 64",
    "CONVOY_RUNTIMES": "all, none, or some of ocl, hip, cuda",
    "CONVOY_GRAPH_PASSES": "all, none, or some of common, fuse, merge, recompute, views",
}
LISTS = {"CONVOY_RUNTIMES", "CONVOY_GRAPH_PASSES", "CONVOY_DEADLINE"}  # which name the word alone
# Any text may be the name of one; that there is none is another mistake.
NAMES = {"CONVOY_DEVICE": "there is no device", "CONVOY_ALGORITHM": "has no algorithm"}
PATHS = {"CONVOY_STATE_DIR", "CONVOY_CACHE_DIR", "CONVOY_TUNE_FILE", "CONVOY_LIBEXEC"}
NONSENSE = ("nonsense", "-1", "1e999", "0x", "\u0130", "1,5", " ", "ocl,,hip", "common;fuse")

PYTHON = {"CONVOY_CHECK": SWITCH, "CONVOY_ROUTE": "'measured', 'convoy', 'graph'"}
PYTHON["CONVOY_TORCH"] = PYTHON["CONVOY_STRICT"] = SWITCH
PYTHON_PATHS = {"CONVOY_LIBRARY", "CONVOY_ROUTE_FILE"}


def test_the_header_lists_what_is_read():
    listed = set(re.findall(r"^ \*   [a-z_-]+ +(CONVOY_[A-Z_]+) ", TABLE, re.M))
    assert listed == {*LEGAL, *NAMES, *PATHS}
    read = set()
    for path in (ROOT / "src").rglob("*.[ch]"):
        read |= set(re.findall(r'"(CONVOY_(?!ERR_|OK")[A-Z_]+)"', path.read_text()))
    assert read - {"CONVOY_BUILDERS", "CONVOY_STRIKE_LIMIT"} == listed  # as they were called before


def test_the_bindings_read_no_others():
    read = set()
    for path in (ROOT / "bindings/python").glob("convoy*/**/*.py"):
        call = r'(?:environ(?:\.get)?|switch_variable)[\[(]"(CONVOY_[A-Z_]+)"'
        read |= set(re.findall(call, path.read_text()))
    assert read - {*LEGAL, *NAMES} == {*PYTHON, *PYTHON_PATHS}


@pytest.mark.parametrize("device", ["cpu", "auto"])
@pytest.mark.parametrize("name", LEGAL)
def test_nonsense(name, device, monkeypatch):
    for value in NONSENSE:
        monkeypatch.setenv(name, value)
        with pytest.raises(convoy.ArgumentError) as raised:
            convoy.open(device).close()
            pytest.fail(f"{name}={value} was taken")
        sentence = str(raised.value)
        words = [value, *(value.split(",") if name in LISTS else [])]
        assert name in sentence and LEGAL[name] in sentence
        assert any(f'"{word}"' in sentence for word in words), sentence


@pytest.mark.parametrize("name", NAMES)
def test_no_such_name(name, monkeypatch):
    monkeypatch.setenv(name, "nonsense")
    arguments = [] if name == "CONVOY_DEVICE" else ["cpu"]
    with pytest.raises(convoy.NotFoundError, match="nonsense"):
        convoy.open(*arguments).close()


@pytest.mark.parametrize("name", PATHS)
def test_any_path(name, monkeypatch, tmp_path):
    monkeypatch.setenv(name, str(tmp_path / "n\u00f6nsense \udcff"))
    convoy.open("cpu").close()


def test_devices_are_not_listed_with_nonsense(monkeypatch):
    monkeypatch.setenv("CONVOY_RUNTIMES", "opencl")
    with pytest.raises(convoy.ArgumentError, match="CONVOY_RUNTIMES"):
        convoy.list_devices()
    monkeypatch.setenv("CONVOY_RUNTIMES", "none")
    assert [each.id for each in convoy.devices()] == ["cpu"]


@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_for_pytorch(value, monkeypatch):
    pytest.importorskip("torch")
    import convoy.torch

    for name in "CONVOY_CHECK", "CONVOY_ROUTE", "CONVOY_STRICT":
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            with pytest.raises(convoy.ArgumentError, match=f"^{name} is .*{PYTHON[name]}"):
                convoy.torch.enable("cpu")


def test_nonsense_for_the_entry_point(monkeypatch):
    """What PyTorch calls when it is imported, as in test_torch_run.py."""
    start = "import convoy_autoload; convoy_autoload.start()"
    monkeypatch.setenv("CONVOY_TORCH", "nonsense")
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"CONVOY_TORCH is 'nonsense'; it may be {SWITCH}" in done.stderr
    monkeypatch.setenv("CONVOY_TORCH", "off")
    assert subprocess.run([sys.executable, "-c", start]).returncode == 0
