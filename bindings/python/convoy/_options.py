"""How a context is opened. What is left out comes from the environment, else the default.

    keyword             default   meaning
    device              auto      auto, cpu, ocl, ocl:1, or part of a name
    algorithm           (choose)  run only this one; others are refused
    isolation           process   "process", "none" or "caller": where the driver lives
    failover            True      False: a device fault is raised, not hidden
    require_device      False     True: an error where the CPU would be opened instead
    tune                True      False: table order, no measured records
    threads             cores     threads of the CPU engine
    workspace_limit     1 GiB     bytes of scratch one operation may use
    memory_limit        (all)     bytes of device memory that the context may use
    device_wait_budget  60        seconds one call may wait for a device, all attempts together
    history_limit       1 GiB     bytes held only to recompute lost tensors
    verify              sample    "all", "sample" or "off": how results of a device are checked
    nan_watch           False     True: report the first value that is not finite
    winograd            True      False: no algorithm with a larger error bound
    team                (choose)  address of a convoy_team (convoy.h), whose threads are used

The environment variable of a keyword is CONVOY_ with its name in capitals; CONVOY_TEAM is openmp or
pool.
"""

from __future__ import annotations

from typing import Optional, TypedDict

from ._lib import Isolation, OptionsStruct, Switch, Verify
from ._values import address, c_text, integer, real
from ._values import one_of as _one_of


class Options(TypedDict, total=False):
    """The keywords besides the device."""

    algorithm: Optional[str]
    isolation: Optional[str]
    failover: Optional[bool]
    require_device: Optional[bool]
    tune: Optional[bool]
    threads: int
    workspace_limit: int
    memory_limit: int
    device_wait_budget: float
    history_limit: int
    verify: Optional[str]
    nan_watch: Optional[bool]
    winograd: Optional[bool]
    team: Optional[int]


_SWITCHES = {None: Switch.DEFAULT, True: Switch.ON, False: Switch.NO}
_ISOLATIONS = {
    None: Isolation.DEFAULT,
    "process": Isolation.PROCESS,
    "none": Isolation.NONE,
    "caller": Isolation.CALLER,
}
_CHECKS = {
    None: Verify.DEFAULT,
    "sample": Verify.SAMPLE,
    "all": Verify.ALL,
    "off": Verify.OFF,
}


def options_struct(
    device: Optional[str] = None,
    algorithm: Optional[str] = None,
    isolation: Optional[str] = None,
    failover: Optional[bool] = None,
    require_device: Optional[bool] = None,
    tune: Optional[bool] = None,
    threads: int = 0,
    workspace_limit: int = 0,
    memory_limit: int = 0,
    device_wait_budget: float = 0.0,
    history_limit: int = 0,
    verify: Optional[str] = None,
    nan_watch: Optional[bool] = None,
    winograd: Optional[bool] = None,
    team: Optional[int] = None,
) -> OptionsStruct:
    return OptionsStruct(
        device=c_text(device, "device"),
        algorithm=c_text(algorithm, "algorithm"),
        isolation=_one_of(isolation, _ISOLATIONS, "isolation"),
        failover=_one_of(failover, _SWITCHES, "failover"),
        require_device=_one_of(require_device, _SWITCHES, "require_device"),
        tune=_one_of(tune, _SWITCHES, "tune"),
        threads=integer(threads, "threads", 32),
        workspace_limit=integer(workspace_limit, "workspace_limit"),
        memory_limit=integer(memory_limit, "memory_limit"),
        device_wait_budget=real(device_wait_budget, "device_wait_budget"),
        history_limit=integer(history_limit, "history_limit"),
        verify=_one_of(verify, _CHECKS, "verify"),
        nan_watch=_one_of(nan_watch, _SWITCHES, "nan_watch"),
        winograd=_one_of(winograd, _SWITCHES, "winograd"),
        team=None if team is None else address(team, "team"),
    )
