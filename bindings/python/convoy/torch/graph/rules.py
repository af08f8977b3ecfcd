"""Which of PyTorch's optimizers Convoy has, with which options, and how it carries out a step."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from ..._context import Context
from ..._errors import argument_error
from ..._tensor import Tensor as DeviceTensor


class Lists(NamedTuple):
    """What a step reads and writes: a tensor for each parameter, one rate for all, and how many
    steps all have behind them. `states` are lists, by the rule's names."""

    parameters: List[DeviceTensor]
    gradients: List[DeviceTensor]
    states: Tuple[List[DeviceTensor], ...]
    rate: DeviceTensor
    done: DeviceTensor


class Rule(NamedTuple):
    """One optimizer of PyTorch's."""

    #: Of a group, as a tuple: what a captured step depends on.
    options: Callable[[Dict[str, Any]], Any]
    #: Of options: why Convoy has not got them; None if it has.
    reason: Callable[[Any], Optional[str]]
    #: Of options: names of the tensors that PyTorch keeps of each parameter.
    states: Callable[[Any], Tuple[str, ...]]
    #: Of options, whether it matters which step it is, as far as the first; PyTorch has no count.
    tells_first: Callable[[Any], bool]
    #: Whether PyTorch counts each parameter's steps, as "step".
    counts: bool
    update: Callable[[Context, Any, Lists], None]


#: Of any group: other values than these ask for what Convoy has not.
_FLAGS = ("amsgrad", "maximize", "differentiable", "capturable", "fused")


def _numbers(**named: Any) -> Optional[str]:
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"{name} is a {type(value).__name__}, not a plain number"
        if not 0 <= value < math.inf:
            return f"{name} is {value}"
    return None


class _Sgd(NamedTuple):
    momentum: Any
    dampening: Any
    nesterov: Any
    decay: Any


def _sgd_options(group: Dict[str, Any]) -> _Sgd:
    names = "momentum", "dampening", "nesterov", "weight_decay"
    return _Sgd(*(group[name] for name in names))


def _sgd_reason(o: _Sgd) -> Optional[str]:
    reason = _numbers(momentum=o.momentum, dampening=o.dampening, weight_decay=o.decay)
    if reason is None and o.dampening > 1:
        return f"dampening is {o.dampening}"
    if reason is None and o.nesterov and (o.momentum == 0 or o.dampening != 0):
        return "nesterov needs a momentum and no dampening"
    return reason


def _sgd(context: Context, o: _Sgd, lists: Lists) -> None:
    context.sgd(
        lists.parameters,
        lists.gradients,
        lists.rate,
        momentum=o.momentum,
        velocities=lists.states[0] if lists.states else None,
        dampening=o.dampening if o.momentum else 0.0,
        nesterov=bool(o.nesterov),
        decay=o.decay,
        step=lists.done,
    )


class _Adam(NamedTuple):
    betas: Any
    epsilon: Any
    decay: Any
    decoupled: bool


def _adam_options(decoupled: bool) -> Callable[[Dict[str, Any]], _Adam]:
    def options(group: Dict[str, Any]) -> _Adam:
        apart = bool(group.get("decoupled_weight_decay", decoupled))
        return _Adam(tuple(group["betas"]), group["eps"], group["weight_decay"], apart)

    return options


def _adam_reason(o: _Adam) -> Optional[str]:
    first, second = o.betas
    reason = _numbers(beta1=first, beta2=second, eps=o.epsilon, weight_decay=o.decay)
    return reason if reason or max(first, second) < 1 else f"betas are {o.betas}"


def _adam(context: Context, o: _Adam, lists: Lists) -> None:
    first, second = lists.states
    function = context.adamw if o.decoupled else context.adam
    function(
        lists.parameters,
        lists.gradients,
        first,
        second,
        lists.rate,
        lists.done,
        betas=o.betas,
        epsilon=o.epsilon,
        decay=o.decay,
    )


def _adam_rule(decoupled: bool) -> Rule:
    states = "exp_avg", "exp_avg_sq"
    options = _adam_options(decoupled)
    return Rule(options, _adam_reason, lambda o: states, lambda o: False, True, _adam)


RULES: Dict[type, Rule] = {
    torch.optim.SGD: Rule(
        _sgd_options,
        _sgd_reason,
        lambda o: ("momentum_buffer",) if o.momentum else (),
        lambda o: bool(o.momentum and o.dampening),
        False,
        _sgd,
    ),
    torch.optim.Adam: _adam_rule(decoupled=False),
    torch.optim.AdamW: _adam_rule(decoupled=True),
}


def lacking(rule: Rule, group: Dict[str, Any]) -> Optional[str]:
    """What of a group's options Convoy has not; None if it has all."""
    for name in _FLAGS:
        if group.get(name):
            return f"{name} is {group[name]!r}"
    rate = group["lr"]
    if isinstance(rate, torch.Tensor) and (rate.numel() != 1 or rate.is_complex()):
        return f"lr is a tensor of {rate.numel()} elements"
    return rule.reason(rule.options(group))


def _unfit(parameter: torch.Tensor) -> Optional[str]:
    if parameter.dtype is not torch.float32:
        return f"is {str(parameter.dtype).rpartition('.')[2]}, not float32"
    return None if parameter.is_cpu else f"is on {parameter.device}, not on the CPU"


def rule_for(optimizer: Any) -> Rule:
    """Raises convoy.ArgumentError for an optimizer that Convoy has not, as it is now."""
    rule = RULES.get(type(optimizer))
    if rule is None:
        kind = type(optimizer).__name__
        raise argument_error(f"optimizer is a {kind}, not exactly torch.optim's SGD, Adam or AdamW")
    for at, group in enumerate(optimizer.param_groups):
        reason = lacking(rule, group)
        if reason is not None:
            raise argument_error(f"of parameter group {at} {reason}, which Convoy has not")
        for number, parameter in enumerate(group["params"]):
            reason = _unfit(parameter)
            if reason is not None:
                raise argument_error(f"parameter {number} of parameter group {at} {reason}")
    return rule
