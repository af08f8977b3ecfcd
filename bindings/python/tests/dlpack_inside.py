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


# ----------------------------------------------------------------------------------- graphs


@pytest.fixture
def driver():
    from standin_cards import Driver

    return Driver()


def wrapped(context, *arrays):
    return [context.wrap(OnCard(each)) for each in arrays]


class Layer:
    """A convolution, ReLU and the gradient of the weights, in two stages, on arrays of a card."""

    def __init__(self, context):
        self.context = context
        self.x, self.w = aligned((2, 8, 10, 10)), aligned((16, 8, 3, 3))
        self.y, self.dy = aligned((2, 16, 10, 10)), aligned((2, 16, 10, 10))
        self.dw = aligned((16, 8, 3, 3))
        self.on_card = wrapped(context, self.x, self.w, self.y, self.dy, self.dw)
        self.graph = context.capture(self._capture)

    def _capture(self):
        x, w, y, dy, dw = self.on_card
        made = self.context.relu(self.context.forward(x, w, padding=1))
        y.assign(made)
        self.context.cut()
        (gradient,) = self.context.gradients(made, [w], dy=dy)
        dw.assign(gradient)

    def assert_right(self, y, dw):
        with convoy.Context("cpu") as cpu:
            wanted = np.maximum(cpu.forward(self.x, self.w, padding=1), 0)
            dy = np.where(wanted > 0, self.dy, 0).astype(np.float32)
            gradient = cpu.backward_weights(self.x, dy, self.w.shape, padding=1)
        self.context.sync()
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(dw, gradient)


def test_graphs_work_in_place(context):
    layer = Layer(context)
    for seed in range(4):
        layer.y[...] = layer.dw[...] = 9
        layer.x[...] = np.random.default_rng(seed).integers(-4, 5, layer.x.shape)
        for stage in (0, 1):
            layer.graph.run_stage(stage)
        layer.assert_right(layer.y, layer.dw)


def test_a_stage_overwrites_what_a_later_one_needs(context):
    """Wrapped memory is copied before that, for gradients, copies and tensors of Convoy's."""
    halve = convoy.Program("w = w * 0.5")
    arrays = [aligned((4, 16)) for _ in range(5)]
    x, w, dy, dx, was = wrapped(context, *arrays)
    kept = context.tensor((4, 16))

    @context.capture
    def graph():
        old = context.tensor((4, 16))
        y = context.multiply(x, w)
        old.assign(w)
        kept.assign(w)
        context.apply(halve, {"w": w}, out={"w": w})
        context.cut()
        (gradient,) = context.gradients(y, [x], dy=dy)
        dx.assign(gradient)
        was.assign(context.add(old, x))

    for step in range(4):
        arrays[1][...] = np.arange(64).reshape(4, 16) + step
        arrays[3][...] = arrays[4][...] = 9
        before = arrays[1].copy()
        for stage in (0, 1):
            graph.run_stage(stage)
        context.sync()
        np.testing.assert_array_equal(arrays[1], before * 0.5)
        np.testing.assert_array_equal(arrays[3], arrays[2] * before)
        np.testing.assert_array_equal(arrays[4], arrays[0] + before)
        np.testing.assert_array_equal(kept.read(), before)


def test_graphs_on_other_arrays(context):
    layer = Layer(context)
    layer.graph.run()
    y, dw = aligned(layer.y.shape), aligned(layer.dw.shape)
    layer.y[...] = layer.dw[...] = 7
    owner = weakref.ref(dw.base)
    context.rewrap(layer.on_card[2], OnCard(y))
    context.rewrap(layer.on_card[4], OnCard(dw))
    layer.graph.run()
    layer.assert_right(y, dw)
    assert (layer.y == 7).all() and (layer.dw == 7).all()
    del dw
    context.rewrap(layer.on_card[4], OnCard(layer.dw))
    gc.collect()
    assert owner() is None


