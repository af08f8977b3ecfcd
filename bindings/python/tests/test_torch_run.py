"""Unchanged scripts: python -m convoy run, and CONVOY_TORCH=1 where PyTorch loads entry points."""

import os
import py_compile
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy
from convoy import _on_import
from ready import Ready

PACKAGES = Path(convoy.__file__).parents[1]

SCRIPT = """
import sys, torch
class Mine: pass
print(sys.argv, __name__, sys.path[0])
y = torch.nn.functional.conv2d(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 3, 3))
assert (y == 18).all()
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path / "train.py"


@pytest.fixture(scope="module", autouse=True)
def ready():
    """`run` becomes a program of it where no test says that Python has to be started."""
    global READY
    READY = Ready()
    yield
    READY.close()


def run(*words, started=False, **environment):
    variables = {**os.environ, "PYTHONPATH": str(PACKAGES), "CONVOY_ROUTE": "convoy", **environment}
    folder = variables.pop("FOLDER", None)
    if words[:3] == ("-m", "convoy", "run") and not started:
        return READY.run(words, variables, folder)
    command = [sys.executable, *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=variables, cwd=folder
    )


def test_script(script):
    words = "--device", "cpu", script, 0, "-m", "--report"
    done = run("-m", "convoy", "run", *words, started=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        f"['{script}',", "'0',", "'-m',", "'--report']", "__main__", str(script.parent)
    ]  # fmt: skip
    assert done.stderr.startswith("convoy: convolutions run on cpu (")
    assert done.stderr.endswith('): asked for as "cpu"\n') and done.stderr.count("\n") == 1


def test_module(script):
    words = "--device", "cpu", "--report", "-m", "train", 4
    done = run("-m", "convoy", "run", *words, FOLDER=script.parent, started=True)
    assert done.returncode == 4, done.stderr
    assert "['" + str(script) in done.stdout and "__main__" in done.stdout
    assert done.stderr.splitlines()[1:] == [
        "1 of 1 convolution operations through Convoy",
        "          1  cpu       forward",
    ]


def test_lines_of_several_processes(script):
    done = run("-m", "convoy", "run", "--device", "cpu", "--report", script, 0, RANK="1")
    assert done.returncode == 0, done.stderr
    first, *report = done.stderr.splitlines()
    assert first.startswith("convoy: rank 1: convolutions run on cpu (")
    assert report[0] == "rank 1: 1 of 1 convolution operations through Convoy"
    assert all(line.startswith("rank 1: ") for line in report)


def said(done):
    return next(line for line in done.stderr.splitlines() if "convolutions run on" in line)


def test_says_which_device_and_why(script, opencl_device):
    done = run("-m", "convoy", "run", script, 0, CONVOY_DEVICE=opencl_device)
    assert done.returncode == 0
    assert said(done).startswith(f"convoy: convolutions run on {opencl_device} (")
    assert said(done).endswith(f'): asked for as "{opencl_device}"')


def test_a_device_that_never_was(script):
    """A sentence before the script begins."""
    done = run("-m", "convoy", "run", "--device", "vulkan", script, 0)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith('convoy: no device is called "vulkan"; what there is: ')
    assert done.stderr.count("\n") == 1


def test_a_device_that_is_gone(script, gone_device):
    done = run("-m", "convoy", "run", "--device", gone_device, "--report", script, 0)
    assert done.returncode == 0
    assert "convolutions run on cpu (" in said(done) and f"in place of {gone_device}" in said(done)
    assert done.stderr.splitlines()[-1].startswith("  computing on cpu (")
    done = run("-m", "convoy", "run", "--device", gone_device, "--require-device", script, 0)
    assert (done.returncode, done.stdout) == (1, "")
    assert "last seen on 2026-11-20" in done.stderr and "Traceback" not in done.stderr


RUNNER = "-m", "convoy", "run", "--device", "cpu"

FORMS = pytest.mark.parametrize("words", [["train.py"], ["-m", "train"]])


@pytest.fixture
def written(tmp_path):
    """Writes train.py, and runs it plainly or through Convoy."""

    def write(text):
        (tmp_path / "train.py").write_text(text)
        return lambda *words: run(*words, FOLDER=tmp_path)

    return write


@FORMS
def test_a_script_that_fails(written, words):
    done = written("def f():\n    1 / 0\n\n\nf()\n")(*RUNNER, *words)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert done.stderr.count("Traceback") == 1
    lines = [line.strip() for line in done.stderr.splitlines()]
    own = [index for index, line in enumerate(lines) if "train.py" in line]
    assert [lines[index + 1] for index in own] == ["f()", "1 / 0"]
    assert not any(line.startswith("File ") for line in lines[own[0] + 1 : own[1]])
    assert not any(line.startswith("File ") for line in lines[own[1] + 1 :])


@FORMS
@pytest.mark.parametrize("ending", ["", "sys.exit()", "sys.exit(7)", "sys.exit('why')"])
def test_exit_status(written, words, ending):
    run_it = written("import sys\n" + ending)
    plain, done = run_it(*words), run_it(*RUNNER, *words)
    assert done.returncode == plain.returncode
    assert done.stderr.splitlines()[1:] == plain.stderr.splitlines()


AT_EXIT = """
import atexit, pickle, sys, threading
class Mine: pass
class Late(threading.Thread):
    def run(self):
        threading.main_thread().join()
        print("thread", type(pickle.loads(pickle.dumps(Mine()))) is Mine)
