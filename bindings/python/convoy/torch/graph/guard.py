"""What a trace has assumed of a module, and whether it still holds.

A module's attributes are compared with those of then: flags, numbers, texts and lists of such by
value, tensors and submodules by identity. Of other objects that they are the same ones; they are
held by weak references, since one may refer to the module itself. What is in them, and all else
that forward reads, watch.py looks at.
"""

from __future__ import annotations

import operator
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch

from .assumed import Assumed
from .away import as_they_are
from .kinds import SCALARS, has_numbers, is_same, is_users
from .state import Held
from .watch import Watch

_CONTAINERS = (dict, list, set, tuple)
_MISSING = object()

#: Of these nothing depends that a call computes.
_IRRELEVANT = frozenset(
    """_non_persistent_buffers_set _state_dict_hooks _state_dict_pre_hooks _is_full_backward_hook
    _load_state_dict_pre_hooks _load_state_dict_post_hooks _forward_hooks_with_kwargs
    _forward_hooks_always_called _forward_pre_hooks_with_kwargs""".split()
)

#: Hooks that run within forward or backward.
_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)


def _is_plain(value: Any, inside: Any, depth: int = 3) -> bool:
    """Whether a copy of it can be kept, and compared by value."""
    if isinstance(value, SCALARS) or isinstance(value, torch.Tensor):
        return True
    if isinstance(value, torch.nn.Module):
        return value in inside
    if isinstance(value, _CONTAINERS) and depth:
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        return all(_is_plain(each, inside, depth - 1) for each in parts)
    return False


def _copied(value: Any, of_module: Callable[[Any], Any] = lambda each: each) -> Any:
    """A container of its own, since the module may change its."""
    if isinstance(value, dict):
        return {name: _copied(each, of_module) for name, each in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_copied(each, of_module) for each in value)
    if isinstance(value, torch.nn.Module):
        return of_module(value)
    return set(value) if isinstance(value, set) else value


def _has_modules(value: Any) -> bool:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, _CONTAINERS):
        return any(map(_has_modules, value))
    return isinstance(value, torch.nn.Module)


def _weak(value: Any) -> Any:
    try:
        return weakref.ref(value)
    except TypeError:
        return None


class _Attributes:
    """Of one module. `left`: what the program says that nothing depends on."""

    def __init__(self, module: torch.nn.Module, inside: Any, left: Set[str]) -> None:
        self._module, where = weakref.ref(module), module.__dict__
        names = [name for name in where if name not in _IRRELEVANT and name not in left]
        plain = [name for name in names if _is_plain(where[name], inside)]
        self.plain = {name: _copied(where[name]) for name in plain}
        others = {name: _weak(where[name]) for name in names if name not in self.plain}
        self.others = {name: ref for name, ref in others.items() if ref is not None}
        self.names = frozenset(where)
        # What is asked for in each step: all plain ones at once. A proxy is equal to its module.
        self._of = operator.itemgetter(*plain)  # a module has more than one
        self._values = self._of({name: _copied(where[name], weakref.proxy) for name in plain})
        # Numbers of the program's own modules to the last bit.
        exact = plain if is_users(type(module)) else []
        exact = [name for name in exact if name != "training" and has_numbers(where[name])]
        self._exact = [(name, self.plain[name]) for name in exact]

    def changed(self) -> Optional[str]:
        """The name of an attribute that is not what it was."""
        try:
            where = self._module().__dict__  # type: ignore[union-attr]
            if len(where) == len(self.names) and self._of(where) == self._values:
                for name, ref in self.others.items():
                    if where[name] is not ref():
                        return name
                for name, value in self._exact:
                    now = where[name]
                    if now is not value and not is_same(now, value):
                        return name
                return None
        except Exception:  # one is gone, or a comparison gives no truth value
            pass
        return self._name_of_changed()

    def _there(self) -> Dict[str, Any]:
        return getattr(self._module(), "__dict__", {})

    def _name_of_changed(self) -> str:
        where = self._there()
        different = [
            name
            for name, value in zip(self.plain, self._values)
            if not _equal(where.get(name, _MISSING), value)
        ]
        return min([*different, *(where.keys() ^ self.names)], default="an attribute")

    def restore(self) -> None:
        """Puts the values of then back."""
        where = self._there()
        for name in where.keys() - self.names:
            del where[name]
        for name, value in self.plain.items():
            if not _equal(where.get(name, _MISSING), value):
                _put_back(where, name, value)
        for name, ref in self.others.items():
            if ref() is not None:
                where[name] = ref()

    def release(self) -> None:
        """From now on no module is kept alive."""
        self.plain = {k: v for k, v in self.plain.items() if not _has_modules(v)}


