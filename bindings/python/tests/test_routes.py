"""The file of measured routes, whatever lies in its place, and `python -m convoy routes`."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import convoy
from convoy import _routefile
from convoy._routefile import Route, change, default_path, read

ROUTES = [
    Route("cpu A, 2", "n1c2h5w5 k3r3s3 forward", "contiguous", "cpu", "cpu=1.000ms", "11-01"),
    Route("cpu A, 2", "n1c2h5w5 k3r3s3 forward", "channels_last", "pytorch", "cpu=2ms", "11-02"),
    Route("ocl:0 B, 1", "n8c2w5 k3s3 backward_data", "contiguous", "ocl:0", "cpu=3ms", "11-03"),
]


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "folder" / "routes.txt"))
    return default_path()


@pytest.fixture
def filled(path):
    change(path, lambda routes: ROUTES)
    return path


def keep(path, route=ROUTES[0]):
    change(path, lambda routes: [*routes, route])


def test_there_and_back(path):
    assert read(path) == [] and not path.parent.exists()
    for route in ROUTES:
        keep(path, route)
    assert read(path) == ROUTES
    change(path, lambda routes: routes[1:])
    assert read(path) == ROUTES[1:]
    assert sorted(os.listdir(path.parent)) == ["routes.txt", "routes.txt.lock"]


def test_another_version_is_begun_anew(filled):
    filled.write_text(filled.read_text().replace("routes 3", "routes 2"))
    assert read(filled) == []
    keep(filled)
    assert read(filled) == ROUTES[:1]


def test_broken_lines_are_left_out(filled):
    with open(filled, "ab") as file:
        file.write(b"\xff\xfe\tx\nno fields\n\0\0\0\n" + "\t".join("abcdef").encode() + b"\n\n")
    assert read(filled) == [*ROUTES, Route(*"abcdef")]


def folder(path):
    path.mkdir()


def fifo(path):
    os.mkfifo(path)


def link(path):
    (path.parent / "elsewhere").write_text("precious")
    path.symlink_to(path.parent / "elsewhere")


def dangling(path):
    path.symlink_to(path.parent / "nowhere")


def giant(path):
    with open(path, "wb") as file:
        file.write(_routefile._HEAD.encode() + b"\n")
        file.truncate(2**34)


def other(path):
    path.write_text("precious")


def garbage(path):
    path.write_bytes(os.urandom(5000))


def zeros(path):
    path.symlink_to("/dev/zero")


def listener(path):
    here = os.getcwd()  # the name of a socket is short
    os.chdir(path.parent)
    socket.socket(socket.AF_UNIX).bind(path.name)
    os.chdir(here)


# what lies there: words of the sentence
HOSTILE = {
    folder: "is a folder, not a regular file",
    fifo: "is a FIFO, not a regular file",
    link: "is a symbolic link, not a regular file",
    dangling: "is a symbolic link, not a regular file",
    zeros: "is a symbolic link, not a regular file",
    giant: "is larger than 4194304 bytes",
    other: "no file of routes; it is left as it is",
    garbage: "no file of routes; it is left as it is",
    listener: "is a socket, not a regular file",
}

HOSTILE_FILES = pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)


def everything_in(folder):
    found = {}
    for name in os.listdir(folder):
        state = os.lstat(folder / name)
        readable = (folder / name).is_file() and state.st_size < 2**20
        found[name] = (state.st_mode, state.st_size, readable and (folder / name).read_bytes())
    return found


@HOSTILE_FILES
def test_what_is_no_file_of_routes(path, make):
    path.parent.mkdir()
    make(path)
    before = everything_in(path.parent)
    start = time.monotonic()
    for use in (read, keep):
        with pytest.raises(convoy.FileError, match=HOSTILE[make]) as raised:
            use(path)
        assert str(path) in str(raised.value)
    assert time.monotonic() - start < 5
    after = everything_in(path.parent)
    after.pop("routes.txt.lock")
    assert after == before


@pytest.mark.parametrize("name", ["{}.lock", ".convoy-saving-{}"])
@HOSTILE_FILES
def test_what_lies_in_place_of_its_helpers(filled, make, name):
    """Nothing is followed, waited for or lost; what a process left that was killed is replaced."""
    helper = filled.with_name(name.format(filled.name))
    helper.unlink(missing_ok=True)
    make(helper)
    content = (filled.parent / "elsewhere").exists() and "precious"
    try:
        keep(filled)
    except convoy.FileError as error:
        assert str(filled) in str(error)
        assert read(filled) == ROUTES
    else:
        assert read(filled) == [*ROUTES, ROUTES[0]]
    assert not content or (filled.parent / "elsewhere").read_text() == content
    assert not (filled.parent / "nowhere").exists()


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_its_mode_stays(filled, mode):
    near = filled.with_name(filled.name + ".new")
    near.write_text("another's")
    filled.chmod(mode)
    keep(filled)
    assert filled.stat().st_mode & 0o777 == mode
    assert near.read_text() == "another's"


def test_a_lock_that_is_held_is_not_waited_for(filled, monkeypatch):
    monkeypatch.setattr(_routefile, "_LOCK_SECONDS", 0.1)
    with open(f"{filled}.lock", "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(convoy.FileError, match="locked by another process"):
            keep(filled)
    keep(filled)


def test_processes_and_threads_lose_nothing(path):
    """Each adds its own while others do, and one reads all the time: always a whole file."""
    children = []
    for child in range(3):
        if not (process := os.fork()):
            try:
                for number in range(20):
                    keep(path, ROUTES[0]._replace(way=f"{child}.{number}"))
            finally:
                os._exit(0)
        children.append(process)

    def work():
        for _ in range(20):
            keep(path, ROUTES[1])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    seen = 0
    while any(thread.is_alive() for thread in threads):
        assert len(read(path)) >= seen
        seen = len(read(path))
    for thread in threads:
        thread.join()
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 3
    ways = [route.way for route in read(path)]
    assert len(ways) == 100 and len(set(ways)) == 61


def test_a_full_disk_leaves_what_was_there(filled, monkeypatch):
    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(convoy.FileError, match="No space left on device"):
        keep(filled)
    assert read(filled) == ROUTES
    assert sorted(os.listdir(filled.parent)) == ["routes.txt", "routes.txt.lock"]


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "routes.txt"
    for use in (read, keep):
        with pytest.raises(convoy.FileError, match="Not a directory|File exists"):
            use(path)


def test_the_oldest_go_when_they_are_too_many(path, monkeypatch):
    monkeypatch.setattr(_routefile, "_MOST_BYTES", 2000)
    for number in range(100):
        keep(path, ROUTES[0]._replace(way=str(number)))
        assert path.stat().st_size <= 2000
    ways = [int(route.way) for route in read(path)]
    assert ways == list(range(ways[0], 100)) and len(ways) > 5


def test_places(tmp_path, monkeypatch):
    monkeypatch.delenv("CONVOY_ROUTE_FILE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_path() == tmp_path / "convoy" / "torch-routes.txt"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONVOY_ROUTE_FILE", "here.txt")
    assert default_path() == tmp_path / "here.txt"
    for name in ("CONVOY_ROUTE_FILE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where nobody has a home
    with pytest.raises(convoy.FileError, match="neither CONVOY_ROUTE_FILE nor HOME"):
        default_path()


# --------------------------------------------------------------------------- the command


def command(*words):
    environment = {**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-m", "convoy", "routes", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )


def test_shows_what_is_kept(filled):
    shown = command()
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines() == [
        f"{filled}: 3 of 3 measured routes",
        "",
        "on cpu A, 2",
        "  n1c2h5w5 k3r3s3 forward  cpu  (cpu=1.000ms, 11-01)",
        "  n1c2h5w5 k3r3s3 forward channels_last  pytorch  (cpu=2ms, 11-02)",
        "",
        "on ocl:0 B, 1",
        "  n8c2w5 k3s3 backward_data  ocl:0  (cpu=3ms, 11-03)",
    ]


def test_nothing_is_kept(path):
    for words in ([], ["--clear"]):
        assert command(*words).returncode == 0
    assert command().stdout == f"{path}: 0 of 0 measured routes\n"


@pytest.mark.parametrize(
    "pattern, which",
    [
        ("forward", [0, 1]),
        ("channels_last", [1]),
        ("h5*FORWARD ", [0, 1]),
        ("ocl:0 B", [2]),
        ("pytorch", [1]),
        ("[nm]8c?w5", [2]),
        ("11-0[13]", [0, 2]),
        ("nothing", []),
        ("", [0, 1, 2]),
    ],
)
def test_patterns(filled, pattern, which):
    shown = command(pattern)
    assert shown.stdout.startswith(f"{filled}: {len(which)} of 3 measured routes\n")
    assert [ROUTES[i].times in shown.stdout for i in range(3)] == [i in which for i in range(3)]
    cleared = command("--clear", pattern)
    assert (cleared.returncode, cleared.stderr) == (0, "")
    assert cleared.stdout == f"{filled}: {len(which)} of 3 measured routes cleared\n"
    assert read(filled) == [ROUTES[i] for i in range(3) if i not in which]


def test_clears_all(filled):
    assert "3 of 3 measured routes cleared" in command("--clear").stdout
    assert read(filled) == []


@HOSTILE_FILES
def test_command_on_what_is_no_file_of_routes(path, make):
    path.parent.mkdir()
    make(path)
    for words in ([], ["--clear"]):
        ended = command(*words)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.startswith("convoy: ") and HOSTILE[make] in ended.stderr
        assert ended.stderr.count("\n") == 1


def test_no_control_sequences(path):
    keep(path, ROUTES[0]._replace(problem="\033]0;evil\a", place="\033[2J"))
    shown = command().stdout
    assert "\033" not in shown and "\a" not in shown and "?]0;evil?" in shown


def test_no_pytorch_is_needed(filled):
    script = (
        "import sys; sys.modules['torch'] = None; sys.argv[1:] = ['routes'];"
        "from convoy.__main__ import main; main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1])}
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment)
    assert ended.returncode == 0 and b"3 of 3" in ended.stdout
