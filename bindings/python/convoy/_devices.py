"""Which devices there are, and what the library was built with."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, List, Optional, Tuple

from ._errors import check
from ._keywords import keywords
from ._lib import DeviceStruct
from ._load import library
from ._options import Options, options_struct
from ._records import Device, values_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

_WHY_SIZE = 512


@keywords(Options)
def list_devices(
    device: Optional[str] = None, **options: Unpack[Options]
) -> Tuple[List[Device], str]:
    """The devices, and why OpenCL was not asked for more of them ("" if it was)."""
    asked = options_struct(device, **options)
    why = ctypes.create_string_buffer(_WHY_SIZE)
    capacity, count = 16, ctypes.c_int32()
    while True:
        found = (DeviceStruct * capacity)()
        found[0] = DeviceStruct()
        check(library.convoy_devices(asked, found, capacity, count, why, _WHY_SIZE))
        if count.value <= capacity:
            break
        capacity = count.value
    devices = [Device(**values_of(Device, found[i])) for i in range(count.value)]
    return devices, why.value.decode("utf-8", "replace")


@keywords(Options)
def devices(device: Optional[str] = None, **options: Unpack[Options]) -> List[Device]:
    """The CPU engine first, then every OpenCL device. OpenCL is asked in a process of its own
    unless `isolation="none"`, and not at all where the device is "cpu"; arguments as in
    convoy.open()."""
    return list_devices(device, **options)[0]


def version() -> str:
    """The library's version with its build id, "0.1.0 (...)"."""
    return str(library.convoy_version().decode())


def build_info() -> str:
    """What was compiled in, one "name: yes|no, detail" per line."""
    return str(library.convoy_build_info().decode("utf-8", "replace"))