def test_what_is_read_and_written(context):
    a, b = aligned((4, 16)), aligned((4, 16))
    b[...] = a + 3
    first, second = a.copy(), b.copy()
    update = convoy.Program("w = w - 0.5 * g")
    left, right = wrapped(context, a, b)

    def step():
        context.apply(update, left, right, out=left)
        context.apply(update, right, left, out=right)  # of the new one

    graph = context.capture(step)
    for _ in range(3):
        graph.run()
        first -= np.float32(0.5) * second
        second -= np.float32(0.5) * first
        context.sync()
        np.testing.assert_array_equal(a, first)
        np.testing.assert_array_equal(b, second)


def test_arrays_that_change_places(context):
    a, b = aligned((4, 16)), aligned((4, 16))
    b[...] = a + 1
    left, right = wrapped(context, a, b)

    def swap():
        before = context.tensor(a.shape)
        before.assign(left)
        left.assign(right)
        right.assign(before)

    graph = context.capture(swap)
    first, second = a.copy(), b.copy()
    for _ in range(3):
        graph.run()
        context.sync()
        first, second = second, first
        np.testing.assert_array_equal(a, first)
        np.testing.assert_array_equal(b, second)


def test_one_result_for_several(context):
    x = aligned((4, 16))
    y, z = aligned((4, 16)), aligned((4, 16))
    of_x, of_y, of_z = wrapped(context, x, y, z)

    def double():
        made = context.add(of_x, of_x)
        of_y.assign(made)
        of_z.assign(context.add(of_x, of_x))
        return made

    graph = context.capture(double)
    for _ in range(3):
        y[...] = z[...] = 0
        own = graph.run()
        np.testing.assert_array_equal(own.read(), x + x)
        np.testing.assert_array_equal(y, x + x)
        np.testing.assert_array_equal(z, x + x)


def test_memory_that_overlaps(context):
    layer = Layer(context)
    layer.graph.run()
    before = layer.y.copy()
    room = aligned((2 * layer.y.size,))
    x = room[: layer.x.size].reshape(layer.x.shape)
    y = room[1024 : 1024 + layer.y.size].reshape(layer.y.shape)
    context.rewrap(layer.on_card[0], OnCard(x))
    context.rewrap(layer.on_card[2], OnCard(y))
    with pytest.raises(convoy.ArgumentError, match="is written, and overlaps 0x"):
        layer.graph.run()
    context.rewrap(layer.on_card[0], OnCard(layer.x))
    context.rewrap(layer.on_card[2], OnCard(layer.y))
    layer.graph.run()
    context.sync()
    np.testing.assert_array_equal(layer.y, before)


def test_what_cannot_be_moved(context):
    tensor = context.wrap(OnCard(aligned((4, 16))))
    with pytest.raises(convoy.ShapeError, match=r"array is float32 of \(16, 4\), the tensor"):
        context.rewrap(tensor, OnCard(aligned((16, 4))))
    with pytest.raises(convoy.ShapeError, match="array is int32"):
        context.rewrap(tensor, OnCard(aligned((4, 16), np.int32)))
    with pytest.raises(convoy.ArgumentError, match="one of Convoy's own"):
        context.rewrap(context.tensor((4, 16)), OnCard(aligned((4, 16))))
    with pytest.raises(convoy.ArgumentError, match="must be a multiple of 64"):
        context.rewrap(tensor, OnCard(aligned((4, 16), offset=4)))
    with pytest.raises(convoy.ArgumentError, match="while a capture is open"):
        context.capture(lambda: context.rewrap(tensor, OnCard(aligned((4, 16)))))


def test_what_a_device_loses_is_lost(context, driver):
    x = aligned((4, 16))
    (of_x,) = wrapped(context, x)
    graph = context.capture(lambda: context.add(of_x, of_x))
    for _ in range(2):
        np.testing.assert_array_equal(graph.run().read(), x + x)
    own = graph.run()
    driver.fail_next(700)  # the context is gone with all that is in it
    with pytest.raises(convoy.DeviceError):
        graph.run()
        context.sync()
    for _ in range(2):
        with pytest.raises(convoy.DeviceError, match="700"):
            own.read()
    np.testing.assert_array_equal(graph.run().read(), x + x)