atexit.register(lambda: print("exit", type(pickle.loads(pickle.dumps(Mine()))) is Mine))
Late().start()
print("main", sys.modules["__main__"].Mine is Mine)
"""


@FORMS
def test_main_is_still_there_at_exit(written, words):
    done = written(AT_EXIT)(*RUNNER, *words)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert sorted(done.stdout.splitlines()) == ["exit True", "main True", "thread True"]


NAMES = """
import sys
spec = __spec__ and (__spec__.name, __spec__.origin, __spec__.parent)
print(__name__, __file__, __package__, __cached__, type(__loader__), type(__builtins__), spec)
print(__doc__, sys.argv, sys.path[0])
"""


@pytest.mark.parametrize(
    "words",
    [
        *(["train.py", "-m"], ["-m", "train", "5"], ["-m", "package.part"], ["-m", "package"]),
        *(["package"], ["package.zip"], ["train.pyc"]),
        *(["-m", "missing"], ["-m", "package.missing"]),
    ],
)
def test_names_of_main_are_those_of_python(written, tmp_path, words):
    run_it = written(NAMES)
    (tmp_path / "package").mkdir()
    for name in "__init__.py", "part.py", "__main__.py":
        (tmp_path / "package" / name).write_text(NAMES if name != "__init__.py" else "")
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        archive.write(tmp_path / "train.py", "__main__.py")
    py_compile.compile(str(tmp_path / "train.py"), str(tmp_path / "train.pyc"))
    plain, done = run_it(*words), run_it(*RUNNER, *words)
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)
    lines = [line for line in done.stderr.splitlines() if "convolutions run on" not in line]
    assert lines == plain.stderr.splitlines()
    assert plain.stdout or "missing" in words[-1]


@pytest.fixture
def mistakes(tmp_path):
    """What people give instead of a script that runs."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("other.py", "")
    (tmp_path / "syntax.py").write_text("x = (\n")
    (tmp_path / "encoding.py").write_bytes(b"x = '\xff'\n")
    (tmp_path / "name.py").write_text("import no_such_module_anywhere\n")
    return tmp_path


EARLY = ["missing.py", "folder", "empty.zip", "no/such/file.py", "syntax.py/x", "-m missing"]
LATE = ["-m package", "-m missing.part", "-m package.py", "-m ..x", "-m folder", "syntax.py"]


