"""copy, deepcopy and pickle of what stands for something in the C library: two owners there must
not be, and a copy of a tensor is another tensor."""

import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import types
import weakref

import numpy
import pytest
from numpy.testing import assert_array_equal

import convoy
from cases import integers

COPIES = pytest.mark.parametrize("way", [copy.copy, copy.deepcopy])


@COPIES
def test_a_copied_tensor_is_another(context, way):
    values = integers((2, 3, 4), 1)
    tensor = context.tensor(values)
    other = way(tensor)
    assert type(other) is convoy.Tensor and other.shape == tensor.shape
    tensor.write(values + 1)
    assert_array_equal(other.read(), values)
    del tensor
    gc.collect()
    assert_array_equal(other.read(), values)
    assert_array_equal(way(way(other)).read(), values)


@COPIES
def test_a_copied_result_waits_for_it(context, operands, way):
    x, w, _ = operands
    later = context.forward(context.tensor(x), context.tensor(w))
    assert_array_equal(way(later).read(), later.read())


def test_copies_within_containers(context):
    tensor = context.tensor((2, 3))
    nested = {"a": tensor, "b": [tensor, numpy.ones(2)]}
    other = copy.deepcopy(nested)
    assert other["a"] is other["b"][0] and other["a"] is not tensor
    assert copy.copy(nested)["a"] is tensor


class Named(convoy.Tensor):
    """As people derive from it: with more to be told when it is made, and parts of its own."""

    def __init__(self, context, shape, name):
        super().__init__(context, shape)
        self.name, self.parts, self.me = name, [name], self


def test_a_copy_of_a_subclass_has_its_attributes(context):
    tensor = Named(context, (2, 3), "weights")
    other, deep = copy.copy(tensor), copy.deepcopy(tensor)
    assert type(other) is type(deep) is Named
    assert other.parts is tensor.parts and other.me is tensor
    assert deep.parts == tensor.parts and deep.parts is not tensor.parts and deep.me is deep


PICKLED = pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))


@PICKLED
def test_a_tensor_is_not_pickled(context, protocol):
    with pytest.raises(TypeError, match="a Named cannot be pickled.*tensor.numpy"):
        pickle.dumps(Named(context, (3,), "a"), protocol)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps, lambda c: copy.copy([c])])
def test_a_context_is_not_copied(way):
    class Mine(convoy.Context):
        pass

    for kind in (convoy.Context, Mine):
        with kind("cpu") as context:
            if way([]) == [[]]:
                assert way(context)[0] is context  # what holds it may be copied
                continue
            for each in (context, context._handle, context.tensor((3,))._owned):
                words = f"a {type(each).__name__} cannot be copied or pickled: "
                with pytest.raises(TypeError, match=words):
                    way(each)
            assert context.tensor((3,)).read().shape == (3,)


def test_attributes_carried_over_by_hand_share_the_handle(context):
    """What copies an object by its attributes all the same frees nothing twice."""
    tensor = context.tensor(integers((4,), 1))
    other = convoy.Tensor.__new__(convoy.Tensor)
    vars(other).update(vars(tensor))
    freed = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert freed() is None
    assert_array_equal(other.read(), integers((4,), 1))


def test_a_copy_needs_an_open_context():
    context = convoy.open("cpu")
    tensor = context.tensor((2,))
    context.close()
    with pytest.raises(convoy.ArgumentError, match="closed"):
        copy.copy(tensor)


def test_copies_are_freed(context):
    tensor = context.tensor((256, 1024))

    def step():
        cycle = types.SimpleNamespace(tensor=copy.copy(tensor))
        cycle.tensor.cycle = cycle
        copy.deepcopy(cycle)
        del cycle
        gc.collect()

    step()
    before = context.health().host_bytes
    for _ in range(20):
        step()
    assert context.health().host_bytes <= before


def test_threads_copy_one_tensor(context):
    """While another writes it: each copy is one of the states it had."""
    tensor = context.tensor((1000,))
    stop, wrong = threading.Event(), []

    def work():
        while not stop.is_set():
            values = copy.copy(tensor).read()
            if values.min() != values.max():
                wrong.append(values)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(300):
        tensor.write(numpy.full(1000, number, numpy.float32))
    stop.set()
    for thread in threads:
        thread.join(30)
    assert not wrong


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_copies_in_a_forked_child(context):
    tensor = context.tensor(integers((5,), 1))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert_array_equal(copy.deepcopy(tensor).read(), integers((5,), 1))
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_process_is_not_handed_a_tensor(context):
    tensor, spawn = context.tensor((2,)), multiprocessing.get_context("spawn")
    process = spawn.Process(target=print, args=(tensor,))
    with pytest.raises(TypeError, match="cannot be pickled"):
        process.start()


AT_EXIT = """
import convoy, copy, gc, numpy
context = convoy.open("cpu")
first = context.tensor(numpy.ones((64, 64), numpy.float32))
for _ in range(50):
    try:
        second = copy.copy(first), copy.deepcopy(first)
        copy.copy(context._handle)
    except TypeError:
        pass
    third = copy.copy(first)
    del third
    gc.collect()
kept = [copy.copy(first), context, first]
kept.append(kept)
print(float(kept[0].read().sum()))
"""


def test_the_end_of_a_program_that_copied():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, env=environment
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "4096.0\n", "")
