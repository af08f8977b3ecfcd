"""Ways in which forward reads a number that is no tensor, and ways to change it: a table for the
tests of what a captured network depends on."""

import argparse
import collections
import contextvars
import dataclasses
import datetime
import enum
import functools
import logging
import os
import random
import tempfile
import threading
import time
import types
import weakref

import numpy
import torch
from torch import nn

FLAG = False
SCALE = 1.0
NESTED = {"a": {"b": {"c": {"d": [1.0]}}}}
ARRAY = numpy.ones(3, numpy.float32)
CONFIG = types.ModuleType("settings_of_a_program")
CONFIG.SCALE, CONFIG.inner = 1.0, types.ModuleType("settings_of_a_program.inner")
CONFIG.inner.SCALE = 1.0
LOCAL = threading.local()
VARIABLE = contextvars.ContextVar("scale", default=1.0)
DRAWS, NUMBERS = random.Random(), numpy.random.default_rng(0)
PATH = os.path.join(tempfile.gettempdir(), f"convoy-ways-{os.getpid()}.txt")


class Plain:
    scale = 1.0

    def __init__(self, **values):
        vars(self).update(values)

    def twice(self):
        return 2 * self.scale


class Base:
    scale = 1.0


class Derived(Base):
    pass


class Slots:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0


@dataclasses.dataclass
class Data:
    scale: float = 1.0
    inner: Plain = dataclasses.field(default_factory=lambda: Plain(scale=1.0))


class Property:
    def __init__(self):
        self._hidden = 1.0

    @property
    def scale(self):
        return self._hidden * 2


class Descriptor:
    def __init__(self):
        self.by_owner = weakref.WeakKeyDictionary()

    def __get__(self, owner, kind):
        return vars(owner).get("_kept", 1.0)

    def __set__(self, owner, value):
        vars(owner)["_kept"] = value


class Described:
    scale = Descriptor()


class Mode(enum.Enum):
    OFF = 0
    ON = 1


class AnyName:
    def __init__(self):
        self.values = {"scale": 1.0}

    def __getattr__(self, name):
        return self.values[name]


class Mapping(dict):
    def __getattr__(self, name):
        return self[name]


def closure():
    scale = 1.0

    def read(net):
        return scale

    def change(value):
        nonlocal scale
        scale = value

    return read, change


def decorated(function):
    settings = {"scale": 1.0}

    @functools.wraps(function)
    def wrapper(net):
        return function(net) * settings["scale"]

    wrapper.settings = settings
    return wrapper


READ, CHANGE = closure()


@decorated
def through_decorator(net):
    return 1.0


def with_default(net, scale=1.0):
    return scale


def with_keyword(net, *, settings={"scale": 1.0}):  # noqa: B006
    return settings["scale"]


def product(a, net):
    return a["scale"]


PARTIAL = {"scale": 1.0}
BOUND = functools.partial(product, PARTIAL)
METHOD = Plain(scale=1.0).twice


@functools.lru_cache(maxsize=None)
def cached():
    return SCALE


def of_global(net):
    return 3.0 if FLAG else 1.0


def by_name(net):
    return getattr(net.o, "".join(["sc", "ale"]))


def _set(name):
    def change(net, value):
        globals()[name] = value

    return change


def _clear_cache(net, value):
    globals()["SCALE"] = value
    cached.cache_clear()


def _set_variable(net, value):
    VARIABLE.set(value)


def _replace_object(net, value):
    net.o = Plain(scale=value, mode=Mode.OFF)


def _nested(net, value):
    NESTED["a"]["b"]["c"]["d"][0] = value


def _later(place, name):
    """Of place(net) the attribute `name` is set."""
    return lambda net, value: setattr(place(net), name, value)


def _put(place, key):
    """The same of an item."""
    return lambda net, value: place(net).__setitem__(key, value)


def _mode(value):
    return Mode.ON if value > 2 else Mode.OFF


def _environment(net, value):
    os.environ["CONVOY_TEST_SCALE"] = str(value)


