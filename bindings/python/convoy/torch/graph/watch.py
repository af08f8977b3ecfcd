"""Values of Python's that a network's way depends on, and whether they are what they were.

What forward reads begins at roots: attributes of modules, globals, closures, classes, other objects
whose methods are called. From there on all is looked at that the code which was called has names
for. A group is what lies together in one container; where that is, is found anew each time, from
its root on, so that nothing but the program itself keeps an object alive.
"""

from __future__ import annotations

import types
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from . import kinds
from .assumed import Assumed
from .errors import Declined
from .kinds import View

_MOST = 4096  # values
_GONE = object()

_NOWHERE = object()

DRAWS = "it draws random numbers that are not PyTorch's"

#: What of a class or object nothing depends on that a call computes.
_IRRELEVANT = frozenset(
    """__doc__ __module__ __dict__ __weakref__ __annotations__ __parameters__ _abc_impl
    __static_attributes__ __firstlineno__ __dataclass_fields__ __dataclass_params__ __match_args__
    __orig_bases__ __abstractmethods__ __qualname__""".split()
)


class _Group:
    """parent: the number of the group that it lies in, at `key`; None for a root."""

    def __init__(self, path: str, view: View, value: Any, where: Any) -> None:
        self.path, self.view, self.type = path, view, type(value)
        self.root, self.parent, self.key = where
        self.before: Dict[Any, Any] = {}  # what was seen, by name or place
        self.order: Optional[List[Any]] = None  # of all names, if all matter
        self.length: Optional[int] = None  # of a sequence
        self.absent: Set[str] = set()  # names that are not there
        self.places: List[Any] = []
        self.values: List[Any] = []
        self.weak: List[Tuple[Any, Any]] = []
        self.same: List[Tuple[Any, int]] = []  # places of what is the value of another group
        self.is_gone = self.is_loose = False

    @property
    def compares(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.places or self.weak or self.same or self.absent) or (
            self.order is not None or self.length is not None
        )

    def is_as_it_was(self, content: Any) -> bool:
        if self.order is not None and list(content) != self.order:
            return False
        if self.length is not None and len(content) != self.length:
            return False
        if self.absent and not self.absent.isdisjoint(content):
            return False
        now = [content[place] for place in self.places]
        if not kinds.are_same(now, self.values):
            return False
        return all(content[place] is ref() for place, ref in self.weak)

    def changed_name(self, content: Any) -> str:
        for place, value in zip(self.places, self.values):
            now = content[place] if _has(content, place) else _NOWHERE
            if not kinds.is_same(now, value):
                return _joined(self.path, place)
        for place, ref in self.weak:
            if not _has(content, place) or content[place] is not ref():
                return _joined(self.path, place)
        return self.path


def _has(content: Any, place: Any) -> bool:
    return place in content if hasattr(content, "keys") else place < len(content)


def _joined(path: str, place: Any) -> str:
    if isinstance(place, str) and place.isidentifier():
        return f"{path}.{place}" if path else place
    return f"{path}[{place!r}]"


