"""The functions of convoy.torch, and the one session they turn on and off."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional, Tuple

import torch

from .. import _log, _waiting
from .._errors import argument_error
from .._keywords import keywords
from .._lib import LogLevel
from .._options import options_struct
from .._values import flag, shown
from . import _kernels
from ._plainly import is_plain
from ._session import Session, Settings
from ._statistics import table
from .graph import assumed, declined, hook, ultralytics
from .graph.optimizer import attach

ROUTES = ("measured", "convoy", "graph")

_current: Optional[Session] = None
_last: Optional[Session] = None  # for report() after disable()
_told = False  # whether enable() or disable() was called
_warned = False


@keywords()
def enable(
    device: Optional[str] = None,
    route: Optional[str] = None,
    *,
    require_device: Optional[bool] = None,
    verbose: bool = False,
) -> None:
    """Sends PyTorch's convolutions through Convoy. Enabling again with the same arguments changes
    nothing; with others they take effect.

    device: as for convoy.open(). The device is opened by the first convolution, which raises
    NotFoundError where none was ever called so on this machine.
    require_device: that convolution also raises where the CPU would be used in place of the device.
    verbose: then one line on stderr says which device it is, and why.
    route: "measured", per problem the fastest of the device with its transfers, the CPU engine and
    PyTorch itself, measured when it comes the second time, written down and used again; "convoy",
    always the device; "graph", whole networks on the device where they can be captured, and what
    is left as "measured". What is left out comes from CONVOY_ROUTE, else is "measured".
    """
    named = "route" if route is not None else "CONVOY_ROUTE"
    if route is None:
        route = os.environ.get("CONVOY_ROUTE") or "measured"
    if route not in ROUTES:
        known = ", ".join(map(repr, ROUTES))
        raise argument_error(f"{named} is {shown(route)}, not one of {known}")
    options_struct(device, require_device=require_device)  # what is wrong is reported here
    _warn_of_crowd()
    _enable(Settings(device, route, require_device, flag(verbose, "verbose")))


def _warn_of_crowd() -> None:
    """Once a process: it is too late for this one to say how OpenMP's threads wait."""
    global _warned
    line = "" if _warned or torch.get_num_threads() == 1 else _waiting.warning()
    _warned = True
    if line:
        _log.log(LogLevel.WARNING, line)


def _enable(settings: Settings) -> None:
    global _current, _last, _told
    _told = True
    if _current is not None and not _current.inherited and _current.settings == settings:
        return
    disable()
    _current = _last = Session(settings, _kernels.platform)
    _kernels.use(_current)
    hook.install(_networks)
    ultralytics.install(_networks)


def _networks() -> Any:
    session = None if is_plain() else _current
    return None if session is None else session.networks


def _engine() -> Any:
    session = None if is_plain() else _current
    return None if session is None else session.engine


def enable_unless_told() -> None:
    """For an import that would have it on: what a program has said of it stands."""
    if not _told:
        enable()


def disable() -> None:
    """Gives PyTorch its own convolutions back, and closes the device: at once, or when operations
    that other threads have under way are over."""
    global _current, _told
    _told = True
    ended, _current = _current, None
    _kernels.use(None)
    if ended is not None:
        ended.close()


@keywords()
@contextmanager
def enabled(
    device: Optional[str] = None,
    route: Optional[str] = None,
    *,
    require_device: Optional[bool] = None,
    verbose: bool = False,
) -> Iterator[None]:
    """enable() for the length of a with statement; then what was before."""
    before = _current
    enable(device, route, require_device=require_device, verbose=verbose)
    try:
        yield
    finally:
        if before is None:
            disable()
        else:
            _enable(before.settings)


@keywords()
def optimizer(optimizer: Any) -> Any:
    """Has the optimizer's step() run where captured networks run, and returns the optimizer.

    optimizer: exactly torch.optim's SGD, Adam or AdamW, over float32 parameters on the CPU and
    without amsgrad, maximize, differentiable, capturable or fused; else convoy.ArgumentError says
    what there is not. Learning rate schedulers are made afterwards.

    Taken are parameters whose gradient a captured network has computed since the last step; all
    others, and all while no network is captured, PyTorch steps as ever. Parameters that were taken
    and the optimizer's state stay on the device, and come to the host when somebody uses them:
    state_dict(), copies, NumPy, in-place writes and layers outside of captured networks see the
    values that they should. What does not see them are tensors over a parameter's memory from
    before the step, such as `parameter.data` or `.detach()` returned then, and code in C++ that is
    given the parameter itself, torch.tensor(parameter) and scripted modules for example: call
    parameter.detach() anew after each step.
    """
    return attach(optimizer, _engine)


@keywords()
def decline(module: Any, why: str = "") -> Any:
    """Leaves a module to PyTorch, with all modules inside, and returns it: it is never captured as
    a graph, nor is a module that it is inside of. For what a program knows of a module and Convoy
    does not. Its single convolutions go through Convoy as others do. Copies of it are modules of
    their own.

    why: for the report.
    """
    return declined.decline(module, why)


@keywords()
def assume(module: Any, *paths: str) -> Any:
    """Says of values that a module's forward function reads that its results do not depend on them,
    and returns the module: they neither decline it nor have it captured anew, whatever they become,
    with all that is in them. For a count of calls or a time that only a log shows.

    paths: as the report names them: names of attributes from the module on ("args.step"), or of a
    global from its Python module on ("settings.VERBOSE"). What is not there is an
    convoy.ArgumentError that says what is.

    Where a captured network's code is compared (docs/pytorch.md), a value that does change what it
    computes is found nevertheless.
    """
    return assumed.assume(module, paths)


def counts() -> Dict[Tuple[str, str, str], int]:
    """The numbers of report(): how often each (where, direction, reason) occurred. `where` is the
    id of a device, or "pytorch"; `reason` says why PyTorch computed."""
    return {} if _last is None else _last.statistics.counts()


def report() -> str:
    """What the convolutions since enable() ran on, as a table: how many through Convoy, on which
    device, and why the others did not; of captured networks how often they ran, what they depend
    on, and when their code was compared last; what befell the device, and whether the CPU is used
    in its place. After disable(), of the time before. Where several processes train together each
    line begins with the rank."""
    if _last is None:
        return "convoy.torch was not enabled"
    rank = _log.rank()
    statistics = _last.statistics
    how = statistics.counts(), statistics.networks(), _last.lines(), _last.states()
    lines = table(*how).splitlines()
    return "\n".join(f"{rank}: {line}" if rank else line for line in lines)