#: name: how it is read, and how it is changed to a number.
WATCHED = {
    "global flag": (of_global, lambda net, value: _set("FLAG")(net, value > 2)),
    "global": (lambda net: SCALE, _set("SCALE")),
    "global nested": (lambda net: NESTED["a"]["b"]["c"]["d"][0], _nested),
    "global array": (lambda net: float(ARRAY[1]), _put(lambda net: ARRAY, 1)),
    "module": (lambda net: CONFIG.SCALE, _later(lambda net: CONFIG, "SCALE")),
    "module in module": (
        lambda net: CONFIG.inner.SCALE,
        _later(lambda net: CONFIG.inner, "SCALE"),
    ),
    "namespace": (lambda net: net.args.scale, _later(lambda net: net.args, "scale")),
    "object": (lambda net: net.o.scale, _later(lambda net: net.o, "scale")),
    "another object": (lambda net: net.o.scale, _replace_object),
    "object's method": (lambda net: net.o.twice(), _later(lambda net: net.o, "scale")),
    "in a list": (lambda net: net.objects[1].scale, _later(lambda net: net.objects[1], "scale")),
    "slots": (lambda net: net.slots.scale, _later(lambda net: net.slots, "scale")),
    "dataclass": (lambda net: net.data.scale, _later(lambda net: net.data, "scale")),
    "dataclass inside": (
        lambda net: net.data.inner.scale,
        _later(lambda net: net.data.inner, "scale"),
    ),
    "class attribute": (lambda net: type(net).factor, _later(lambda net: Net, "factor")),
    "base class": (lambda net: net.derived.scale, _later(lambda net: Base, "scale")),
    "class between": (lambda net: net.derived.scale, _later(lambda net: Derived, "scale")),
    "over the class's": (lambda net: net.derived.scale, _later(lambda net: net.derived, "scale")),
    "closure": (READ, lambda net, value: CHANGE(value)),
    "decorator": (through_decorator, _put(lambda net: through_decorator.settings, "scale")),
    "default": (with_default, lambda net, value: setattr(with_default, "__defaults__", (value,))),
    "default dictionary": (
        with_keyword,
        _put(lambda net: with_keyword.__kwdefaults__["settings"], "scale"),
    ),
    "numpy scalar": (
        lambda net: float(net.number),
        lambda net, value: setattr(net, "number", numpy.float32(value)),
    ),
    "numpy scalars": (lambda net: float(net.numbers[1]), _put(lambda net: net.numbers, 1)),
    "array attribute": (lambda net: float(net.array[0]), _put(lambda net: net.array, 0)),
    "deque": (lambda net: net.deque[0], _put(lambda net: net.deque, 0)),
    "with a class": (lambda net: net.classes["scale"], _put(lambda net: net.classes, "scale")),
    "class inside": (lambda net: net.classes["kind"].scale, _later(lambda net: Plain, "scale")),
    "own dictionary": (lambda net: net.mapping.scale, _put(lambda net: net.mapping, "scale")),
    "property": (lambda net: net.property.scale, _later(lambda net: net.property, "_hidden")),
    "descriptor": (lambda net: net.described.scale, _later(lambda net: net.described, "scale")),
    "enum": (
        lambda net: 3.0 if net.o.mode is Mode.ON else 1.0,
        lambda net, value: setattr(net.o, "mode", _mode(value)),
    ),
    "partial": (BOUND, _put(lambda net: PARTIAL, "scale")),
    "bound method": (lambda net: METHOD(), _later(lambda net: METHOD.__self__, "scale")),
    "lru_cache": (lambda net: cached(), _clear_cache),
    "context variable": (lambda net: VARIABLE.get(), _set_variable),
    "thread-local": (lambda net: LOCAL.scale, _later(lambda net: LOCAL, "scale")),
    "os.environ": (lambda net: float(os.environ.get("CONVOY_TEST_SCALE", "1")), _environment),
    "os.getenv": (lambda net: float(os.getenv("CONVOY_TEST_SCALE", "1")), _environment),
    "name made up": (by_name, _later(lambda net: net.o, "scale")),
    "__getattr__": (lambda net: net.any.scale, _put(lambda net: net.any.values, "scale")),
    "replaced function": (
        lambda net: net.function(),
        lambda net, value: setattr(net, "function", lambda: value),
    ),
    "weak reference": (lambda net: net.weakly().scale, _later(lambda net: net.o, "scale")),
}


LOGGER, LOCK, OTHER = logging.getLogger("convoy-ways"), threading.Lock(), 0


def quiet(net):
    """Beside a number things that say nothing of the result."""
    LOGGER.debug("a line")
    with LOCK:
        return net.args.scale * (net.o.scale if net.o.mode is Mode.OFF else 2.0)


def disturb(net, at):
    """Changes what `quiet` does not read."""
    net.args.step, net.o.losses = at, [at]
    globals()["OTHER"] = at
    net.objects.append(at)
    LOGGER.manager.loggerDict[f"convoy-ways.{at}"] = logging.getLogger(f"convoy-ways.{at}")


def _file(net):
    with open(PATH) as file:
        return float(file.read())


