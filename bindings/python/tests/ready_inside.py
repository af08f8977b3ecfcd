"""ready_inside.py SOCKET [MODULE...]: a Python that has loaded PyTorch and MODULEs, and becomes a
program for each request.

A request is what Python would have been started with, and comes with the program's stdout and
stderr. The answers are its process and, once it has ended, how.
"""

import importlib
import json
import os
import runpy
import socket
import sys

import torch  # noqa: F401  what takes a second and more


def _become(request, out, err):
    """As if Python had been started so: what is on its command line remains to be run."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    words = request["words"]
    first = os.getcwd() if words[0] == "-m" else os.path.dirname(os.path.abspath(words[0]))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [first, *paths, *_PATHS]
    sys.argv[:] = words[1:] if words[0] == "-m" else words


def _serve(connection):
    """The words of a program, in its own process; None at the end, in this one."""
    while True:
        text, fds, *_ = socket.recv_fds(connection, 1 << 20, 2)
        if not text:
            return None
        process = os.fork()
        if process == 0:
            connection.close()
            request = json.loads(text)
            _become(request, *fds)
            for each in fds:
                os.close(each)
            return request["words"]
        for each in fds:
            os.close(each)
        connection.send(b"%d\n" % process)
        connection.send(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


_OWN = {os.path.dirname(os.path.abspath(__file__))}
_OWN.update(os.environ.get("PYTHONPATH", "").split(os.pathsep))
_PATHS = [each for each in sys.path if each not in _OWN]
for _each in sys.argv[2:]:
    importlib.import_module(_each)
_WORDS = _serve(socket.socket(fileno=int(sys.argv[1])))

if _WORDS and _WORDS[0] == "-m":
    runpy._run_module_as_main(_WORDS[1])
elif _WORDS:
    with open(_WORDS[0]) as _file:
        exec(compile(_file.read(), _WORDS[0], "exec"), {"__name__": "__main__"})