def _put_back(where: Dict[str, Any], name: str, value: Any) -> None:
    """Into the same container, which others may have."""
    there = where.get(name)
    if isinstance(there, (dict, set)) and isinstance(value, (dict, set)):
        there.clear()
        there.update(value)  # type: ignore[arg-type]
    elif isinstance(there, list) and isinstance(value, list):
        there[:] = value
    else:
        where[name] = value


def _equal(a: Any, b: Any) -> bool:
    """Tensors are equal to themselves only: comparing others raises, or gives no truth value."""
    try:
        return bool(a == b)
    except Exception:
        return False


def _version(tensor: torch.Tensor) -> Any:
    return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version


def has_hooks(module: torch.nn.Module) -> bool:
    """Whether something runs before or after its forward function, or its gradients."""
    return any(module.__dict__.get(hooks) for hooks in _HOOKS)


def hooked(modules: Sequence[Tuple[str, torch.nn.Module]]) -> Optional[str]:
    """The name of a module inside that has hooks, of the module itself none."""
    for name, each in modules[1:]:
        if has_hooks(each):
            return name
    return None


class _Fixed:
    """A tensor whose values belong to what is assumed, however they may be written."""

    def __init__(self, held: Held, on_card: bool) -> None:
        self._name, self._tensor, self._on_card = held.name, held.tensor, on_card
        self._values, self._seen = held.tensor.detach().clone(), _version(held.tensor)

    def changed(self, recording: bool) -> Optional[str]:
        """To look at values waits for a card, so there it is done only after a write."""
        version = _version(self._tensor)
        if self._on_card and version == self._seen:
            return None
        if self._on_card and recording:
            return f"{self._name} has been written"
        if not _same_values(self._tensor, self._values):
            return f"{self._name} has other values"
        self._seen = version
        return None


def _same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    alike = (a.shape, a.dtype, a.device) == (b.shape, b.dtype, b.device)
    return alike and torch.equal(a, b)


class Guard:
    """Of a module and all in it. It does not keep the module itself alive."""

    def __init__(self, module: torch.nn.Module, held: Sequence[Held]) -> None:
        modules = list(module.named_modules())
        inside = {each for _, each in modules[1:]}
        self._names = [name for name, _ in modules]
        assumed = Assumed(module)
        self._attributes = [
            _Attributes(each, inside, assumed.names_of(each)) for _, each in modules
        ]
        self.watch = Watch(
            [
                (each, name, [*attributes.plain, *_IRRELEVANT])
                for (name, each), attributes in zip(modules, self._attributes)
            ],
            [each.tensor for each in held],
            assumed,
        )
        self._places = [(where, key, each.tensor) for each in held for where, key in each.places]
        self._fixed: List[_Fixed] = []
        self._tensors = [each.tensor for each in held]
        self._kinds = self._kinds_now()

    @property
    def modules(self) -> int:
        """How many there are."""
        return len(self._names)

    def fix(self, held: Sequence[Held], on_card: bool) -> None:
        """Of these the values belong to what is assumed."""
        self._fixed += [_Fixed(each, on_card) for each in held]

    def _kinds_now(self) -> Any:
        """Asked for in each step: lists are made and compared faster than one after the other."""
        tensors = self._tensors
        with as_they_are():
            return (
                [each.requires_grad for each in tensors],
                [each.shape for each in tensors],
                [each.dtype for each in tensors],
            )

    def changed(self, recording: bool = False) -> Optional[str]:
        """What is not as it was, for a sentence; None if all is. `recording`: into a CUDA graph,
        where nothing can wait for the card."""
        for fixed in self._fixed:
            changed = fixed.changed(recording)
            if changed is not None:
                return changed
        for where, key, tensor in self._places:
            if where.get(key) is not tensor:
                return f"another tensor is its {key}"
        if self._kinds_now() != self._kinds:
            return "a tensor's requires_grad, extents or dtype"
        return self.changed_attribute() or self.watch.changed()

    def changed_attribute(self) -> Optional[str]:
        """Of a module, whose name is before it."""
        for name, attributes in zip(self._names, self._attributes):
            changed = attributes.changed()
            if changed is not None:
                return f"{name}.{changed}" if name else changed
        return None

    def release(self) -> None:
        """It is made, and is only asked what has changed."""
        for attributes in self._attributes:
            attributes.release()
        self.watch.release()

    def restore(self) -> None:
        """Undoes what a trace has changed."""
        for attributes in self._attributes:
            attributes.restore()
        self.watch.put_back()
