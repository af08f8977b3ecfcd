"""What the report says of captured networks: what they depend on, and when they were compared."""

from __future__ import annotations

from typing import Any, Iterable, List, Tuple

from .network import Network

_MOST, _MOST_PATHS = 16, 6


def lines(captured: Iterable[Tuple[str, bool, Network]]) -> List[str]:
    """Each with its name, and whether it is in training."""
    there = list(captured)
    found = [_line(*each) for each in there[:_MOST]]
    return found + ([f"  and {len(there) - _MOST} more networks"] if len(there) > _MOST else [])


def _line(name: str, training: bool, network: Network) -> str:
    mode = "training" if training else "evaluation"
    last = _th(network.compared) if network.compared else "first"
    when = f"compared at the {last}"
    return f"  {name} in {mode}: {network.calls} calls, {when}; {_watched(network)}"


def _watched(network: Network) -> str:
    paths = network.guard.watch.paths()
    modules = f"watched are the attributes of {network.guard.modules} modules"
    listed = ", ".join(paths[:_MOST_PATHS]) + (", ..." if len(paths) > _MOST_PATHS else "")
    return f"{modules} and {len(paths)} other values" + (f": {listed}" if paths else "")


def _th(number: int) -> str:
    """Of those that are compared: a power of two, or many times one."""
    return f"{number}{'nd' if number % 10 == 2 and number % 100 != 12 else 'th'}"
