"""Arrays of other libraries on a card, by DLPack: pytest runs this file by name, in a process where
the stand-ins are the drivers (test_dlpack.py). All of the process's memory is the card's there, so
numpy's arrays are, once they say so.
"""

import ctypes
import gc
import os
import weakref

import numpy as np
import pytest

import convoy
from convoy import _dlpack

KIND = os.environ["STANDIN_KIND"]
NUMBER = {"cuda": _dlpack.CUDA, "hip": _dlpack.ROCM}[KIND]
DEFAULT_STREAM = {"cuda": 1, "hip": 0}[KIND]


class OnCard:
    """An array of numpy's that says it is on a card."""

    def __init__(self, array, index=0):
        self.array, self._index, self.streams = array, index, []

    def __dlpack_device__(self):
        return NUMBER, self._index

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
        managed = _dlpack.Managed.from_address(pointer)
        managed.array.device_type, managed.array.device_id = NUMBER, self._index
        return capsule


def aligned(shape, dtype=np.float32, offset=0):
    """Random values that begin `offset` bytes behind a multiple of 64."""
    count = int(np.prod(shape))
    room = np.zeros(count * np.dtype(dtype).itemsize + 128, np.uint8)
    begin = -room.ctypes.data % 64 + offset
    array = room[begin : begin + count * np.dtype(dtype).itemsize].view(dtype).reshape(shape)
    array[...] = np.random.default_rng(count).integers(-4, 5, shape)
    return array


@pytest.fixture
def context():
    with convoy.Context(f"{KIND}:0", isolation="caller", require_device=True) as opened:
        opened.set_stream(0)
        yield opened


def test_operations_work_in_place(context):
    x, w, y = aligned((2, 8, 10, 10)), aligned((16, 8, 3, 3)), aligned((2, 16, 10, 10))
    with convoy.Context("cpu") as cpu:
        wanted = cpu.forward(x, w, padding=1)
        product = cpu.multiply(cpu.tensor(x), cpu.tensor(x)).read()
    result = context.wrap(OnCard(y))
    for _ in range(3):  # proved, learnt, and as it is from then on
        y[...] = 7
        context.forward(context.wrap(OnCard(x)), context.wrap(OnCard(w)), padding=1, out=result)
        context.sync()
        np.testing.assert_array_equal(y, wanted)
    out = context.wrap(OnCard(x))
    context.multiply(out, out, out=out)
    context.sync()
    np.testing.assert_array_equal(x, product)


def test_values_and_types(context):
    numbers = aligned((3, 5), np.int32)
    tensor = context.wrap(OnCard(numbers))
    assert tensor.shape == (3, 5) and tensor.dtype == np.int32
    np.testing.assert_array_equal(tensor.read(), numbers)
    tensor.write(np.arange(15, dtype=np.int32).reshape(3, 5))
    np.testing.assert_array_equal(numbers, np.arange(15).reshape(3, 5))


def test_arrays_without_elements(context):
    assert context.wrap(OnCard(np.zeros((0, 3), np.float32))).read().shape == (0, 3)


def test_a_capsule_is_taken_once(context):
    class Twice(OnCard):
        def __dlpack__(self, stream=None):
            self.capsule = getattr(self, "capsule", None) or super().__dlpack__(stream)
            return self.capsule

    card = Twice(aligned((4, 16)))
    context.wrap(card)
    with pytest.raises(convoy.ArgumentError, match="__dlpack__ of a Twice gives nothing to take"):
        context.wrap(card)


def test_the_array_is_held_as_long_as_the_tensor(context):
    array = aligned((4, 16))
    owner = weakref.ref(array.base)
    tensor = context.wrap(OnCard(array))
    del array
    gc.collect()
    assert owner() is not None
    del tensor
    gc.collect()
    assert owner() is None


def test_the_stream_is_the_contexts(context):
    card = OnCard(aligned((4, 16)))
    context.wrap(card)
    assert card.streams == [DEFAULT_STREAM]


@pytest.mark.parametrize(
    "array, sentence",
    [
        (aligned((4, 6)).T, "not dense: strides"),
        (aligned((4, 6)).astype(np.float64), "2 of 64 bits"),
        (aligned((4, 6), offset=4), "must be a multiple of 64"),
        (np.zeros((2,) * 6, np.float32), "dims is 6"),
    ],
)
def test_what_cannot_be_wrapped(context, array, sentence):
    owner = weakref.ref(array)
    with pytest.raises(convoy.ConvoyError, match=sentence):
        context.wrap(OnCard(array))
    assert owner() is array


def test_other_cards_and_no_stream():
    with convoy.Context(f"{KIND}:0", isolation="caller", require_device=True) as context:
        with pytest.raises(convoy.ArgumentError, match="set_stream comes first"):
            context.wrap(OnCard(aligned((4, 16))))
        context.set_stream(0)
        with pytest.raises(convoy.ArgumentError, match=f"is on {KIND}:1"):
            context.wrap(OnCard(aligned((4, 16)), index=1))