class Watch:
    """`covered`: modules with their names, and which of their attributes are watched otherwise.
    `held`: tensors that are. `assumed`: what nothing depends on."""

    def __init__(
        self, covered: Iterable[Tuple[Any, str, Iterable[str]]], held: Any, assumed: Assumed
    ) -> None:
        there, self._assumed = list(covered), assumed
        self._covered = {id(module): frozenset(names) for module, _, names in there}
        self._paths = {id(module): name for module, name, _ in there}
        self._held = {id(each) for each in held}
        self._groups: List[_Group] = []
        self._at: Dict[Any, int] = {}  # by id and view: the group
        self._seen: List[Tuple[int, Any]] = []  # groups and their values, while it is made
        self._loose: List[int] = []  # groups of objects that are known by a call alone
        self._spaces: Dict[int, Tuple[Dict[str, Any], str]] = {}  # modules of Python's by value
        self._names: Set[str] = set()
        self._all = False
        self._count = 0
        self.wrapped: List[Any] = []  # functions whose results somebody keeps

    # ------------------------------------------------------------------------------------ making

    def add_names(self, names: Iterable[str], everything: bool) -> None:
        """Names that code has. everything: it may make up others."""
        self._names.update(names)
        self._all = self._all or everything

    def add(self, value: Any, path: str) -> None:
        """An object or class by itself."""
        if id(value) in self._assumed.values:
            return
        at = self._at.get((id(value), self._view_of_root(value)))
        if at is not None:
            self._fill(at)
            return
        path = self._paths.get(id(value), path)
        try:
            root = weakref.ref(value)
        except TypeError:
            return
        at = self._new(path, self._view_of_root(value), value, (root, None, None))
        if not isinstance(value, type) and id(value) not in self._covered:
            self._loose.append(at)

    def _view_of_root(self, value: Any) -> View:
        if isinstance(value, type):
            return kinds.CLASS
        return kinds.OBJECT if id(value) in self._covered else kinds.of_object(value)

    def add_names_of(self, space: Dict[str, Any], names: Iterable[str], path: str) -> None:
        """These of a module of Python's."""
        at = self._at.get((id(space), kinds.NAMESPACE))
        if at is None:
            at = self._new(path, kinds.NAMESPACE, space, (lambda: space, None, None))
        self._take(at, [name for name in names if name in space])

    def add_root(self, value: Any, view: View, path: str, root: Callable[[], Any]) -> int:
        """What is there for good, or known by a reference of the caller's."""
        at = self._at.get((id(value), view))
        return self._new(path, view, value, (root, None, None)) if at is None else at

    def add_loose(self, value: Any, view: View, path: str) -> None:
        """What may have been made by the call itself: where it is no more, nobody can reach it."""
        self._loose.append(self.add_root(value, view, path, weakref.ref(value)))

    def add_closure(self, values: Dict[str, Any], path: str) -> int:
        """What a function closes over, which is to be found later: adopt() says where."""
        return self._new(path, kinds.DICT, values, (lambda: values, None, None))

    def adopt(self, at: int, function: Any) -> None:
        """A closure is this function's."""
        group = self._groups[at]
        group.root, group.view, group.type = weakref.ref(function), kinds.CELLS, type(function)
        self._at[id(function), kinds.CELLS] = at
        self._seen[at] = at, function

    def add_class(self, kind: type) -> None:
        for each in kind.__mro__:
            if kinds.is_users(each):
                self.add(each, each.__name__)

    def _new(self, path: str, view: View, value: Any, where: Any) -> int:
        at = len(self._groups)
        self._at[id(value), view] = at
        self._groups.append(_Group(path, view, value, where))
        self._seen.append((at, value))
        if view is not kinds.NAMESPACE:
            self._fill(at)
        return at

    def _fill(self, at: int) -> None:
        """Names that have come since are looked for, too."""
        group, (_, value) = self._groups[at], self._seen[at]
        if group.view is kinds.NAMESPACE:
            return
        content = group.view.content(value)
        if not hasattr(content, "keys"):
            group.length = len(content)
            self._take(at, range(len(content)))
        elif not group.view.named:
            group.order = group.order or list(content)
            self._take(at, [name for name in content if name not in _IRRELEVANT])
        else:
            self._take(at, self._wanted(value, content))
        if group.view in (kinds.OBJECT, kinds.SLOTS):
            self.add_class(type(value))

    def _wanted(self, value: Any, content: Any) -> List[str]:
        covered = self._covered.get(id(value))
        everything = self._all and covered is None
        covered = covered or frozenset()
        names = [each for each in content if everything or each in self._names]
        return [each for each in names if each not in covered and each not in _IRRELEVANT]

    def _take(self, at: int, places: Iterable[Any]) -> None:
        group, (_, value) = self._groups[at], self._seen[at]
        content = group.view.content(value)
        for place in places:
            if place not in group.before and not self._assumed.has(value, place):
                group.before[place] = content[place]
                self._noted(at, place, content[place])

    def _noted(self, at: int, place: Any, value: Any) -> None:
        """An attribute that no code has a name for may be one that cannot be watched."""
        if not self._groups[at].view.named or place in self._names:
            self._note(at, place, value)
            return
        count, groups = self._count, len(self._groups)
        try:
            self._note(at, place, value)
        except Declined:
            self._count = count
            self._at = {key: number for key, number in self._at.items() if number < groups}
            del self._groups[groups:], self._seen[groups:]
            for group in self._groups:
                group.same = [each for each in group.same if each[1] < groups]

    def _note(self, at: int, place: Any, value: Any) -> None:
        group = self._groups[at]
        if id(value) in self._covered or id(value) in self._held:
            if id(value) in self._covered:
                group.weak.append((place, weakref.ref(value)))
            return
        if kinds.is_plain(value):
            self._note_plain(group, place, value)
            for each in kinds.parts_of(value):
                self._note_part(each)
            return
        if kinds.is_closure(value):
            group.weak.append((place, weakref.ref(value)))
            return
        path = _joined(group.path, place)
        for view in kinds.views_of(value, path):
            if view is kinds.CACHE:
                self.wrapped.append(value.__wrapped__)
            there = self._at.get((id(value), view))
            if there is not None:
                group.same.append((place, there))
                self._fill(there)
            else:
                self._new(path, view, value, (None, at, place))

    def _note_part(self, value: Any) -> None:
        """Of something plain, a class or a module of Python's has attributes of its own."""
        if isinstance(value, type):
            self.add_class(value)
        elif isinstance(value, types.ModuleType) and kinds.is_users_name(value.__name__):
            space = vars(value)
            self._spaces[id(space)] = space, value.__name__
            self.add_names_of(space, self._names, value.__name__)

    def _note_plain(self, group: _Group, place: Any, value: Any) -> None:
        group.places.append(place)
        group.values.append(kinds.copied(value))
        self._count += kinds.size_of(value)
        if self._count > _MOST:
            path = _joined(group.path, place)
            raise Declined(f"it reads more than {_MOST} values, {path} among them")

    # ----------------------------------------------------------------------------------- settling

    def settle(self) -> None:
        """All code is known: whatever has a name in it is looked for."""
        done = -1
        while done != len(self._groups):
            done = len(self._groups)
            for at in range(done):
                if self._groups[at].view.named:
                    self._fill(at)
            for space, path in list(self._spaces.values()):
                self.add_names_of(space, self._names, path)
        for at, value in self._seen:
            group = self._groups[at]
            if not group.view.named or group.view is kinds.NAMESPACE or id(value) in self._covered:
                continue
            there = set(group.view.content(value)) | set(group.before)
            group.absent = {
                each for each in self._names - there if not self._assumed.has(value, each)
            }
            if self._all:
                group.order = list(group.view.content(value))

    def put_back(self) -> None:
        """What has changed since it was seen becomes what it was."""
        for at, value in self._seen:
            group = self._groups[at]
            if group.view.put_back is not None:
                _put_back(group, value)

    def release(self) -> None:
        """It is made. What is watched is kept, and only that."""
        loose = {id(self._groups[at]) for at in self._loose}
        kept: List[_Group] = []
        numbers: Dict[int, int] = {}
        needed = self._needed()
        for at, group in enumerate(self._groups):
            group.before.clear()
            group.is_loose = id(group) in loose
            if at in needed:
                numbers[at] = len(kept)
                kept.append(group)
        for group in kept:
            group.parent = None if group.parent is None else numbers[group.parent]
            group.same = [(place, numbers[at]) for place, at in group.same if at in numbers]
        self._groups = kept
        self._seen.clear()
        self._at.clear()

    def _needed(self) -> Set[int]:
        """Groups that are there after the call, and have something to compare in or below them."""
        gone: Set[int] = set()
        for at, group in enumerate(self._groups):
            over = group.view is kinds.GENERATOR or (group.parent is None and group.root() is None)
            if over or group.is_gone or group.parent in gone:
                gone.add(at)
        needed: Set[int] = set()
        for at in reversed(range(len(self._groups))):
            group = self._groups[at]
            if at not in gone and (at in needed or group.compares):
                needed.update((at, at if group.parent is None else group.parent))
        return needed

    # ----------------------------------------------------------------------------------- watching

    def paths(self) -> List[str]:
        """Of all values."""
        return [_joined(group.path, place) for group in self._groups for place in group.places]

    def check(self) -> None:
        """After a call of the network. Raises Declined for what it has changed itself."""
        self._drawn()
        changed = self.changed()
        self.put_back()
        if changed is not None:
            raise Declined(f"it changes {changed}")

    def _drawn(self) -> None:
        for at, value in self._seen:
            group = self._groups[at]
            if group.view is kinds.GENERATOR and not group.is_gone:
                if not _are_same(kinds.GENERATOR.content(value), list(group.before.values())):
                    self.put_back()
                    raise Declined(DRAWS)

    def changed(self) -> Optional[str]:
        """The path of a value that is not what it was."""
        values: List[Any] = []
        contents: List[Any] = []
        for group in self._groups:
            try:
                value = self._value_of(group, contents)
                if value is _GONE:
                    content: Any = _GONE
                elif type(value) is not group.type:
                    return group.path
                else:
                    content = group.view.content(value)
                    if not group.is_as_it_was(content):
                        return group.changed_name(content)
            except Exception:  # it is not there any more, or cannot be compared
                return group.path
            values.append(value)
            contents.append(content)
        return self._replaced(values, contents)

    def _value_of(self, group: _Group, contents: Sequence[Any]) -> Any:
        if group.is_gone:
            return _GONE
        if group.parent is None:
            value = group.root()
            return _GONE if value is None and group.is_loose else value
        content = contents[group.parent]
        return _GONE if content is _GONE else content[group.key]

    def _replaced(self, values: Sequence[Any], contents: Sequence[Any]) -> Optional[str]:
        for group, content in zip(self._groups, contents):
            for place, there in group.same:
                if content is not _GONE and content[place] is not values[there]:
                    return _joined(group.path, place)
        return None


