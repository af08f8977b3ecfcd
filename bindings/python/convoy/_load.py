"""Finds and loads libconvoy, once, when the package is imported.

In this order: the file CONVOY_LIBRARY names; beside this package (the wheel); build/release of the
source tree this package lies in; wherever the system's loader looks.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import List

from . import _lib

_NAMES = ("libconvoy.so.0", "libconvoy.so")


def _places() -> List[str]:
    asked = os.environ.get("CONVOY_LIBRARY")
    if asked:
        return [asked]
    package = Path(__file__).resolve().parent
    folders = [package]
    if package.parts[-3:-1] == ("bindings", "python"):
        folders.append(package.parents[2] / "build" / "release")
    files = [folder / name for folder in folders for name in _NAMES]
    return [str(file) for file in files if file.exists()] + list(_NAMES)


def _check_version(library: ctypes.CDLL, place: str) -> None:
    """Before 1.0 the interface may change with the minor number."""
    text = library.convoy_version().decode()
    wanted = "{}.{}.".format(*_lib.VERSION)
    if not text.startswith(wanted):
        sentence = f"{place} is Convoy {text}; this package needs {wanted}x"
        raise ImportError(sentence, name=__package__)


def _load() -> ctypes.CDLL:
    failures = []
    for place in _places():
        try:
            library = _lib.declare(ctypes.CDLL(place))
        except (OSError, AttributeError) as error:
            failures.append(f"{place}: {error}")
            continue
        _check_version(library, place)
        return library
    raise ImportError(
        "libconvoy could not be loaded; build it (cmake --preset release && cmake --build --preset "
        "release) or set CONVOY_LIBRARY to the file. Tried " + "; ".join(failures),
        name=__package__,  # so that python -m convoy tells it in a line
    )


library = _load()
