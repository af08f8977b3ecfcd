"""Whether convoy.torch works on this machine's first card at all: many small checks, each with a
line that says ok, or what went wrong. A minute or two, most of it compiling; the first ones tell
most.

    PYTHONPATH=bindings/python python3 bench/cards_smoke.py [NAME...]

With names, only the checks in whose name one of them occurs. Exit status 1 if one failed.
"""

import contextlib
import faulthandler
import signal
import sys
import threading
import time
import traceback

import torch
import torch.nn.functional as F

import convoy
import convoy.torch
from convoy.torch import _card, _cards, _kernels, _switch

SECONDS = 60  # that one check may take
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def exact():
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


def close(got, wanted, what=""):
    scale = float(wanted.abs().max())
    error = float((got - wanted).abs().max()) / scale
    assert error < 2e-5, f"{what}: differs by {error:.2g} of the largest value"


def operands(n=2, c=16, k=24, h=20, groups=1, r=3):
    generator = torch.Generator().manual_seed(3)
    shapes = (n, c, h, h), (k, c // groups, r, r), (k,)
    return [torch.randn(shape, generator=generator).cuda() for shape in shapes]


@contextlib.contextmanager
def plainly():
    """PyTorch's own, while Convoy stays open."""
    session = _switch._current
    _kernels.use(None)
    try:
        yield
    finally:
        _kernels.use(session)


def gradients(function, *tensors):
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    y = function(*leaves)
    y.backward(torch.ones_like(y))
    return [y.detach(), *(leaf.grad for leaf in leaves)]


def compare(function, *tensors):
    with plainly():
        wanted = gradients(function, *tensors)
    for time_ in range(2):
        for i, (a, b) in enumerate(zip(gradients(function, *tensors), wanted)):
            close(a, b, f"result {i}, time {time_}")
            assert a.stride() == b.stride(), f"result {i}: strides {a.stride()}, not {b.stride()}"


def here():
    return _kernels.platform.device(0)


def counted():
    return {key: n for key, n in convoy.torch.counts().items()}


# ------------------------------------------------------------------------------ the checks


@check
def what_is_there():
    print("   ", torch.__version__, torch.version.cuda or torch.version.hip, "cudnn",
          torch.backends.cudnn.version(), torch.cuda.get_device_name(0))
    found, why = convoy.list_devices(isolation="caller")
    print("   ", [f"{d.id} {d.name} ({d.driver})" for d in found], why or "")
    assert any(d.id == here() for d in found)


@check
def open_and_close():
    before = torch.cuda.mem_get_info()[0]
    with convoy.Context(here(), isolation="caller", require_device=True) as context:
        print("   ", context.description)
        print(f"    takes {(before - torch.cuda.mem_get_info()[0]) >> 20} MiB of the card")
        assert torch.cuda.current_device() == 0
        assert float((torch.ones(3, device="cuda") + 1).sum()) == 6


@check
def turn_on():
    exact()
    convoy.torch.enable(route="convoy")
    x, w, bias = operands()
    compare(lambda x, w, b: F.conv2d(x, w, b, padding=1), x, w, bias)
    print("   ", convoy.torch.report().replace("\n", "\n    "))
    assert {where for where, _, _ in counted()} == {here()}, counted()


@check
def same_bits():
    x, w, bias = operands(n=8, h=33)
    first = gradients(lambda x, w: F.conv2d(x, w, padding=1), x, w)
    for _ in range(5):
        for a, b in zip(gradients(lambda x, w: F.conv2d(x, w, padding=1), x, w), first):
            assert torch.equal(a, b)


@check
def nothing_waits():
    x, w, bias = operands()
    gradients(lambda x, w: F.conv2d(x, w, padding=1), x, w)
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)
    begin = time.perf_counter()
    for _ in range(20):
        gradients(lambda x, w: F.conv2d(x, w, padding=1), x, w)
    took = time.perf_counter() - begin
    torch.cuda.synchronize()
    done = time.perf_counter() - begin
    print(f"    20 steps enqueued in {took * 1e3:.1f} ms, done after {done:.2f} s")
    assert took < 0.3


