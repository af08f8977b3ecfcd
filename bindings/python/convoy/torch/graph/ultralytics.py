"""Ultralytics' networks: what is captured of them is the pass through their layers, of detectors
in training with the loss (detection_loss.py).

A model of theirs is called with a batch, labels and all, and gives its loss; or it decodes and
filters boxes. What of that is not captured stays as it is. In evaluation the last layer does, too,
since that keeps the places of boxes from one call to the next; the modules inside of it are
captured by themselves.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable, Optional

from ..._on_import import when_imported
from . import detection_loss
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
    loss = base.__dict__.get("loss")  # the first versions had it elsewhere
    if loss is not None and not hasattr(loss, _MARK):
        base.loss = _with_loss(loss, current)
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


def _with_loss(method: Any, current: Callable[[], Optional[Networks]]) -> Any:
    """The loss of a batch: layers and loss as one network, where the loss is one that is known."""

    def original(self: Any, image: Any, targets: Any, *_: Any) -> Any:
        return method(self, {"img": image, **detection_loss.unpacked(targets)})

    def traced(self: Any, shapes: Any, image: Any, targets: Any, gains: Any, *settings: Any) -> Any:
        given = detection_loss.Given(targets, gains, image.shape[2:])
        at = detection_loss.Settings(*settings)
        return detection_loss.loss(self.forward(image), given, at, shapes)

    body = Body("layers and loss", original, traced, detection_loss.OPERATORS)

    def loss(self: Any, batch: Any, preds: Any = None) -> Any:
        networks = current()
        if networks is None or networks.is_checked or preds is not None or not self.training:
            return method(self, batch, preds)
        given = _given(self, batch)
        if given is None:
            return method(self, batch)
        with detection_loss.assigning(self.criterion):
            return networks.call(self, given, {}, lambda *_: method(self, batch), body)

    setattr(loss, _MARK, method)
    return loss


def _given(model: Any, batch: Any) -> Any:
    """What the loss depends on: images, objects, and settings; None for another loss. With tensors
    on a card it stays as it is, since the assigner would wait for the card."""
    if getattr(model, "criterion", None) is None:
        model.criterion = model.init_criterion()
    image, settings = batch["img"], detection_loss.settings_of(model.criterion)
    if settings is None or not image.is_cpu:
        return None
    targets = detection_loss.packed(batch, len(image))
    if targets is None:
        return None
    return image, targets, detection_loss.gains_of(model.criterion), *settings


def install(current: Callable[[], Optional[Networks]]) -> None:
    """From now on, or once Ultralytics is imported."""
    when_imported("ultralytics.nn.tasks", lambda module: _capture(module, current))
