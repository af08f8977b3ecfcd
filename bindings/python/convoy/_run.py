"""python -m convoy run: an unchanged training script with PyTorch's convolutions through Convoy."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List

from . import _autoload, _log, _main_module, _waiting

_PROGRAM = "python -m convoy run"
_USAGE = (
    _PROGRAM + " [--device NAME] [--require-device] [--report] (SCRIPT | -m MODULE) [ARGUMENT...]"
)
_PYTORCH = "python -m pip install torch --index-url https://download.pytorch.org/whl/cpu"


def _parse(words: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM, usage=_USAGE, description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--device", help="as CONVOY_DEVICE: auto, cpu, ocl, ocl:1, part of a name")
    parser.add_argument(
        "--require-device", action="store_true", help="do not run on the CPU in place of the device"
    )
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


def _choice() -> str:
    """The device that will be used, and why. It is opened to be sure, and closed again: the script
    may start processes before it computes."""
    from .torch._device import open_device

    with open_device(None) as context:
        return context.description


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
    if options.require_device:
        os.environ["CONVOY_REQUIRE_DEVICE"] = "1"
    _log.say(f"convolutions run on {_choice()}{_waiting.said()}")
    _autoload.start()
    os.environ["CONVOY_TORCH"] = "1"  # processes that the script starts do the same
    try:
        _run_program(options)
    finally:
        if options.report:
            _show_report()
