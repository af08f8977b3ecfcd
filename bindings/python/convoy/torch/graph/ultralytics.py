"""Ultralytics' networks: what is captured of them is the pass through their layers.

A model of theirs is called with a batch, labels and all, and gives its loss; or it decodes and
filters boxes. All that stays as it is. In evaluation its last layer does, too, since that keeps the
places of boxes from one call to the next; the modules inside of it are captured by themselves.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable, Optional

from ..._on_import import when_imported
from .body import PASS_ON, Body
from .networks import Networks

_MARK = "_convoy_captures"

#: What the method is called, in newer versions and in older ones.
_METHODS = ("_predict_once", "_forward_once")


def _features(model: Any, x: Any) -> Any:
    """What the last layer is given."""
    outputs: Any = []

    def of(layer: Any) -> Any:
        if isinstance(layer.f, int):
            return x if layer.f == -1 else outputs[layer.f]
        return [x if each == -1 else outputs[each] for each in layer.f]

    for layer in model.model[:-1]:
        x = layer(of(layer))
        outputs.append(x if layer.i in model.save else None)
    return of(model.model[-1])


_FEATURES = Body("layers but the last", _features)


def _capture(module: ModuleType, current: Callable[[], Optional[Networks]]) -> None:
    """Wraps the method of ultralytics.nn.tasks.BaseModel, for good."""
    base = module.BaseModel
    for name in _METHODS:
        method = base.__dict__.get(name)
        if method is not None and not hasattr(method, _MARK):
            setattr(base, name, _wrapped(method, current))
    if base not in PASS_ON:
        PASS_ON.append(base)


def _wrapped(method: Any, current: Callable[[], Optional[Networks]]) -> Any:
    layers = Body("layers", method)

    def once(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """What is asked for beside the results (timings, pictures) is PyTorch's to give."""
        networks = current()
        if networks is None or any(args) or any(kwargs.values()):
            return method(self, x, *args, **kwargs)
        if self.training:
            return networks.call(self, (x,), {}, method, layers)
        return self.model[-1](networks.call(self, (x,), {}, _features, _FEATURES))

    setattr(once, _MARK, method)
    return once


def install(current: Callable[[], Optional[Networks]]) -> None:
    """From now on, or once Ultralytics is imported."""
    when_imported("ultralytics.nn.tasks", lambda module: _capture(module, current))
