"""Ultralytics' models trained by an unchanged script, plainly and with their networks as graphs:
how far the losses of the first steps are apart, and what was captured.

    PYTHONPATH=bindings/python python3 bench/ultralytics_losses.py [--device cpu] [--size 160]
        [--steps 20] [MODEL...]

MODEL is a yaml of Ultralytics', such as yolo11n-seg.yaml; without any, five of them. Prints a line
for each, and ends with status 1 if a loss of the first ten steps is off by more than one in a
thousand.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "bindings/python/tests"
sys.path.append(str(TESTS))
MODELS = [
    "yolov8n.yaml",
    "yolo11n.yaml",
    "yolov8n-seg.yaml",
    "yolov8n-cls.yaml",
    "yolov8n-pose.yaml",
]
TASKS = {"seg": "segment", "cls": "classify", "pose": "pose", "obb": "obb"}
COMPARED = 10


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    return parser.parse_args()


def train(folder, model, options, runner):
    """Losses, and what was written to stderr."""
    losses = folder / "losses.txt"
    script = [TESTS / "ultralytics_train.py", folder, options.size, losses, options.steps]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "bindings/python"),
        "YOLO_CONFIG_DIR": str(folder),
        "YOLO_OFFLINE": "true",
        "YOLO_AUTOINSTALL": "false",
        "CONVOY_ROUTE": "graph",
        "MODEL": model,
    }
    command = [sys.executable, *map(str, [*runner, *script])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-4000:])
    return [float(line) for line in losses.read_text().split()], done.stderr


def compare(model, options):
    import ultralytics_set

    task = TASKS.get(Path(model).stem.rpartition("-")[2], "detect")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ultralytics_set.make(folder, options.size, task)
        plain, _ = train(folder, model, options, [])
        runner = ["-m", "convoy", "run", "--device", options.device, "--report"]
        graphs, told = train(folder, model, options, runner)
    far = max(abs(a - b) / abs(b) for a, b in zip(graphs[:COMPARED], plain))
    report = [line.strip() for line in told.splitlines()]
    captured = next((line for line in report if "calls of networks" in line), "nothing captured")
    print(f"{model:20} losses {plain[0]:.4g} to {plain[-1]:.4g}, off by {far:.1e}; {captured}")
    return far <= 1e-3


def main():
    options = parse()
    good = [compare(model, options) for model in options.models]
    sys.exit(0 if all(good) else 1)


main()