def _write_file(net, value):
    with open(PATH, "w") as file:
        file.write(str(value))


def _clock(net):
    return 1.0 + time.perf_counter() % 1


def _number(net):
    net.o.count = getattr(net.o, "count", 0) + 1
    return float(net.o.count % 3)


def _counting_closure():
    count = 0

    def read(net):
        nonlocal count
        count += 1
        return float(count % 3)

    return read


def _count_global(net):
    global COUNT
    COUNT += 1
    return float(COUNT % 3)


def _count_in_list(net):
    net.counts["calls"].append(1)
    return float(len(net.counts["calls"]) % 3)


class Scaled(torch.autograd.Function):
    """What it reads, it reads on the way back."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * SCALE


COUNT = 0

#: name: how it is read, and a part of the reason in the report. Each call gives another number.
DECLINED = {
    "random.Random": (lambda net: float(DRAWS.random() < 0.5), "random numbers that are not"),
    "default_rng": (lambda net: float(NUMBERS.random() < 0.5), "random numbers that are not"),
    "its own": (
        lambda net: float(net.draws.random() < 0.5),
        "random numbers that are not",
    ),
    "its own of numpy": (
        lambda net: float(net.numbers_drawn.random() < 0.5),
        "random numbers that are not",
    ),
    "counter": (_number, "it changes o.count"),
    "counting closure": (_counting_closure(), "count"),
    "counting global": (_count_global, "COUNT"),
    "growing list": (_count_in_list, "counts"),
    "generator": (lambda net: next(net.iterator), "which is not watched"),
}

#: The same where no two calls can be compared.
UNSTEADY = {
    "file": (_file, "it asks for a file"),
    "time": (_clock, "it asks for the time"),
    "date": (lambda net: float(datetime.datetime.now().microsecond), "it asks for the time"),
    "large array": (lambda net: float(net.large[0]), "which is not watched"),
    "array of objects": (lambda net: float(net.strange[0]), "which is not watched"),
    "many values": (lambda net: net.many["a"][0], "more than 4096 values"),
}


class Net(nn.Module):
    factor = 1.0

    def __init__(self, read):
        super().__init__()
        self.conv, self.head, self.read = nn.Conv2d(2, 3, 3), nn.Linear(3, 2), read
        self.args, self.slots = argparse.Namespace(scale=1.0), Slots()
        self.o = Plain(scale=1.0, mode=Mode.OFF)
        self.data, self.derived, self.property = Data(), Derived(), Property()
        self.described, self.any, self.mapping = Described(), AnyName(), Mapping(scale=1.0)
        self.number, self.numbers = numpy.float32(1.0), [numpy.float32(1.0), numpy.float32(1.0)]
        self.array, self.deque = numpy.ones(2), collections.deque([1.0])
        self.classes, self.function = {"scale": 1.0, "kind": Plain}, lambda: 1.0
        self.weakly, self.objects = weakref.ref(self.o), [1, Plain(scale=1.0)]
        self.draws, self.numbers_drawn = random.Random(3), numpy.random.default_rng(3)
        self.counts = {"calls": collections.deque()}
        self.iterator = iter([1.0, 2.0, 0.5, 3.0] * 5)
        self.large, self.strange = numpy.ones(20000), numpy.array([1.0, None], object)
        self.many = {"a": collections.deque([1.0] * 5000)}

    def forward(self, x):
        return self.head(self.conv(x).mean((2, 3)) * self.read(self))


def reset():
    """Everything as it was."""
    values = dict(FLAG=False, SCALE=1.0, COUNT=0)
    globals().update(values)
    NESTED["a"]["b"]["c"]["d"][0] = 1.0
    ARRAY[:] = 1.0
    CONFIG.SCALE = CONFIG.inner.SCALE = LOCAL.scale = Plain.scale = Base.scale = Net.factor = 1.0
    if "scale" in vars(Derived):
        del Derived.scale
    DRAWS.seed(5)
    NUMBERS.bit_generator.state = numpy.random.default_rng(5).bit_generator.state
    CHANGE(1.0)
    through_decorator.settings["scale"] = PARTIAL["scale"] = METHOD.__self__.scale = 1.0
    with_default.__defaults__ = (1.0,)
    with_keyword.__kwdefaults__["settings"]["scale"] = 1.0
    cached.cache_clear()
    VARIABLE.set(1.0)
    os.environ.pop("CONVOY_TEST_SCALE", None)
    _write_file(None, 1.0)
    DECLINED["counting closure"][0].__closure__[0].cell_contents = 0


def make(read):
    torch.manual_seed(1)
    return Net(read)


