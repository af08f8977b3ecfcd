"""Whole training steps on the processor: PyTorch's, eager or compiled, and Convoy's captured ones
as `convoy bench --net` times them, in turns. float32, both sides' steps end with SGD and its
momentum.

    .venv/bin/python bench/compare_cpu_steps.py --tool build/release/convoy [--compile]
        [--rounds 3] [--threads 2] [--isa avx2] [NET:BATCH...]

PyTorch has a process of its own that waits for its turn: two teams of threads in one process, or
one of them spinning, disturb each other. Prints one line for each network: medians of the rounds'
medians in milliseconds, and the median, least and largest of the rounds' ratios.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_lines

ROOT = Path(__file__).resolve().parents[1]
NETS = ["yolov8n:4", "resnet50:8", "eegnet:32"]
STEPS = 3  # of a turn
# What Convoy, oneDNN, PyTorch's own kernels and OpenBLAS are restricted by. A process that is not
# crashes with what inductor kept of one that was.
AVX2 = {"CONVOY_CPU_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell",
        "TORCHINDUCTOR_CACHE_DIR": str(Path(tempfile.gettempdir()) / "torchinductor_avx2")}


def answer_turns(net, compiled):
    """PyTorch's process: a line with seconds of a step for each line that comes. What packages
    print while they are imported goes elsewhere."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.path.append(str(ROOT / "bindings/python/tests"))
    import torch
    import torchvision_ops  # noqa: F401  where torchvision's operators do not fit PyTorch

    import step_nets

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    change = torch.compile if compiled else None
    step = step_nets.make(net, device="cpu", updates=True, change=change)[2]
    for _ in range(3):
        step()
    print("ready", file=answers)
    for _ in sys.stdin:
        seconds = []
        for _ in range(STEPS):
            begin = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - begin)
        print(statistics.median(seconds), file=answers)


class Theirs:
    """PyTorch's process, seen from here."""

    def __init__(self, net, options):
        command = [sys.executable, __file__, "--answer", net]
        command += ["--compile"] * options.compile
        environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads),
                       "OMP_WAIT_POLICY": "passive"}
        self.process = subprocess.Popen(command, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._next("ready")

    def _next(self, what):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"PyTorch's process ended with {self.process.wait()} before it said {what}")
        return line

    def time(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return 1e3 * float(self._next("how long a step takes"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare(net, options):
    theirs = Theirs(net, options)
    pairs = []
    for _ in range(options.rounds):
        other = theirs.time()
        line = bench_lines.of_step(options.tool, "cpu", net)
        pairs.append((other, line["median_ms"]))
    theirs.end()
    other, own = (statistics.median(side) for side in zip(*pairs))
    ratios = sorted(a / b for a, b in pairs)
    print(f"{net:12} PyTorch {other:9.2f} ms   Convoy {own:9.2f} ms   "
          f"ratio {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", metavar="NET:BATCH")
    parser.add_argument("--tool", default="build/release/convoy")
    parser.add_argument("--compile", action="store_true", help="PyTorch's steps by torch.compile")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--isa", choices=("avx2",), help="restrict both sides' processors")
    parser.add_argument("--answer", metavar="NET:BATCH", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer_turns(options.answer, options.compile)
        return
    os.environ["CONVOY_THREADS"] = str(options.threads)
    if options.isa:
        os.environ.update(AVX2)
    for net in options.nets or NETS:
        compare(net, options)


if __name__ == "__main__":
    main()
