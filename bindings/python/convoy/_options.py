"""How a context is opened. What is left out comes from the environment, else the default.

    keyword          environment              default   meaning
    device           CONVOY_DEVICE            auto      auto, cpu, ocl, ocl:1, or part of a name
    algorithm        CONVOY_ALGORITHM         (choose)  run only this one; others are refused
    isolation        CONVOY_ISOLATION         process   "process" or "none": where the driver lives
    failover         CONVOY_FAILOVER          True      False: a device fault is raised, not hidden
    tune             CONVOY_TUNE              True      False: table order, no measured records
    threads          CONVOY_THREADS           cores     threads of the CPU engine
    workspace_limit  CONVOY_WORKSPACE_LIMIT   1 GiB     bytes of scratch one operation may use
    winograd         CONVOY_WINOGRAD          True      False: no algorithm with a larger error bound
"""

from __future__ import annotations

from typing import Any, Dict, Optional, TypedDict

from ._conv import integer
from ._errors import argument_error
from ._lib import Isolation, OptionsStruct, Switch


class Options(TypedDict, total=False):
    """The keywords besides the device."""

    algorithm: Optional[str]
    isolation: Optional[str]
    failover: Optional[bool]
    tune: Optional[bool]
    threads: int
    workspace_limit: int
    winograd: Optional[bool]


_SWITCHES = {None: Switch.DEFAULT, True: Switch.ON, False: Switch.NO}
_ISOLATIONS = {None: Isolation.DEFAULT, "process": Isolation.PROCESS, "none": Isolation.NONE}


def _one_of(value: Any, table: Dict[Any, Any], name: str) -> int:
    if value not in table:
        known = ", ".join(repr(key) for key in table)
        raise argument_error(f"{name} is {value!r}, not one of {known}")
    return int(table[value])


def _text(value: Optional[str], name: str) -> Optional[bytes]:
    if value is None:
        return None
    if not isinstance(value, str) or "\0" in value:
        raise argument_error(f"{name} is {value!r}, not a name")
    return value.encode()


def _threads(value: Any) -> int:
    number = integer(value, "threads")
    if not 0 <= number < 2**31:
        raise argument_error(f"threads is {number}")
    return number


def options_struct(
    device: Optional[str] = None,
    algorithm: Optional[str] = None,
    isolation: Optional[str] = None,
    failover: Optional[bool] = None,
    tune: Optional[bool] = None,
    threads: int = 0,
    workspace_limit: int = 0,
    winograd: Optional[bool] = None,
) -> OptionsStruct:
    return OptionsStruct(
        device=_text(device, "device"),
        algorithm=_text(algorithm, "algorithm"),
        isolation=_one_of(isolation, _ISOLATIONS, "isolation"),
        failover=_one_of(failover, _SWITCHES, "failover"),
        tune=_one_of(tune, _SWITCHES, "tune"),
        threads=_threads(threads),
        workspace_limit=integer(workspace_limit, "workspace_limit"),
        winograd=_one_of(winograd, _SWITCHES, "winograd"),
    )