@pytest.mark.parametrize("words", [*EARLY, *LATE, "encoding.py", "name.py"])
def test_mistakes_are_told_as_python_tells_them(mistakes, words):
    """Without a line of Convoy's own code, and before anything is opened if they show at once."""
    plain = run(*words.split(), FOLDER=mistakes)
    done = run(*RUNNER, *words.split(), FOLDER=mistakes)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode in (1, 2)
    if words in EARLY:
        assert done.stderr == plain.stderr
    assert str(PACKAGES) not in done.stderr and "runpy" not in done.stderr
    assert done.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1] or words == "encoding.py"


def test_a_script_from_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["bash", "-c", f"echo 'print(42)' > {tmp_path}/pipe"]):
        done = run(*RUNNER, "pipe", FOLDER=tmp_path)
    assert (done.returncode, done.stdout) == (0, "42\n")


def test_a_script_that_goes_away(mistakes, monkeypatch):
    """Between the check and the run."""
    from convoy import _main_module

    with pytest.raises(SystemExit) as ended:
        _main_module._code_of(str(mistakes / "gone.py"))
    assert ended.value.code == 2


CALLS_CONVOY = """
import sys, torch, convoy
def f():
    convoy.open("cpu").forward([1.0], [2.0])
sys.excepthook = lambda *error: (print("hook", error[0].__name__), sys.__excepthook__(*error))
f()
"""


def test_errors_of_convoy_in_the_script(written):
    """Their traceback begins with the script and goes on into Convoy, as ever; hooks are called."""
    done = written(CALLS_CONVOY)(*RUNNER, "train.py")
    assert (done.returncode, done.stdout) == (1, "hook ArgumentError\n")
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert "train.py" in files[0] and "train.py" in files[1] and "_context.py" in files[-4]


WITHOUT = """
import sys
sys.modules["torch"] = None
sys.argv = ["convoy", "run", *sys.argv[1:]]
from convoy.__main__ import main
main()
"""


def test_without_pytorch(script):
    done = run("-c", WITHOUT, script, 0)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("convoy: run sends PyTorch's convolutions through Convoy, and ")
    assert "pip install torch" in done.stderr and done.stderr.count("\n") == 1
    done = run("-c", WITHOUT, "missing.py")
    assert done.returncode == 2 and "missing.py" in done.stderr


@pytest.mark.parametrize(
    "variable, value, words",
    [
        ("CONVOY_ROUTE", "sideways", "'sideways'"),
        ("CONVOY_DEVICE_WAIT_BUDGET", "soon", "soon"),
        ("CONVOY_LOG", "loud", "loud"),
    ],
)
def test_wrong_settings(script, variable, value, words):
    done = run("-m", "convoy", "run", script, 0, **{variable: value, "CONVOY_DEVICE": "cpu"})
    assert done.returncode == 1 and done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("convoy: ") and words in last and "Traceback" not in done.stderr


def test_a_device_that_is_not_there(script):
    done = run(*RUNNER[:3], "--device", "no such", script, 0, CONVOY_FAILOVER="0")
    assert done.returncode in (1, 3) and "Traceback" not in done.stderr
    assert "no such" in done.stderr and done.stdout == ""


def interrupt(*words, folder):
    """Runs, sends what Ctrl-C sends once a line is there, and returns how it ended."""
    variables = {**os.environ, "PYTHONPATH": str(PACKAGES), "CONVOY_ROUTE": "convoy"}
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    with open(out) as out, open(err) as err:
        process = READY.start(words, variables, folder, to_out, to_err)
        line = out.readline()
        os.kill(process, signal.SIGINT)
        status, rest, said = READY.status(), out.read(), err.read()
    assert line == "ready\n", said
    return status, rest, said


WAITS = """
import time, torch
def f():
    print("ready", flush=True)
    time.sleep(60)
f()
"""

COMPUTES = """
import torch
x, w = torch.ones(2, 8, 64, 64), torch.ones(8, 8, 3, 3)
torch.nn.functional.conv2d(x, w)
print("ready", flush=True)
while True:
    torch.nn.functional.conv2d(x, w)
"""


