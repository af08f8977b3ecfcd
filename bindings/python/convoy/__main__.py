"""python -m convoy: what was built in and which devices there are; and a few commands."""

from __future__ import annotations

import difflib
import os
import sys
from typing import Callable, Dict, List, NoReturn, Tuple

from . import _load, _log, build_info, list_devices, version
from ._errors import ConvoyError
from ._records import Device

_GIB = 2**30

# 130 is what a shell says of a command that Ctrl-C ended.
_FAILED, _BAD_USAGE, _INTERRUPTED = 1, 2, 130


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


def _run(words: List[str]) -> None:
    from . import _run

    _run.main(words)


def _routes(words: List[str]) -> None:
    from . import _routes_command

    _routes_command.main(words)


_COMMANDS: Dict[str, Tuple[Callable[[List[str]], None], str]] = {
    "run": (_run, "an unchanged training script, PyTorch's convolutions through Convoy"),
    "routes": (_routes, "which ways were measured to be the fastest, and forgetting it"),
}


def _help() -> str:
    commands = "\n".join(f"  {name:8} {what}" for name, (_, what) in _COMMANDS.items())
    return f"""usage: python -m convoy [COMMAND [OPTION...]]

Without a command: what was built in and which devices there are.

commands:
{commands}

  python -m convoy COMMAND --help   options of one command
  python -m convoy --version        version and build id

Self-test, benchmarks and tuning are commands of the tool `convoy`, which is built with the library.
Exit status: 0 fine, 1 something failed, 2 bad usage, 130 interrupted."""


def _refuse(word: str) -> NoReturn:
    meant = difflib.get_close_matches(word, [*_COMMANDS, "--help", "--version"], 1)
    hint = f"; did you mean {meant[0]}?" if meant else ""
    _log.say(f"there is no command {word!r}{hint}")
    print(_help(), file=sys.stderr)
    sys.exit(_BAD_USAGE)


def _dispatch(words: List[str]) -> None:
    first = words[0] if words else ""
    if not first:
        show()
    elif first in _COMMANDS:
        _COMMANDS[first][0](words[1:])
    elif first in ("-h", "--help", "help"):
        print(_help())
    elif first == "--version":
        print(f"convoy {version()}")
    else:
        _refuse(first)
    sys.stdout.flush()


def main() -> None:
    """What a program that it runs raises is that program's; all else is reported in a sentence."""
    try:
        _dispatch(sys.argv[1:])
    except ConvoyError as error:
        _log.say(str(error))
        sys.exit(_FAILED)
    except KeyboardInterrupt:
        _log.say("interrupted")
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_FAILED)


if __name__ == "__main__":
    main()
