"""python -m convoy run: an unchanged training script with PyTorch's convolutions through Convoy."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

from . import _autoload, _main_module
from ._errors import ConvoyError

_USAGE = (
    "python -m convoy run [--device NAME] [--require-device] [--report] (SCRIPT | -m MODULE) "
    "[ARGUMENT...]"
)


def _parse(words: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=_USAGE, description=__doc__, allow_abbrev=False)
    parser.add_argument("--device", help="as CONVOY_DEVICE: auto, cpu, ocl, ocl:1, part of a name")
    parser.add_argument(
        "--require-device", action="store_true", help="do not run on the CPU in place of the device"
    )
    parser.add_argument("--report", action="store_true", help="at the end, what ran where")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    parser.add_argument("program", help="the script or module, its arguments after it")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def _choice() -> str:
    """The device that will be used, and why. It is opened to be sure, and closed again: the script
    may start processes before it computes."""
    from .torch._device import open_device

    try:
        with open_device(None) as context:
            return context.description
    except ConvoyError as error:
        sys.exit(f"convoy: {error}")


def _run_program(options: argparse.Namespace) -> None:
    sys.argv = [options.program, *options.arguments]
    run = _main_module.run_module if options.module else _main_module.run_script
    run(options.program)


def _show_report() -> None:
    from . import torch

    print(torch.report(), file=sys.stderr)


def main(words: Optional[List[str]] = None) -> None:
    options = _parse(sys.argv[2:] if words is None else words)
    if options.device:
        os.environ["CONVOY_DEVICE"] = options.device
    if options.require_device:
        os.environ["CONVOY_REQUIRE_DEVICE"] = "1"
    print(f"convoy: convolutions run on {_choice()}", file=sys.stderr, flush=True)
    _autoload.start()
    os.environ["CONVOY_TORCH"] = "1"  # processes that the script starts do the same
    try:
        _run_program(options)
    finally:
        if options.report:
            _show_report()