@check
def cost_of_a_call():
    x, w, bias = operands(h=8)
    leaf = w.detach().requires_grad_()
    xs = x.detach().requires_grad_()
    y = F.conv2d(xs, leaf, padding=1)
    dy = torch.ones_like(y)
    arguments = [24], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]

    def forward():
        F.conv2d(x, w, padding=1)

    def backward():
        torch.ops.aten.convolution_backward(dy, x, w, *arguments)

    def cost(call):
        for _ in range(50):
            call()
        best = 1.0
        for _ in range(5):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(100):
                call()
            best = min(best, (time.perf_counter() - begin) / 100)
            torch.cuda.synchronize()
        return best * 1e6

    ours = cost(forward), cost(backward)
    with plainly():
        theirs = cost(forward), cost(backward)
    print("    host, us: forward %.1f, backward %.1f; PyTorch's own %.1f, %.1f" % (*ours, *theirs))


@check
def a_stream_of_its_own():
    x, w, bias = operands(h=24)
    with plainly():
        wanted = F.conv2d(x, w, padding=1)
    stream = torch.cuda.Stream()
    for _ in range(3):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = F.conv2d(x, w, padding=1)
        torch.cuda.current_stream().wait_stream(stream)
        z = F.conv2d(x, w, padding=1)
        close(y, wanted)
        assert torch.equal(y, z)


@check
def another_thread():
    x, w, bias = operands(h=28)
    wanted = F.conv2d(x, w, padding=1)
    found = []
    thread = threading.Thread(target=lambda: found.append(F.conv2d(x, w, padding=1)))
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert torch.equal(found[0], wanted)


def recorded(call):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return graph, result


@check
def a_graph():
    x, w, bias = operands(n=4, h=30)
    function = lambda x, w, b: F.conv2d(x, w, b, padding=1)
    before = counted()
    graph, results = recorded(lambda: gradients(function, x, w, bias))
    other = operands(n=4, h=30)[0].flip(0)
    x.copy_(other)
    graph.replay()
    torch.cuda.synchronize()
    got = [r.clone() for r in results]
    with plainly():
        wanted = gradients(function, x, w, bias)
    for a, b in zip(got, wanted):
        close(a, b, "replayed")
    new = {key: n - before.get(key, 0) for key, n in counted().items() if n != before.get(key, 0)}
    assert {where for where, _, _ in new} == {here()}, new
    for _ in range(50):
        graph.replay()
    torch.cuda.synchronize()
    for a, b in zip(results, got):
        assert torch.equal(a, b)


@check
def a_graph_of_something_new():
    x, w, bias = operands(n=3, h=31)
    F.conv2d(x[:1], w)  # cuDNN's handles
    with plainly():
        wanted = F.conv2d(x, w, padding=2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = F.conv2d(x, w, padding=2)
    graph.replay()
    torch.cuda.synchronize()
    close(y, wanted)
    assert counted()["pytorch", "forward", _card.RECORDED] == 1
    close(F.conv2d(x, w, padding=2), wanted)


@check
def memory_is_flat():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, 1, 1),
        torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, 2, 1)).cuda()
    x = torch.randn(8, 3, 64, 64, device="cuda")

    def steps(n):
        for _ in range(n):
            model.zero_grad()
            model(x).square().mean().backward()
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        return (stats["allocated_bytes.all.current"], stats["reserved_bytes.all.current"],
                torch.cuda.mem_get_info()[0])

    first, last = steps(20), steps(200)
    print("    allocated, reserved, free:", first, last)
    assert first == last


@check
def what_pytorch_computes():
    x, w, bias = operands()
    torch.backends.cudnn.allow_tf32 = True
    F.conv2d(x, w)
    exact()
    with torch.autocast("cuda", torch.float16):
        assert F.conv2d(x, w).dtype == torch.float16
    F.conv2d(x.double(), w.double())
    counts = counted()
    assert counts["pytorch", "forward", _cards.TF32] == 1, counts
    assert counts["pytorch", "forward", "not float32"] == 2, counts


