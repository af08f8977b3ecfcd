"""What needs no context: shapes, problems, devices, versions, python -m convoy, loading."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases import CASES

import convoy
from convoy import _lib, _load
from convoy._options import Options, options_struct

LINE = "n2c6h17w14 k4r3s4 stride2,5 pad1:0,3 dil4,2 groups2 forward"


def python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1]), **environment},
    )


def test_parse_problem():
    problem = convoy.parse_problem(LINE)
    assert problem.direction is convoy.Direction.FORWARD
    assert problem.x_shape == (2, 6, 17, 14) and problem.w_shape == (4, 3, 3, 4)
    assert problem.geometry == {
        "stride": (2, 5),
        "padding": ((1, 0), (3, 3)),
        "dilation": (4, 2),
        "groups": 2,
        "transposed": False,
        "output_padding": (0, 0),
    }
    assert convoy.format_problem(*problem[:3], **problem.geometry) == LINE


@pytest.mark.parametrize("name", CASES)
def test_problems_there_and_back(name):
    x_shape, w_shape, geometry = CASES[name]
    text = convoy.format_problem("backward_weights", x_shape, w_shape, **geometry)
    problem = convoy.parse_problem(text)
    assert problem[:3] == (convoy.Direction.BACKWARD_WEIGHTS, x_shape, w_shape)
    assert {key: problem.geometry[key] for key in geometry} == geometry


def test_the_longest_problem_there_and_back():
    text = (
        "n99999999c2147483647z2h2w2 k2147483647t1r1s1 stride2147483647,2147483646,2147483647 "
        "pad2147483647:2147483646,2147483646:2147483645,2147483647:2147483645 "
        "dil2147483647,2147483646,2147483647 groups2147483647 transposed "
        "outpad2147483646,2147483645,2147483645 backward_weights"
    )
    assert len(text) > 256
    problem = convoy.parse_problem(text)
    assert convoy.format_problem(*problem[:3], **problem.geometry) == text


def test_parse_nonsense():
    with pytest.raises(convoy.ArgumentError):
        convoy.parse_problem("n2c6h17w14 k4 sideways")


def test_flops():
    per_tap = 2 * 8 * 16 * 5 * 6
    assert convoy.flops("forward", (1, 8, 7, 8), (16, 8, 3, 3)) == per_tap * 9


def test_plan(context):
    plan = context.plan("forward", (1, 8, 7, 8), (16, 8, 3, 3))
    assert plan.accepted and plan.algorithm in context.algorithms() and plan.workspace_bytes >= 0


def test_health_counts(context, operands):
    x, w, _ = operands
    before = context.health()
    context.forward(x, w)
    after = context.health()
    assert after.operations == before.operations + 1
    assert after.faults == after.failovers == 0 and after.worker_pid == 0


def names(struct):
    """The fields of a C struct that mean something."""
    return {name for name, _ in struct._fields_ if name != "struct_size" and "reserved" not in name}


def test_health_and_options_are_complete():
    assert {field.name for field in dataclasses.fields(convoy.Health)} == names(_lib.HealthStruct)
    assert {"device", *Options.__annotations__} == names(_lib.OptionsStruct)
    struct = options_struct(
        "cpu", device_wait_budget=2.5, history_limit=7, verify="all", nan_watch=True
    )
    assert (struct.device_wait_budget, struct.history_limit) == (2.5, 7)
    assert (struct.verify, struct.nan_watch) == (_lib.Verify.ALL, _lib.Switch.ON)


def test_interrupt(context):
    context.interrupt()
    with pytest.raises(convoy.Interrupted):
        context.sync()
    context.sync()


def test_measure_peak(context):
    peak = context.measure_peak()
    assert 0.1 < peak.gflops < 1e6 and 0.1 < peak.gigabytes_per_second < 1e5


def test_devices():
    first = convoy.devices()[0]
    assert first.id == "cpu" and first.type is convoy.DeviceType.CPU_ENGINE
    assert first.compute_units >= 1 and first.memory_bytes > 0 and first.name


def test_version():
    assert convoy.version().startswith(convoy.__version__ + " (")
    assert "OpenBLAS" in convoy.build_info()


def test_main_prints_the_devices():
    ended = python("-m", "convoy")
    assert ended.returncode == 0 and ended.stderr == ""
    assert convoy.version() in ended.stdout and "cpu " in ended.stdout


@pytest.mark.parametrize("word", ["-h", "--help", "help"])
def test_help(word):
    ended = python("-m", "convoy", word)
    assert (ended.returncode, ended.stderr) == (0, "")
    for each in "usage: python -m convoy", "  run ", "  routes ", "--version", "Exit status":
        assert each in ended.stdout
    for command in "run", "routes":
        ended = python("-m", "convoy", command, word if word != "help" else "--help")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout.startswith(f"usage: python -m convoy {command}")


def test_version_of_the_command():
    assert python("-m", "convoy", "--version").stdout == f"convoy {convoy.version()}\n"


@pytest.mark.parametrize(
    "word, hint",
    [
        ("rnu", "; did you mean run?"),
        ("route", "; did you mean routes?"),
        ("--hlep", "; did you mean --help?"),
        ("sideways", ""),
        ("--device", ""),
    ],
)
def test_unknown_command(word, hint):
    ended = python("-m", "convoy", word, "x")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"convoy: there is no command {word!r}{hint}\nusage: ")


def test_output_that_nobody_reads_to_its_end():
    script = f"{sys.executable} -m convoy --help | true; exit ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1])}
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert ended.returncode in (0, 1) and ended.stderr == ""


def test_wrong_settings_of_the_command():
    ended = python("-m", "convoy", CONVOY_LOG="loud")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert ended.stderr.startswith("convoy: CONVOY_LOG is \"loud\"")


@pytest.mark.parametrize("cpu", ["cpu", "CPU", " cpu ", "cpu:0"])
def test_cpu_needs_no_opencl(cpu):
    """CONVOY_DEVICE=cpu: no OpenCL library in the process, no child process, no device file."""
    script = (
        "import convoy, numpy, os; c = convoy.open(); assert len(convoy.devices()) == 1;"
        "c.forward(numpy.ones((1, 2, 5), numpy.float32), numpy.ones((3, 2, 2), numpy.float32));"
        "print(open('/proc/self/maps').read());"
        "print([os.readlink(f'/proc/self/fd/{f}') for f in os.listdir('/proc/self/fd')"
        " if os.path.islink(f'/proc/self/fd/{f}')]);"
        "print('children', open(f'/proc/self/task/{os.getpid()}/children').read())"
    )
    ended = python("-c", script, CONVOY_DEVICE=cpu)
    assert ended.returncode == 0, ended.stderr
    assert "libOpenCL" not in ended.stdout and "convoy-ocl" not in ended.stdout
    assert "/dev/dri" not in ended.stdout and "/dev/kfd" not in ended.stdout
    assert ended.stdout.rstrip().endswith("children")


def test_library_named_by_the_environment(tmp_path):
    ended = python("-c", "import convoy", CONVOY_LIBRARY=str(tmp_path / "libother.so"))
    assert ended.returncode != 0 and "libother.so" in ended.stderr
    assert "CONVOY_LIBRARY" in ended.stderr and "ImportError" in ended.stderr
    ended = python("-m", "convoy", CONVOY_LIBRARY=_load.library._name)
    assert ended.returncode == 0 and _load.library._name in ended.stdout


def test_without_a_library_or_numpy_the_command_says_so(tmp_path):
    missing = str(tmp_path / "libother.so")
    without = "import sys; sys.modules['numpy'] = None; import runpy;"
    run = without + "runpy._run_module_as_main('convoy', alter_argv=False)"
    for ended, words in (
        (python("-m", "convoy", CONVOY_LIBRARY=missing), "libconvoy could not be loaded"),
        (python("-c", run), "Convoy needs numpy"),
    ):
        assert (ended.returncode, ended.stdout) == (1, "")
        assert words in ended.stderr and ended.stderr.count("\n") == 1


def test_library_of_another_version(monkeypatch):
    class Other:
        def convoy_version(self):
            return b"0.2.0 (0123)"

    with pytest.raises(ImportError, match="0.2.0"):
        _load._check_version(Other(), "libother.so")
