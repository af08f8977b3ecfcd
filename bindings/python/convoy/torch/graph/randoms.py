"""Random numbers. They are Convoy's, numbered by PyTorch's generator (pair.py)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Sequence

import torch

from ..._tensor import Tensor as DeviceTensor
from .axes import Axes
from .emitter import Emitter
from .errors import Unsupported
from .programs import literal, program
from .table import operator
from .values import Value


def _drawn(e: Emitter, text: str, shape: Sequence[int], dtype: Any = torch.float32) -> Value:
    """A program without inputs, over as many elements."""
    shape = tuple(shape)
    out = DeviceTensor(e.context, Axes(shape, ()).extents(shape))
    e.context.apply(program(text), out=out)
    e.draws = True
    return e.result(out, shape, dtype)


def _check(a: SimpleNamespace) -> None:
    if getattr(a, "generator", None) is not None:
        raise Unsupported("a generator of its own")
    if getattr(a, "dtype", None) not in (None, torch.float32):
        raise Unsupported(f"random numbers of {a.dtype}")


@operator("native_dropout.default")
def _dropout(e: Emitter, a: SimpleNamespace) -> Any:
    if a.train is False or a.p == 0:
        return e.elementwise("y = x", [a.input], a.input.shape), _drawn(e, "y = 1", a.input.shape)
    if a.p == 1:
        zeros = _drawn(e, "y = 0", a.input.shape, torch.bool)
        return e.elementwise("y = x * 0", [a.input], a.input.shape), zeros
    kept = 1 - a.p
    mask = _drawn(e, f"y = random(0) < {literal(kept)}", a.input.shape, torch.bool)
    text = f"y = x * m * {literal(1 / kept)}"
    return e.elementwise(text, [a.input, mask], a.input.shape), mask


@operator("bernoulli.p")
def _bernoulli(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    return _drawn(e, f"y = random(0) < {literal(a.p)}", a.self.shape)


@operator("bernoulli_.float")
def _bernoulli_in_place(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    e.write(a.self, _bernoulli(e, a))
    return a.self


@operator("rand.default")
def _rand(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    return _drawn(e, "y = random(0)", a.size)


@operator("rand_like.default")
def _rand_like(e: Emitter, a: SimpleNamespace) -> Value:
    _check(a)
    return _drawn(e, "y = random(0)", a.self.shape)
