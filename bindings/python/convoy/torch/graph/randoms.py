"""Random numbers. They are Convoy's, numbered by PyTorch's generator (pair.py), or PyTorch's own
(engine.py)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from .emitter import Emitter
from .errors import Unsupported
from .programs import literal
from .table import operator
from .values import Value


def _check(a: SimpleNamespace) -> None:
    if getattr(a, "generator", None) is not None:
        raise Unsupported("a generator of its own")
    if getattr(a, "dtype", None) not in (None, torch.float32):
        raise Unsupported(f"random numbers of {a.dtype}")


@operator("native_dropout.default")
def _dropout(e: Emitter, a: SimpleNamespace) -> Any:
    if a.train is False or a.p == 0:
        return e.elementwise("y = x", [a.input], a.input.shape), e.filled("y = 1", a.input.shape)
    if a.p == 1:
        zeros = e.filled("y = 0", a.input.shape, torch.bool)
        return e.elementwise("y = x * 0", [a.input], a.input.shape), zeros
    kept = 1 - a.p
    mask = e.random(a.input.shape, kept, torch.bool)
    text = f"y = x * m * {literal(1 / kept)}"
    return e.elementwise(text, [a.input, mask], a.input.shape), mask


@operator("bernoulli.p")
def _bernoulli(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    return e.random(a.self.shape, a.p)


@operator("bernoulli_.float")
def _bernoulli_in_place(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    e.write(a.self, _bernoulli(e, a))
    return a.self


@operator("rand.default")
def _rand(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    return e.random(tuple(a.size))


@operator("rand_like.default")
def _rand_like(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    return e.random(a.self.shape)
