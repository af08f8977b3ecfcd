"""python -m convoy run: an unchanged training script with PyTorch's convolutions through Convoy."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Tuple

from . import _autoload, _log, _main_module
from ._devices import list_devices
from ._lib import DeviceType

_PROGRAM = "python -m convoy run"
_USAGE = _PROGRAM + " [--device NAME] [--report] (SCRIPT | -m MODULE) [ARGUMENT...]"
_PYTORCH = "python -m pip install torch --index-url https://download.pytorch.org/whl/cpu"


def _parse(words: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM, usage=_USAGE, description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--device", help="as CONVOY_DEVICE: auto, cpu, ocl, ocl:1, part of a name")
    parser.add_argument("--report", action="store_true", help="at the end, what ran where")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    parser.add_argument("program", help="the script or module, its arguments after it")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def _need_pytorch() -> None:
    try:
        import torch  # noqa: F401
    except (ImportError, OSError) as error:  # OSError: of its libraries
        _log.say(
            "run sends PyTorch's convolutions through Convoy, and PyTorch cannot be imported "
            f"({error}); to get it: {_PYTORCH}"
        )
        sys.exit(1)


def _reason(asked: str, device_type: DeviceType) -> str:
    """Why it is this device."""
    if asked not in ("auto", "cpu") and device_type == DeviceType.CPU_ENGINE:
        return f"'{asked}' cannot be opened"
    if asked != "auto":
        return f"asked for as '{asked}'"
    if device_type != DeviceType.CPU_ENGINE:
        return "the first GPU of OpenCL"
    return list_devices()[1] or "OpenCL shows no GPU"


def _choice() -> Tuple[str, str]:
    """The device that will be used, and why. It is opened to be sure, and closed again: the script
    may start processes before it computes."""
    from .torch._device import device_of_process, open_device

    asked = device_of_process()
    with open_device(asked) as context:
        device = context.device
    return f"{device.id} ({device.name})", _reason(asked, device.type)


def _check_program(options: argparse.Namespace) -> None:
    check = _main_module.check_module if options.module else _main_module.check_script
    check(options.program)


def _run_program(options: argparse.Namespace) -> None:
    """Ends as python ends with that program; after Ctrl-C with the number a shell has for it."""
    sys.argv = [options.program, *options.arguments]
    run = _main_module.run_module if options.module else _main_module.run_script
    try:
        run(options.program)
    except SystemExit:
        raise
    except BaseException as error:
        _main_module.show_exception(error)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def _show_report() -> None:
    from . import torch

    print(torch.report(), file=sys.stderr)


def main(words: List[str]) -> None:
    options = _parse(words)
    _check_program(options)
    _need_pytorch()
    if options.device:
        os.environ["CONVOY_DEVICE"] = options.device
    device, why = _choice()
    _log.say(f"convolutions run on {device}: {why}")
    _autoload.start()
    os.environ["CONVOY_TORCH"] = "1"  # processes that the script starts do the same
    try:
        _run_program(options)
    finally:
        if options.report:
            _show_report()