@check
def turn_off_while_a_graph_lives():
    x, w, bias = operands(n=4, h=26)
    graph, y = recorded(lambda: F.conv2d(x, w, padding=1))
    graph.replay()
    torch.cuda.synchronize()
    before = y.clone()
    convoy.torch.disable()
    y.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, before)
    exact()
    convoy.torch.enable(route="convoy")


@check
def kinds_of_convolutions():
    x, w, bias = operands(h=12)
    compare(lambda x, w: F.conv2d(x, w, stride=2, padding=1), x, w)
    compare(lambda x, w: F.conv2d(x, w, dilation=2), x, w)
    compare(lambda x, w: F.conv2d(x, w), x, w[:, :, :1, :1].contiguous())
    xd, wd, _ = operands(c=24, k=24, groups=24)
    compare(lambda x, w: F.conv2d(x, w, padding=1, groups=24), xd, wd)
    compare(lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=1),
            x, w.transpose(0, 1).contiguous())
    compare(lambda x, w: F.conv1d(x, w, padding=2), x[:, :, 0], w[:, :, 0])
    deep = w.unsqueeze(2).expand(-1, -1, 3, -1, -1).contiguous()
    compare(lambda x, w: F.conv3d(x, w, padding=1), x.unsqueeze(2), deep)


@check
def layouts_and_views():
    x, w, bias = operands(n=3)
    compare(lambda x, w: F.conv2d(x, w, padding=1), x.to(memory_format=torch.channels_last), w)
    flat = torch.zeros(w.numel() + 1, device="cuda")
    flat[1:] = w.flatten()
    compare(lambda x, w: F.conv2d(x, w, padding=1), x[1:], flat[1:].view_as(w))
    compare(lambda x, w: F.conv2d(x, w, padding=1), x.transpose(2, 3), w)


@check
def the_faster_way():
    torch.backends.cudnn.benchmark = True
    with convoy.torch.enabled(route="measured"):
        x, w, bias = operands(n=16, c=64, k=64, h=56)
        for _ in range(4):
            gradients(lambda x, w: F.conv2d(x, w, padding=1), x, w)
        print("   ", convoy.torch.report().replace("\n", "\n    "))
        for opened in _switch._current.cards._opened.values():
            print("   ", opened.routes._kept._ways)
    torch.backends.cudnn.benchmark = False


@check
def compiled():
    exact()
    convoy.torch.enable(route="convoy")
    model = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU()).cuda()
    x = torch.randn(2, 8, 16, 16, device="cuda")
    with plainly():
        wanted = model(x)
    before = counted().get((here(), "forward", ""), 0)
    fast = torch.compile(model)
    close(fast(x), wanted)
    fast(x).sum().backward()
    assert counted()[here(), "forward", ""] > before, "inductor went around it"


@check
def compiled_with_graphs():
    model = torch.nn.Sequential(torch.nn.Conv2d(8, 12, 3, padding=1), torch.nn.ReLU()).cuda()
    x = torch.randn(2, 8, 16, 16, device="cuda")
    with plainly():
        wanted = model(x)
    fast = torch.compile(model, mode="reduce-overhead")
    for _ in range(4):
        close(fast(x).clone(), wanted)


@check
def the_end():
    print("   ", convoy.torch.report().replace("\n", "\n    "))
    convoy.torch.disable()
    assert float(torch.ones(4, device="cuda").sum()) == 4


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong(f"more than {SECONDS} s")


def main():
    faulthandler.enable()
    wanted, failed, start = sys.argv[1:], [], time.perf_counter()
    signal.signal(signal.SIGALRM, too_long)
    for function in CHECKS:
        name = function.__name__
        if wanted and name != "turn_on" and not any(word in name for word in wanted):
            continue
        begin = time.perf_counter()
        signal.alarm(SECONDS)
        try:
            function()
            torch.cuda.synchronize()
            said = "ok    "
        except BaseException:
            said = "FAILED"
            failed.append(name)
            traceback.print_exc(limit=-6, file=sys.stdout)
        signal.alarm(0)
        print(f"{said} {time.perf_counter() - begin:6.2f} s  {name}", flush=True)
    print(f"{len(failed)} failed of {len(CHECKS)} in {time.perf_counter() - start:.0f} s: "
          f"{' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