@FORMS
@pytest.mark.parametrize("script", [WAITS, COMPUTES], ids=["waits", "computes"])
def test_interrupted(written, tmp_path, words, script):
    """Where the script was is shown, of Convoy nothing; the report comes all the same."""
    written(script)
    options = *RUNNER, "--report", *words
    status, out, err = interrupt(*options, folder=tmp_path)
    assert status == 130, err
    assert "KeyboardInterrupt" in err and str(PACKAGES) not in err
    assert err.count("Traceback") == 1 and 'train.py", line' in err
    assert "convolution operations through Convoy" in err


def test_a_script_that_catches_ctrl_c(written, tmp_path):
    indented = "    ".join(WAITS.splitlines(True))
    written(f"try:\n{indented}except KeyboardInterrupt:\n    exit(5)\n")
    status, out, err = interrupt(*RUNNER, "train.py", folder=tmp_path)
    assert (status, err.count("\n")) == (5, 1)


INTERRUPTED_BEFORE = """
import sys
import convoy._run
def interrupted(): raise KeyboardInterrupt
convoy._run._choice = interrupted
sys.argv = ["convoy", "run", sys.argv[1], "0"]
from convoy.__main__ import main
main()
"""


def test_interrupted_before_the_script(script):
    done = run("-c", INTERRUPTED_BEFORE, script)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "convoy: interrupted\n")


def test_nonsense():
    assert run("-m", "convoy", "run").returncode == 2
    assert run("-m", "convoy", "run", "--devise", "cpu", "x").returncode == 2


SHOW = """
import torch, sys
print('convoy' in sys.modules)
torch.nn.functional.conv2d(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 3, 3))
if 'convoy' in sys.modules: print(sys.modules['convoy.torch'].counts())
"""


@pytest.fixture
def installed(tmp_path):
    """A folder that Python takes for an installed package with pyproject.toml's entry points."""
    lines = (PACKAGES.parents[1] / "pyproject.toml").read_text().splitlines()
    start = lines.index('[project.entry-points."torch.backends"]')
    name, _, target = lines[start + 1].partition(" = ")
    folder = tmp_path / "libconvoy-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: libconvoy\nVersion: 0\n")
    (folder / "entry_points.txt").write_text(
        f"[torch.backends]\n{name} = {target.strip(chr(34))}\n"
    )
    return f"{PACKAGES}{os.pathsep}{tmp_path}"


@pytest.mark.skipif(
    not hasattr(torch, "_import_device_backends"), reason="PyTorch loads no entry points before 2.5"
)
def test_entry_point(installed):
    wanted = {"CONVOY_DEVICE": "cpu", "PYTHONPATH": installed}
    done = run("-c", SHOW, **wanted, CONVOY_TORCH="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "True\n{('cpu', 'forward', ''): 1}\n"
    done = run("-c", SHOW, **wanted)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "False\n")


@pytest.mark.parametrize("words", [["-c", "import convoy.torch" + SHOW], ["-m", "convoy", "run"]])
def test_entry_point_in_the_middle_of_an_import(installed, script, words):
    """Convoy imports PyTorch, which calls the entry point while Convoy is not there as a whole."""
    words = [*words, script, 0]
    wanted = {"PYTHONPATH": installed, "CONVOY_TORCH": "1", "CONVOY_DEVICE": "cpu"}
    done = run(*words, **wanted, started=True)
    assert done.returncode == 0, done.stderr


def test_when_imported(tmp_path, monkeypatch):
    (tmp_path / "imported_later.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = []
    _on_import.when_imported("imported_later", lambda module: seen.append(module.value))
    assert seen == [] and "imported_later" not in sys.modules
    import imported_later

    assert seen == [7] and imported_later.__file__ == str(tmp_path / "imported_later.py")
    _on_import.when_imported("imported_later", lambda module: seen.append(module.__name__))
    assert seen == [7, "imported_later"]
    del sys.modules["imported_later"]
