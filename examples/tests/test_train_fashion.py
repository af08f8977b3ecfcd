"""test_train_fashion.py PROGRAM TEST...: how train_fashion begins, stops and goes on.

Uses nothing but Python's standard library. The images are made here: each class is a bright square
in a place of its own, under noise. Exit status 77: every test was skipped.
"""

import gzip
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = ""
SIDE = 28
TRAINING, TESTING = 1024, 256
BATCH = 16
PER_EPOCH = TRAINING // BATCH


def draw(source, label):
    """One image: noise, and a square whose place tells the class."""
    pixels = bytearray(source.randrange(120) for _ in range(SIDE * SIDE))
    top, left = 2 + label // 2 * 5, 10 if label % 2 else 2
    for row in range(top, top + 5):
        pixels[row * SIDE + left : row * SIDE + left + 6] = bytes([230]) * 6
    return bytes(pixels)


def write_set(folder, name, count, seed):
    source = random.Random(seed)
    labels = bytes(source.randrange(10) for _ in range(count))
    images = b"".join(draw(source, label) for label in labels)
    files = {
        f"{name}-images-idx3-ubyte.gz": struct.pack(">4i", 0x803, count, SIDE, SIDE) + images,
        f"{name}-labels-idx1-ubyte.gz": struct.pack(">2i", 0x801, count) + labels,
    }
    for file, content in files.items():
        (folder / file).write_bytes(gzip.compress(content, 1))


def wait_for(file, running):
    """Until the file is there, the program has ended, or two minutes are over."""
    deadline = time.monotonic() + 120
    while not file.exists() and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def children(parent):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it has ended since
        if int(ppid) == parent and state != "Z":
            found.append(int(stat.parent.name))
    return found


