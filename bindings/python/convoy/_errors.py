"""A status of the C library as an exception that carries the library's sentence."""

from __future__ import annotations

from typing import Dict, Type

from ._lib import Status
from ._load import library


class ConvoyError(Exception):
    """A call failed; outputs are as they were.

    status: the code. sentence: what was wrong, with the offending numbers.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(status, sentence)
        self.status = Status(status)
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class ArgumentError(ConvoyError, ValueError):
    """An argument is out of range or of a wrong type, or the context is closed."""


class ShapeError(ConvoyError, ValueError):
    """Shapes disagree, or the filter does not fit the padded input."""


class MemoryError_(ConvoyError, MemoryError):
    """Host or device memory is exhausted."""


class DeviceError(ConvoyError):
    """A device failed, vanished, or its process died (only without failover)."""


class UnsupportedError(ConvoyError):
    """An algorithm asked for by name refuses the problem, or a part was not built."""


class FileError(ConvoyError):
    """A file could not be read or written."""


class NotFoundError(ConvoyError, LookupError):
    """There is no device or algorithm of that name."""


class Interrupted(ConvoyError):
    """Context.interrupt() ended the wait."""


class DeadlineError(DeviceError):
    """A device made no progress within its deadline, or the call's budget ended."""


class WrongResultError(DeviceError):
    """A device's result did not stand its verification (only without failover)."""


_CLASSES: Dict[int, Type[ConvoyError]] = {
    Status.ERR_ARGUMENT: ArgumentError,
    Status.ERR_SHAPE: ShapeError,
    Status.ERR_MEMORY: MemoryError_,
    Status.ERR_DEVICE: DeviceError,
    Status.ERR_UNSUPPORTED: UnsupportedError,
    Status.ERR_IO: FileError,
    Status.ERR_NOT_FOUND: NotFoundError,
    Status.ERR_INTERRUPTED: Interrupted,
    Status.ERR_DEADLINE: DeadlineError,
    Status.ERR_WRONG: WrongResultError,
}


def check(status: int) -> None:
    """Raises unless `status` is OK. On the thread of the failed call: the sentence is its own."""
    if status != Status.OK:
        sentence = library.convoy_last_error().decode("utf-8", "replace")
        raise _CLASSES[status](status, sentence)


def argument_error(sentence: str) -> ArgumentError:
    return ArgumentError(Status.ERR_ARGUMENT, sentence)


def shape_error(sentence: str) -> ShapeError:
    return ShapeError(Status.ERR_SHAPE, sentence)