def _put_back(group: _Group, value: Any) -> None:
    """Into the same container, which others may have."""
    before = group.before
    for place, copy in zip(group.places, group.values):
        _put_back_plain(before[place], copy)
    content = group.view.content(value)
    if not hasattr(content, "keys"):
        if not _are_same(content, list(before.values())):
            group.view.put_back(value, list(before.values()))  # type: ignore[misc]
        return
    for name in group.absent & set(content) if group.view.named else ():
        delattr(value, name)
    changed = {k: each for k, each in before.items() if content.get(k, _GONE) is not each}
    if group.view.named and changed:
        group.view.put_back(value, changed)  # type: ignore[misc]
    elif not group.view.named and (changed or list(content) != group.order):
        group.view.put_back(value, before)  # type: ignore[misc]


def _are_same(content: Any, before: Sequence[Any]) -> bool:
    return len(content) == len(before) and all(
        a is b or (isinstance(a, kinds.SCALARS) and type(a) is type(b) and a == b)
        or (isinstance(a, tuple) and a == b)
        for a, b in zip(content, before)
    )


def _put_back_plain(value: Any, copy: Any) -> None:
    if type(value) is not type(copy) or kinds.is_same(value, copy):
        return
    if isinstance(value, list):
        value[:] = copy
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(copy)
