"""Ways in which forward reads a number that nobody can watch, and ways to change it."""

import ctypes
import functools
import operator

from torch import nn

MEMORY = ctypes.c_double(1.0)
ADDRESS = ctypes.addressof(MEMORY)
TABLE = {}
NAME, SCALE = "o", "scale"  # no code names the attribute
PATH = "o.scale"


class Plain:
    def __init__(self, **values):
        vars(self).update(values)


def _of_memory(net):
    return ctypes.c_double.from_address(ADDRESS).value


def _by_vars(net):
    return vars(vars(net)[NAME])[SCALE]


def _by_dict(net):
    return net.__dict__[NAME].__dict__[SCALE]


def _by_getter(net):
    return operator.attrgetter(PATH)(net)


def swapped(net):
    return 1.0


def _swap(net, value):
    swapped.__code__ = (lambda net: 5.0).__code__ if value == 5.0 else (lambda net: 9.0).__code__


@functools.lru_cache(maxsize=None)
def _cached():
    return _of_memory(None)


def _refill(net, value):
    """So often that the cache has been of use as often as before."""
    MEMORY.value = value
    _cached.cache_clear()
    for _ in range(4096):
        _cached()


def _set_memory(net, value):
    MEMORY.value = value


def _set_object(net, value):
    net.o.scale = value


#: name: how it is read, and how it is changed to 5.0.
HIDDEN = {
    "memory": (_of_memory, _set_memory),
    "vars()": (_by_vars, _set_object),
    "__dict__": (_by_dict, _set_object),
    "attrgetter": (_by_getter, _set_object),
    "__code__": (lambda net: swapped(net), _swap),
    "lru_cache": (lambda net: _cached(), _refill),
}

_CODE = swapped.__code__


def reset():
    MEMORY.value = 1.0
    swapped.__code__ = _CODE
    _cached.cache_clear()


class Net(nn.Module):
    def __init__(self, read):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Dropout(0.0)
        self.head, self.read, self.o = nn.Linear(3, 2), read, Plain(scale=1.0)

    def forward(self, x):
        x = self.drop(self.norm(self.conv(x)).relu())
        return self.head(x.mean((2, 3)) * self.read(self))