class TrainFashion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        os.environ["CONVOY_STATE_DIR"] = str(cls.folder / "state")  # faults here are nobody else's
        write_set(cls.folder, "train", TRAINING, 1)
        write_set(cls.folder, "t10k", TESTING, 2)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def command(self, *arguments):
        fixed = ["--data", self.folder, "--batch", BATCH, "--epochs", 4, "--seed", 3]
        return [str(part) for part in [PROGRAM, *fixed, *arguments]]

    def run_program(self, *arguments, device="cpu", status=0):
        done = subprocess.run(
            self.command("--device", device, *arguments),
            capture_output=True,
            text=True,
            timeout=280,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def checkpoint(self, name):
        return self.folder / f"{self.id()}.{name}"

    def unbroken(self, steps):
        """The checkpoint of a run that was never interrupted."""
        file = self.checkpoint("unbroken")
        self.run_program("--steps", steps, "--checkpoint", file)
        return file.read_bytes()

    def test_steps(self):
        """Stopped and resumed in mid-epoch, twice and over an epoch's end: the same bits."""
        expected = self.unbroken(150)
        file = self.checkpoint("broken")
        for steps in 40, PER_EPOCH + 5, 150:
            self.run_program("--steps", steps, "--checkpoint", file, "--resume")
        self.assertEqual(file.read_bytes(), expected)

    def test_signal(self):
        """SIGTERM leaves a checkpoint, and going on from it gives the bits of the unbroken run."""
        file = self.checkpoint("stopped")
        arguments = "--device", "cpu", "--checkpoint", file, "--checkpoint-seconds", 0.001
        running = subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, text=True)
        wait_for(file, running)
        running.send_signal(signal.SIGTERM)
        output = running.communicate(timeout=120)[0]
        self.assertEqual(running.returncode, 128 + signal.SIGTERM, output)
        step = int(re.search(r"after step (\d+); checkpoint", output).group(1))
        self.assertTrue(0 < step < 4 * PER_EPOCH, output)
        self.run_program("--steps", step + 30, "--checkpoint", file, "--resume")
        self.assertEqual(file.read_bytes(), self.unbroken(step + 30))

    def test_refusals(self):
        """A damaged, cut or foreign checkpoint is refused with a reason, and so is another plan."""
        file = self.checkpoint("good")
        self.run_program("--steps", 3, "--checkpoint", file)
        good = file.read_bytes()
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 1
        cases = {
            "is damaged": bytes(flipped),
            "lies from": good[:-5],
            "the file has": good + b"x",
            "no state, or cut off": b"x" * len(good),
            "lacks \"plan\"": good.replace(b'"plan"', b'"Plan"'),
            "lacks \"conv.weight\"": good.replace(b'"conv.weight"', b'"Conv.weight"'),
            "too few": b"",
        }
        for reason, content in cases.items():
            with self.subTest(reason):
                file.write_bytes(content)
                output = self.run_program("--resume", "--checkpoint", file, status=1)
                self.assertIn(reason, output)
                self.assertEqual(file.read_bytes(), content)
        file.write_bytes(good)
        output = self.run_program("--resume", "--checkpoint", file, "--seed", 4, status=2)
        self.assertIn("--seed 3", output)

    def test_rest(self):
        """An epoch ends with a smaller batch of what is left, and a training may stop before it."""
        batch = "--batch", 24  # 1024 = 42 * 24 + 16
        file = self.checkpoint("broken")
        output = self.run_program(*batch, "--epochs", 1)
        self.assertRegex(output, r"epoch 1 step 43: loss [0-9.]+, test accuracy")
        self.run_program(*batch, "--steps", 44, "--checkpoint", self.checkpoint("unbroken"))
        for steps in 42, 43, 44:
            self.run_program(*batch, "--steps", steps, "--checkpoint", file, "--resume")
        self.assertEqual(file.read_bytes(), self.checkpoint("unbroken").read_bytes())

    def losses(self, device):
        """Means of runs, each from where the last one ended; step 5 is the smaller batch."""
        file = self.checkpoint(device.replace(":", ""))
        few = "--images", 100, "--batch", 24, "--checkpoint", file, "--resume"
        found = []
        for steps in 3, 5, 7, 10, 14:
            output = self.run_program(*few, "--steps", steps, device=device)
            self.assertIn(f"device={device}", output)
            found.append(float(re.search(r"loss ([0-9.]+), test", output).group(1)))
        return found

    def test_losses(self):
        """A device that trains by itself has the losses of the CPU, to a ten-thousandth."""
        self.need_opencl()
        expected = self.losses("cpu")
        self.assertLess(expected[-1], expected[0])
        for loss, other in zip(expected, self.losses("ocl:0"), strict=True):
            self.assertAlmostEqual(loss, other, delta=1e-4 * loss)

    def test_devices(self):
        """Every device found computes the CPU's gradients; the program says so itself."""
        output = self.run_program("--compare-devices", "--steps", 3)
        self.assertRegex(output, r"(?m)^cpu +\d+ +0 ")
        self.assertNotIn("WRONG", output)

    def need_opencl(self):
        output = self.run_program("--compare-devices", "--steps", 2)
        if not re.search(r"(?m)^ocl:0 ", output):
            self.skipTest("no OpenCL device: " + output.strip().splitlines()[0])

    def test_opencl(self):
        """A run begun on the CPU goes on on an OpenCL device, which is the one that computes."""
        self.need_opencl()
        file = self.checkpoint("moved")
        self.run_program("--steps", 60, "--checkpoint", file)
        output = self.run_program(
            "--steps", 70, "--checkpoint", file, "--resume", device="ocl:0", status=0
        )
        self.assertIn("resumed at epoch 1, step 60", output)
        self.assertIn("device=ocl:0", output)
        self.run_program("--steps", 80, "--checkpoint", file, "--resume")

    def test_killed(self):
        """The training outlives the process that holds the OpenCL driver, and says so."""
        self.need_opencl()
        file = self.checkpoint("killed")
        arguments = "--device", "ocl:0", "--checkpoint", file, "--checkpoint-seconds", 0.001
        running = subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_for(file, running)
        workers = children(running.pid)
        self.assertEqual(len(workers), 1)
        os.kill(workers[0], signal.SIGKILL)
        output = "".join(running.communicate(timeout=240))
        self.assertEqual(running.returncode, 0, output)
        self.assertRegex(output, r"device faults: [1-9]\d*; .* because of them: [1-9]")


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv[1])
    names = [f"{__name__}.TrainFashion.{name}" for name in sys.argv[2:]]
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromNames(names)
    )
    if not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
