"""Training steps and single layers on a card: PyTorch with its own convolutions, and with Convoy's
in their place, in turns in one process; with --route graph, with whole networks captured. float32,
TF32 off, cuDNN's or MIOpen's benchmark mode on.

    PYTHONPATH=bindings/python python3 bench/compare_cuda_step.py [--graph NET:BATCH,...]
        [--eager NET:BATCH,...] [--layers TABLE,...] [--route convoy|graph] [--seconds 300]

Each step is recorded once as a CUDA graph for each of the two, and the graphs are replayed in
turns; eager steps are timed in turns too. A layer is one of three calls of a table's line
(bench/shapes), recorded often enough for a graph to take 2 ms. Prints one line for each as soon as
it is there: milliseconds of PyTorch, of Convoy, and their ratio; what fails is a line, too.
"""

import argparse
import csv
import gc
import statistics
import sys
import time
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F

import convoy.torch

import step_nets
from sessions import current, use

SHAPES = Path(__file__).with_name("shapes")
GRAPHS = "yolov8n:4,yolov8n:16,yolov8n:32,resnet50:32,mobilenet_v2:32,eegnet:32"
EAGER = "yolov8n:4,yolov8n:16,yolov8n:32,eegnet:32"
LAYERS = "eeg,mobilenetv2_dw_b8,yolov8n_b4,resnet50_b8"
WARM_UP = 4


def milliseconds(call):
    """Of one call, the host's part included, and that the card is done."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3


def in_turns(calls, rounds):
    """Medians of each of the calls."""
    times = [[] for _ in calls]
    for number in range(rounds + 1):
        for call, each in zip(calls, times):
            took = milliseconds(call)
            if number:
                each.append(took)
    return [statistics.median(each) for each in times]


def recorded(step):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def through_convoy(before):
    """How many of the convolutions since then did not go through Convoy, and why."""
    new = {key: n - before.get(key, 0) for key, n in convoy.torch.counts().items()}
    left = {key[2]: n for key, n in new.items() if key[0] == "pytorch" and n}
    return f"not Convoy's: {left}" if left else "all Convoy's"


def report(name, theirs, ours, more=""):
    print(f"{name:32} PyTorch {theirs:8.3f} ms   Convoy {ours:8.3f} ms   ratio {theirs / ours:.3f}"
          f"   {more}", flush=True)


def compare_graphs(name, session):
    """A step by replay. The first step with Convoy compiles, proves and, as the route says,
    measures."""
    _, _, step = step_nets.make(name)
    use(None)
    theirs = recorded(step)
    use(session)
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    before = convoy.torch.counts()
    ours = recorded(step)
    more = through_convoy(before) if session.settings.route != "graph" else ""
    times = in_turns([theirs.replay, ours.replay], 15)
    report(f"graph {name}", *times, f"first step {first:.1f} s, {more}")
    del theirs, ours, step


def compare_eager(name, session):
    _, _, step = step_nets.make(name)

    def by(session):
        def steps():
            use(session)
            step()

        return steps

    calls = [by(None), by(session)]
    for call in calls:
        for _ in range(WARM_UP):
            call()
    before = convoy.torch.counts()
    times = in_turns(calls, 15)
    report(f"eager {name}", *times, through_convoy(before))


# -------------------------------------------------------------------------------- layers


def layer_calls(row):
    """pass -> call."""
    size = {key: int(value) for key, value in row.items() if key != "name"}
    stride, padding, dilation = (
        [size[f"{name}_h"], size[f"{name}_w"]] for name in ("stride", "pad", "dil")
    )
    groups = size["groups"]
    x = torch.randn(size["N"], size["C"], size["H"], size["W"], device="cuda")
    w = torch.randn(size["K"], size["C"] // groups, size["R"], size["S"], device="cuda")
    dy = torch.randn_like(F.conv2d(x, w, None, stride, padding, dilation, groups))
    rest = None, stride, padding, dilation, False, [0, 0], groups

    def gradient(mask):
        return lambda: torch.ops.aten.convolution_backward(dy, x, w, *rest, mask)

    return {
        "forward": lambda: F.conv2d(x, w, None, stride, padding, dilation, groups),
        "backward_data": gradient([True, False, False]),
        "backward_weights": gradient([False, True, False]),
    }


def repeated(call):
    """A graph of about 2 ms, and how many calls it has."""
    for _ in range(3):
        call()
    times = max(1, min(200, int(2 / max(min(milliseconds(call) for _ in range(3)), 1e-3)) + 1))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    return graph, times


def compare_layer(call, session):
    use(None)
    theirs, a = repeated(call)
    use(session)
    before = convoy.torch.counts()
    ours, b = repeated(call)
    slow, fast = in_turns([theirs.replay, ours.replay], 7)
    return slow / a, fast / b, through_convoy(before)


def compare_table(name, session, until):
    sums, low = [0.0, 0.0], []
    for row in csv.DictReader((SHAPES / f"{name}.csv").open()):
        use(None)
        for kind, call in layer_calls(row).items():
            if time.perf_counter() > until:
                print(f"layers {name}: out of time", flush=True)
                return
            theirs, ours, more = compare_layer(call, session)
            sums[0] += theirs * int(row["count"])
            sums[1] += ours * int(row["count"])
            if theirs / ours < 0.85 or "all" not in more:
                low.append(f"    {row['name']} {kind}: {theirs:.4f}, {ours:.4f}, "
                           f"{theirs / ours:.2f} {more}")
        torch.cuda.empty_cache()
    report(f"layers {name}", *sums, f"{len(low)} below 0.85")
    print("\n".join(low), end="\n" if low else "", flush=True)


def names(text):
    return [name for name in text.split(",") if name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph", type=names, default=names(GRAPHS))
    parser.add_argument("--eager", type=names, default=names(EAGER))
    parser.add_argument("--layers", type=names, default=names(LAYERS))
    parser.add_argument("--route", default="convoy", choices=convoy.torch.ROUTES)
    parser.add_argument("--seconds", type=float, default=300, help="nothing is begun later")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    convoy.torch.enable(route=options.route)
    session = current()
    until = time.perf_counter() + options.seconds
    work = [(compare_graphs, name) for name in options.graph]
    work += [(compare_eager, name) for name in options.eager]
    work += [(lambda name, at: compare_table(name, at, until), name) for name in options.layers]
    failed = 0
    for compare, name in work:
        if time.perf_counter() > until:
            print(f"{name}: out of time", flush=True)
            continue
        try:
            compare(name, session)
        except Exception:
            failed += 1
            print(f"{name} FAILED", flush=True)
            traceback.print_exc(limit=-4, file=sys.stdout)
        use(session)
        gc.collect()
        torch.cuda.empty_cache()
    print(convoy.torch.report())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
