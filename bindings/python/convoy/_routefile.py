"""The file of measured routes: what was the fastest way for a problem on this machine.

Text, one route per line, fields separated by tabs; the first line names the version, and a file of
another version is begun anew. Processes may share it: it is changed under a lock and replaced as a
whole. What lies in its place and is no regular file, too large or somebody else's is not waited
for, not read and not changed.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple

from ._errors import FileError
from ._lib import Status

_KIND = "convoy torch routes "
_HEAD = _KIND + "3"
_MOST_BYTES = 4 * 2**20
_LOCK_SECONDS = 2.0
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Route(NamedTuple):
    """What was measured for one problem."""

    place: str  #: devices, threads and versions that it holds for
    problem: str  #: in the grammar of convoy_parse_problem
    layout: str  #: "contiguous" or "channels_last"
    way: str  #: the fastest: the id of a device, or "pytorch"
    times: str  #: of each way
    when: str


Routes = List[Route]
Edit = Callable[[Routes], Routes]


def _unusable(sentence: str) -> FileError:
    return FileError(Status.ERR_IO, sentence)


def default_path() -> Path:
    """CONVOY_ROUTE_FILE, else torch-routes.txt in the folder of Convoy's configuration."""
    named = os.environ.get("CONVOY_ROUTE_FILE")
    if named:
        return Path(os.path.abspath(named))
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    if home.startswith("~"):
        raise _unusable("measured routes have no place: neither CONVOY_ROUTE_FILE nor HOME")
    return Path(os.path.abspath(home)) / "convoy" / "torch-routes.txt"


_NAMES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFSOCK: "a socket",
}


def _check_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _NAMES.get(stat.S_IFMT(mode), "something unknown")
        raise _unusable(f"{path} is {kind}, not a regular file")


def _open(path: Path, flags: int) -> int:
    """A descriptor of a regular file. A look comes first, since opening alone does things to some
    devices; what was opened is looked at again, since the name may mean another file by then."""
    try:
        _check_kind(path, os.lstat(path).st_mode)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    file = os.open(path, flags | _FLAGS, 0o644)
    try:
        _check_kind(path, os.fstat(file).st_mode)
    except FileError:
        os.close(file)
        raise
    return file


def _content(path: Path) -> str:
    """Empty where there is no file."""
    try:
        file = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return ""
    with os.fdopen(file, "rb") as opened:
        content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise _unusable(f"{path} is larger than {_MOST_BYTES} bytes, which no file of routes is")
    return content.decode("utf-8", "replace")


@contextmanager
def _faults_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable(f"{path} cannot be used: {error.strerror or error}") from None


def read(path: Path) -> Routes:
    """What the file has, in the order in which it was measured; nothing where there is none."""
    with _faults_told(path):
        text = _content(path)
    if text and not text.startswith(_KIND):
        raise _unusable(f"{path} is there and no file of routes; it is left as it is")
    head, *lines = text.split("\n")
    rows = [line.split("\t") for line in lines if head == _HEAD]
    return [Route(*row) for row in rows if len(row) == len(Route._fields)]


def _lock(file: int) -> bool:
    """Whether it was to be had. Nobody holds it for longer than writing takes; who does, or a file
    system without locks, is not waited for."""
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.002)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Alone with the file."""
    file = _open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT)
    try:
        if not _lock(file):
            raise _unusable(f"{path} is locked by another process")
        yield
        fcntl.flock(file, fcntl.LOCK_UN)  # a child forked meanwhile has the descriptor too
    finally:
        os.close(file)


def _written(routes: Routes) -> bytes:
    """As the file has them; the oldest go where they would be too many."""
    while True:
        lines = [_HEAD, *("\t".join(route) for route in routes), ""]
        content = "\n".join(lines).encode("utf-8", "replace")
        if len(content) <= _MOST_BYTES:
            return content
        routes = routes[len(routes) // 2 + 1 :]


def _replace(path: Path, content: bytes) -> None:
    new = path.with_name(".convoy-saving-" + path.name)
    new.unlink(missing_ok=True)  # of a process that was killed
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o644)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            if path.exists():
                os.fchmod(file, stat.S_IMODE(path.stat().st_mode))
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def change(path: Path, edit: Edit) -> None:
    """Replaces the routes by what `edit` makes of them."""
    with _faults_told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            before = read(path)
            after = edit(before)
            if after != before:
                _replace(path, _written(after))
