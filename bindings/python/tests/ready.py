"""Programs in a Python that has loaded PyTorch already, which takes longer than all that they do.
What happens while it is loaded is for tests that start Python."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

_INSIDE = Path(__file__).with_name("ready_inside.py")


class Ready:
    def __init__(self, *modules):
        """`modules`: what else is loaded."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, str(_INSIDE), str(theirs.fileno()), *modules]
        self._python = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self._socket = ours

    def close(self):
        self._socket.close()
        self._python.wait()

    def start(self, words, environment, folder, out, err):
        """The process of `python WORDS...`; `out` and `err` are its alone."""
        request = {"words": list(map(str, words)), "environment": environment}
        request["folder"] = str(folder or os.getcwd())
        text = json.dumps(request).encode()
        socket.send_fds(self._socket, [text], [out, err])
        os.close(out)
        os.close(err)
        return int(self._socket.recv(64))

    def status(self):
        """Of the program that was started last, once it has ended."""
        return int(self._socket.recv(64))

    def run(self, words, environment, folder=None, timeout=120):
        """As subprocess.run."""
        self._socket.settimeout(timeout)
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        self.start(words, environment, folder, to_out, to_err)
        texts = {}

        def read(name, fd):
            with open(fd) as file:
                texts[name] = file.read()

        ends = ("out", out), ("err", err)
        readers = [threading.Thread(target=read, args=each) for each in ends]
        for each in readers:
            each.start()
        status = self.status()
        for each in readers:
            each.join()
        return subprocess.CompletedProcess(words, status, texts["out"], texts["err"])
