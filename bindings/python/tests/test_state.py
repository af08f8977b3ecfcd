"""States in files, read and written here by their layout alone."""

import json
import os
import struct

import convoy
import numpy
import pytest

FLOAT = numpy.float32
TYPES = {"F32": numpy.float32, "I32": numpy.int32, "U8": numpy.uint8, "I64": numpy.int64}


def read_file(path):
    """{name: array}"""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    data, found, covered = content[8 + size :], {}, 0
    assert size % 8 == 0
    for name, about in sorted(header.items(), key=lambda each: each[1]["data_offsets"]):
        begin, end = about["data_offsets"]
        dtype = numpy.dtype(TYPES[about["dtype"]])
        assert begin == covered and begin % dtype.itemsize == 0
        found[name] = numpy.frombuffer(data[begin:end], dtype).reshape(about["shape"])
        covered = end
    assert covered == len(data)
    return found


def write_file(path, arrays, **changes):
    """`changes`: of the header."""
    names = {value: name for name, value in TYPES.items()}
    header, data = {}, b""
    for name, array in arrays.items():
        begin = len(data)
        data += array.tobytes()
        offsets = [begin, len(data)]
        dtype = names[array.dtype.type]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
    header.update(changes)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def normal(shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(FLOAT)


def test_round_trip(context, tmp_path):
    arrays = {
        "bytes": numpy.arange(7, dtype=numpy.uint8),
        "w": normal((4, 3, 2, 2)),
        "labels": numpy.arange(-3, 3, dtype=numpy.int32).reshape(2, 3),
        "empty": numpy.zeros((0, 4), FLOAT),
        'odd "name" \\ ä漢😀': normal((5,)),
    }
    tensors = {name: context.tensor(array) for name, array in arrays.items()}
    state = convoy.State(context, {**tensors, "epoch": 7, "words": [1, -(2**63), 2**63 - 1]})
    path = tmp_path / "state.safetensors"
    state.save(path)
    found = read_file(path)
    assert set(found) == set(state)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and (found[name] == array).all()
        assert found[name].shape == array.shape
    assert found["epoch"].shape == () and found["epoch"] == 7
    assert found["words"].tolist() == [1, -(2**63), 2**63 - 1]
    for name, tensor in tensors.items():
        tensor.write(numpy.zeros_like(arrays[name]))
    state["epoch"], state["words"] = 0, [0, 0, 0]
    state.load(path)
    assert state["epoch"] == 7 and state["words"] == (1, -(2**63), 2**63 - 1)
    for name, tensor in tensors.items():
        assert (tensor.read() == arrays[name]).all()
    before = path.read_bytes()
    state.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_what_others_wrote(context, tmp_path):
    """Any order, blanks, escapes, metadata, types that are not known here."""
    path = tmp_path / "state"
    arrays = {"b": normal((2, 3)), "a": normal((4,), 2), "n": numpy.array(3, numpy.int64)}
    half = {"dtype": "F16", "shape": [3], "data_offsets": [48, 54]}
    odd = {"data_offsets": [54, 55], "shape": [], "dtype": "F4_NEW"}
    metadata = {"format": "pt", "comment": "a \u00e9 \ud83d\ude00 \" {}"}
    write_file(path, arrays, __metadata__=metadata, half=half, odd=odd)
    path.write_bytes(path.read_bytes() + bytes(7))
    b, a = context.tensor((2, 3)), context.tensor((4,))
    state = convoy.State(context, {"a": a, "b": b, "n": 0})
    with pytest.raises(convoy.ShapeError, match='has "half", which the state lacks'):
        state.load(path)
    assert (a.read() == 0).all() and state["n"] == 0
    state.load(path, extra=True)
    assert (a.read() == arrays["a"]).all() and (b.read() == arrays["b"]).all() and state["n"] == 3
    escaped = path.read_bytes().replace(b'"a":', b'"\\u0061" \t:\n')
    (size,) = struct.unpack("<Q", escaped[:8])
    path.write_bytes(struct.pack("<Q", size + 8) + escaped[8:])
    a.write(numpy.zeros(4, FLOAT))
    state.load(path, extra=True)
    assert (a.read() == arrays["a"]).all()


def test_missing_members(context, tmp_path):
    path = tmp_path / "state"
    write_file(path, {"a": normal((4,))})
    a, b = context.tensor((4,)), context.tensor(normal((2,), 3))
    state = convoy.State(context, {"a": a, "b": b, "n": 5})
    with pytest.raises(convoy.ShapeError, match='lacks "b"'):
        state.load(path)
    assert (a.read() == 0).all()
    state.load(path, missing=True)
    assert (a.read() == normal((4,))).all() and (b.read() == normal((2,), 3)).all()
    assert state["n"] == 5


def test_what_does_not_fit(context, tmp_path):
    path = tmp_path / "state"
    write_file(path, {"a": normal((4,)), "b": normal((2, 3)), "n": numpy.zeros(2, numpy.int64)})
    a = context.tensor((4,))
    for members, words in (
        ({"a": a, "b": context.tensor((3, 2)), "n": [0, 0]}, r'"b" is F32 \[2\]\[3\] there and'),
        ({"a": a, "b": context.tensor((6,)), "n": [0, 0]}, r"F32 \[6\] here"),
        ({"a": a, "b": context.tensor((2, 3), "int32"), "n": [0, 0]}, r"I32 \[2\]\[3\] here"),
        ({"a": a, "b": context.tensor((2, 3)), "n": 0}, r'"n" is I64 \[2\] there and I64 \[\]'),
        ({"a": a, "b": 3, "n": [0, 0]}, r"F32 \[2\]\[3\] there and I64 \[\] here"),
    ):
        state = convoy.State(context, members)
        with pytest.raises(convoy.ShapeError, match=words):
            state.load(path)
        assert (a.read() == 0).all()


def damaged(good, path):
    """(words, bytes): files that are none, made of a good one."""
    (size,) = struct.unpack("<Q", good[:8])
    text, data = good[8 : 8 + size], good[8 + size :]

    def with_text(changed):
        return struct.pack("<Q", len(changed)) + changed + data

    yield "too few for a state", b""
    yield "too few for a state", good[:7]
    yield "no state, or cut off", good[: 8 + size - 1]
    yield "no state, or cut off", b"\xff" * 8 + good[8:]
    yield "lies from", good[:-1]
    yield "the file has", good + b"x"
    yield "more behind the header's end", with_text(text + b"{}")
    yield "no header", with_text(b"[]" + text)
    yield "no header", with_text(b"")
    yield "a text without an end", with_text(text[:3])
    yield "which is not what its extents need", with_text(text.replace(b"[4]", b"[5]"))
    yield "which is not what its extents need", with_text(
        text.replace(b"[4]", b"[9223372036854775807,2]")
    )
    yield "a number that is too large", with_text(text.replace(b"[4]", b"[99999999999999999999]"))
    yield "no number", with_text(text.replace(b"[4]", b"[-4]"))
    yield "a number with a 0 in front", with_text(text.replace(b"[4]", b"[04]"))
    yield "a list without an end", with_text(text.replace(b"[4]", b"[4.5]"))
    yield "a list that is too long", with_text(text.replace(b"[4]", b"[" + b"1," * 16 + b"4]"))
    yield "a field of another name", with_text(text.replace(b'"shape"', b'"Shape"'))
    yield "for the second time", with_text(text.replace(b'"shape"', b'"dtype":"F32","dtype"'))
    yield "lacks dtype, shape", with_text(text.replace(b'"dtype": "F32", ', b"", 1))
    yield "a type with a long name", with_text(text.replace(b"F32", b"F" * 40))
    yield "is there twice", with_text(text.replace(b'"b"', b'"a"'))
    yield "half a character", with_text(text.replace(b'"a"', b'"\\ud800"'))
    yield "a character 0", with_text(text.replace(b'"a"', b'"\\u0000"'))
    yield "an escape that is none", with_text(text.replace(b'"a"', b'"\\x61"'))
    yield "four digits", with_text(text.replace(b'"a"', b'"\\u00g1"'))
    yield "a control character", with_text(text.replace(b'"a"', b'"\n"'))
    yield "no metadata", with_text(text.replace(b"{", b'{"__metadata__": 3, ', 1))
    yield "has 15 bytes, which is not", with_text(text.replace(b"[0, 16]", b"[0, 15]"))
    yield "lies from", with_text(text.replace(b"[0, 16]", b"[8, 24]"))


def test_damaged_files(context, tmp_path):
    path = tmp_path / "state"
    arrays = {"a": normal((4,)), "b": normal((2, 3), 2)}
    write_file(path, arrays)
    a, b = context.tensor((4,)), context.tensor((2, 3))
    state = convoy.State(context, {"a": a, "b": b})
    cases = list(damaged(path.read_bytes(), path))
    for words, content in cases:
        path.write_bytes(content)
        with pytest.raises(convoy.FileError, match=words) as raised:
            state.load(path)
        assert str(path) in str(raised.value)
        assert (a.read() == 0).all() and (b.read() == 0).all()
    assert len(cases) > 25


def test_damaged_values(context, tmp_path):
    """Each bit of the values counts; a file without sums is taken as it is."""
    path = tmp_path / "state"
    a = context.tensor(normal((5,)))
    state = convoy.State(context, {"a": a, "b": context.tensor(numpy.arange(3, dtype="uint8"))})
    state.save(path)
    good = path.read_bytes()
    a.write(numpy.zeros(5, FLOAT))
    for bit in range(8 * (len(good) - 23), 8 * len(good)):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(convoy.FileError, match="is damaged: its bytes have not the sum"):
            state.load(path)
        assert (a.read() == 0).all()
    path.write_bytes(good.replace(b"convoy.sums", b"convoy.smus")[:-1] + b"\x07")
    state.load(path)
    assert state["b"].read().tolist() == [0, 1, 7]
    for sums in ("", "0" * 16, "0" * 33, "0" * 16 + " " + "g" * 16, "0" * 16 + " " + "0" * 17):
        write_file(path, {"a": normal((5,)), "b": numpy.arange(3, dtype="uint8")},
                   __metadata__={"convoy.sums": sums})
        with pytest.raises(convoy.FileError, match="there are not 2 sums, of 16 digits"):
            state.load(path)


def test_every_cut_and_every_flip(context, tmp_path):
    """A file that is cut, or has a bit flipped in its header, is refused or read, and no more."""
    path = tmp_path / "state"
    a = context.tensor((3,))
    state = convoy.State(context, {"a": a, "n": 3})
    state.save(path)
    good = path.read_bytes()
    for size in range(len(good)):
        path.write_bytes(good[:size])
        with pytest.raises(convoy.FileError):
            state.load(path)
    for bit in range(8 * (len(good) - 20)):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            state.load(path, extra=True, missing=True)
        except (convoy.FileError, convoy.ShapeError):
            pass


def test_what_is_no_file(context, tmp_path):
    state = convoy.State(context, {"n": 1})
    with pytest.raises(convoy.NotFoundError, match="there is no file"):
        state.load(tmp_path / "none")
    with pytest.raises(convoy.FileError, match="a folder"):
        state.load(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(convoy.FileError, match="a FIFO"):
        state.load(tmp_path / "fifo")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(convoy.FileError, match="cannot"):
        state.save(tmp_path / "file" / "under")
    state.save(tmp_path / "new" / "folder" / "state")
    (tmp_path / "link").symlink_to(tmp_path / "new" / "folder" / "state")
    state["n"] = 0
    state.load(tmp_path / "link")
    assert state["n"] == 1


@pytest.mark.parametrize("mask, mode", [(0o077, 0o600), (0o022, 0o644), (0o027, 0o640)])
def test_whose_a_saved_file_is(context, tmp_path, mask, mode):
    """A new file is as open as the umask says, an old one stays so, and links stay links."""
    state = convoy.State(context, {"n": 1})
    path, link = tmp_path / "state", tmp_path / "link"
    link.symlink_to("state")
    before = os.umask(mask)
    try:
        state.save(link)  # it leads to nothing yet
        assert link.is_symlink() and path.stat().st_mode & 0o777 == mode
        path.chmod(0o604)
        state["n"] = 2
        state.save(link)
    finally:
        os.umask(before)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o604
    state["n"] = 0
    state.load(path)
    assert state["n"] == 2 and sorted(os.listdir(tmp_path)) == ["link", "state"]
    path.unlink()
    path.symlink_to(link)
    with pytest.raises(convoy.FileError, match=f"{link}: Too many levels of symbolic links"):
        state.save(link)


def test_a_failed_save_leaves_the_old_file(context, tmp_path):
    path = tmp_path / "state"
    state = convoy.State(context, {"a": context.tensor(normal((2, 3)))})
    state.save(path)
    before = path.read_bytes()
    tmp_path.chmod(0o500)
    try:
        if os.geteuid():
            with pytest.raises(convoy.FileError):
                state.save(path)
    finally:
        tmp_path.chmod(0o700)

    def graph():
        state.save(path)

    with pytest.raises(convoy.ArgumentError, match="convoy_state_save while a capture is open"):
        context.capture(graph)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["state"]


def test_what_is_wrong_is_said(context, tmp_path):
    a = context.tensor((2,))
    state = convoy.State(context, {"a": a})
    for name, value, words in (
        ("a", a, '"a" is in the state already'),
        ("", a, "name is empty"),
        ("__metadata__", a, "no tensor may be called"),
        ("a\nb", a, "control character"),
        ("n" * 5000, a, "longer than 4096"),
        ("b", 2**63, "does not fit 64 bits"),
        ("b", 1.5, "not an integer"),
        ("b", [], "count is 0"),
    ):
        with pytest.raises(convoy.ArgumentError, match=words):
            state[name] = value
    state["n"] = [1, 2]
    with pytest.raises(convoy.ArgumentError, match="has 2 numbers, not 3"):
        state["n"] = [1, 2, 3]
    with pytest.raises(convoy.ArgumentError, match="not as it was added"):
        state["n"] = 1
    with convoy.open("cpu") as other:
        with pytest.raises(convoy.ArgumentError, match="another context"):
            state["t"] = other.tensor((2,))
        with pytest.raises(convoy.ArgumentError, match="another context"):
            state["g"] = other.capture(lambda: other.relu(other.tensor((2,))))
    with pytest.raises(convoy.ArgumentError, match="path is 3"):
        state.save(3)


def test_closed_contexts_refuse(tmp_path):
    context = convoy.open("cpu")
    state = convoy.State(context, {"a": context.tensor((2,))})
    context.close()
    for call in (state.save, state.load):
        with pytest.raises(convoy.ArgumentError, match="closed"):
            call(tmp_path / "state")


# ------------------------------------------------------------------------------------- trainings


class Training:
    """A network with everything that a step can depend on."""

    def __init__(self, device, seed):
        self.context = context = convoy.open(device, failover=False, tune=False)
        context.seed(seed)
        self.w = [context.tensor(normal((6, 4, 1))), context.tensor((6,))]
        self.v = [context.tensor(each.shape) for each in self.w]
        self.mean, self.variance = context.tensor((6,)), context.tensor(numpy.ones(6, FLOAT))
        self.x, self.rate = context.tensor(normal((8, 4, 1), 5)), context.tensor((1,))
        self.rate.write(numpy.array([0.1], FLOAT))
        self.graph = context.capture(self.step)
        self.state = convoy.State(context, self.members(), seed="seed")

    def step(self):
        context = self.context
        y = context.batch_norm(
            context.forward(self.x, *self.w), None, None, self.mean, self.variance
        )
        loss = context.mse(context.dropout(y, 0.5), y)
        gradients = context.gradients(loss, self.w)
        context.sgd(self.w, gradients, self.rate, momentum=0.9, velocities=self.v)
        self.loss = loss
        return loss

    def members(self):
        return {
            "0.weight": self.w[0],
            "0.bias": self.w[1],
            "momentum.0.weight": self.v[0],
            "momentum.0.bias": self.v[1],
            "1.running_mean": self.mean,
            "1.running_var": self.variance,
            "graph": self.graph,
        }

    def run(self, steps):
        """Its losses, and a number that is drawn beside the graph."""
        drawn = self.context.dropout(self.x, 0.5).read()
        return [self.graph.run().read() for _ in range(steps)], drawn


def test_a_training_goes_on(tmp_path):
    path = tmp_path / "training"
    first, second = Training("cpu", 3), Training("cpu", 3)
    first.run(5)
    first.state.save(path)
    wanted, drawn = first.run(5)
    second.state.load(path)
    assert second.graph.runs == 5
    losses, other = second.run(5)
    assert losses == wanted and (drawn == other).all()
    for name, tensor in first.members().items():
        if name != "graph":
            assert (tensor.read() == second.members()[name].read()).all()


def test_another_seed_is_refused(tmp_path):
    path = tmp_path / "training"
    first, second = Training("cpu", 3), Training("cpu", 4)
    first.run(2)
    first.state.save(path)
    before = second.w[0].read()
    with pytest.raises(convoy.ArgumentError, match='"graph" had the seed 3.*captured with 4'):
        second.state.load(path)
    assert (second.w[0].read() == before).all() and second.graph.runs == 0


def test_a_training_goes_on_elsewhere(opencl_device, tmp_path):
    path = tmp_path / "training"
    first, second = Training(opencl_device, 3), Training("cpu", 3)
    first.run(3)
    first.state.save(path)
    second.state.load(path)
    for name, tensor in first.members().items():
        if name != "graph":
            assert (tensor.read() == second.members()[name].read()).all()


def test_weights_of_pytorch(context, tmp_path):
    torch = pytest.importorskip("torch")
    layer = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    arrays = {name: value.numpy() for name, value in layer.state_dict().items()}
    path = tmp_path / "weights"
    write_file(path, arrays)
    w = {name: context.tensor(array.shape) for name, array in arrays.items() if array.ndim}
    state = convoy.State(context, {**w, "1.num_batches_tracked": -1})
    state.load(path)
    for name, tensor in w.items():
        assert (tensor.read() == arrays[name]).all()
    assert state["1.num_batches_tracked"] == 0
    state.save(path)
    layer.load_state_dict({n: torch.tensor(each) for n, each in read_file(path).items()})
