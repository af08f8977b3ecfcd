"""python -m convoy: what was built in and which devices there are.
python -m convoy run: see _run.py."""

from __future__ import annotations

import sys

from . import _load, build_info, list_devices, version
from ._records import Device

_GIB = 2**30


def _line(device: Device) -> str:
    memory = f"{device.memory_bytes / _GIB:.1f} GiB"
    kind = device.type.name.lower().replace("_", " ")
    simulator = ", simulator" if device.simulator else ""
    return (
        f"  {device.id:8} {device.name} ({kind}{simulator}; {device.platform}; {device.driver}; "
        f"{device.compute_units} units; {memory})"
    )


def show() -> None:
    print(f"Convoy {version()}\n{_load.library._name}\n")
    print(build_info().rstrip() + "\n")
    devices, why = list_devices()
    print("\n".join(_line(device) for device in devices))
    if why:
        print(f"  no other devices: {why}")


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        from . import _run

        _run.main()
    elif sys.argv[1:]:
        sys.exit(f"python -m convoy, or python -m convoy run; not {sys.argv[1]}")
    else:
        show()


if __name__ == "__main__":
    main()
