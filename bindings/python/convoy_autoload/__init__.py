"""The entry point that PyTorch calls whenever it is imported; beside the package convoy, since that
one loads the library, which only those shall pay for who ask for it."""

import os


def start() -> None:
    if os.environ.get("CONVOY_TORCH") in (None, "", "0", "off"):
        return
    from convoy import _autoload

    _autoload.start_if_asked()
