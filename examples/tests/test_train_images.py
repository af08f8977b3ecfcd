"""test_train_images.py PROGRAM MAKE_JPEG TEST...: train_images learns a folder that is made here.

Uses nothing but Python's standard library. Three classes of stripes, whose direction tells them
apart, in PNG files of several kinds and, where MAKE_JPEG is there, in JPEG files.
"""

import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

PROGRAM = MAKE_JPEG = ""
CLASSES = "across", "diagonal", "upright"
IMAGES = 20  # of a class


def stripes(source, label, width, height):
    """Rows of (red, green, blue)."""
    bright = [source.randrange(150, 256) for _ in range(3)]
    dark = [source.randrange(0, 100) for _ in range(3)]
    along = {"across": (0, 1), "upright": (1, 0), "diagonal": (1, 1)}[label]
    period, phase = width // 4, source.randrange(8)
    rows = []
    for y in range(height):
        places = (along[0] * x + along[1] * y + phase for x in range(width))
        rows.append([tuple(bright if each // (period // 2) % 2 else dark) for each in places])
    return rows


def png(rows, kind):
    """8-bit PNG of colour type 2 (colours), 6 (with alpha) or 0 (grey)."""
    def chunk(name, content):
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    def pixel(colour):
        return {0: colour[:1], 2: colour, 6: (*colour, 255)}[kind]

    lines = b"".join(b"\0" + bytes(sum((pixel(each) for each in row), ())) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, kind, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)


def jpeg(rows):
    raw = b"".join(bytes(sum(row, ())) for row in rows)
    command = [MAKE_JPEG, str(len(rows[0])), str(len(rows))]
    return subprocess.run(command, input=raw, stdout=subprocess.PIPE, check=True).stdout


def write_folder(folder):
    source = random.Random(1)
    for label in CLASSES:
        (folder / label).mkdir()
        for i in range(IMAGES):
            width, height = source.randrange(24, 70), source.randrange(24, 70)
            rows = stripes(source, label, width, height)
            if MAKE_JPEG and i % 2:
                (folder / label / f"{i:02}.jpg").write_bytes(jpeg(rows))
            else:
                (folder / label / f"{i:02}.png").write_bytes(png(rows, (2, 6, 0)[i % 3]))
    (folder / "across" / "notes.txt").write_text("no image")
    (folder / "across" / ".hidden").write_bytes(b"\xff\xd8\xff")
    (folder / "list.csv").write_text("no class")


class TrainImages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        cls.data = cls.folder / "data"
        cls.data.mkdir()
        write_folder(cls.data)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_program(self, *arguments, data=None, status=0):
        fixed = ["--data", data or self.data, "--size", 32, "--width", 8, "--batch", 10]
        command = [PROGRAM, "--device", "cpu", *fixed, *arguments]
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=280
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def accuracy(self, output):
        return float(re.search(r"result: accuracy=([0-9.]+)", output).group(1))

    def test_learns(self):
        """Nearly all tests are answered rightly, also by a network that begins with these weights.
        All would be too much to ask: instruction sets differ in the last bits, and so do paths."""
        file = self.folder / "learnt"
        output = self.run_program("--epochs", 16, "--rate", 0.02, "--checkpoint", file)
        self.assertIn("48 images to train with, 12 for tests, 3 classes", output)
        self.assertGreater(self.accuracy(output), 0.8)
        again = "--epochs", 1, "--rate", 0.001, "--weights", file
        self.assertGreater(self.accuracy(self.run_program(*again)), 0.8)
        output = self.run_program(*again, "--width", 4, status=1)
        self.assertRegex(output, r'weights: .*"conv1.weight" is F32 \[8\].*there and F32 \[4\]')

    def test_goes_on(self):
        """Stopped and resumed, without room to keep images: the same bits."""
        unbroken, broken = self.folder / "unbroken", self.folder / "broken"
        self.run_program("--steps", 8, "--checkpoint", unbroken)
        for steps in 2, 5, 8:
            more = "--checkpoint", broken, "--resume", "--memory", 0
            self.run_program("--steps", steps, *more)
        self.assertEqual(unbroken.read_bytes(), broken.read_bytes())
        output = self.run_program("--checkpoint", broken, "--resume", "--split", 4, status=2)
        self.assertIn("the checkpoint was made with --split 5", output)

    def test_damaged(self):
        """A file that cannot be decoded is named, and the training goes on."""
        data = self.folder / "damaged"
        for label in CLASSES:
            (data / label).mkdir(parents=True)
            for file in sorted((self.data / label).glob("*.???"))[:6]:
                (data / label / file.name).write_bytes(file.read_bytes())
        for name in "across/00.png", "upright/01.jpg" if MAKE_JPEG else "upright/02.png":
            whole = (data / name).read_bytes()
            (data / name).write_bytes(whole[: len(whole) * 2 // 3])
        output = self.run_program("--epochs", 1, data=data)
        self.assertRegex(output, r"across/00\.png: \w+")
        self.assertRegex(output, r"upright/0\d\.\w+: \w+")
        self.assertIn("result: accuracy=", output)

    def test_refusals(self):
        """What is no folder of classes is said so, and so are wrong numbers."""
        empty = self.folder / "empty"
        (empty / "one").mkdir(parents=True)
        self.assertIn("has 1 classes", self.run_program(data=empty, status=1))
        output = self.run_program(data=self.folder / "none", status=1)
        self.assertRegex(output, "none cannot be read: No such file")
        self.assertIn("--split must", self.run_program("--split", 1, status=2))
        self.assertIn("--size must", self.run_program("--size", 0, status=2))
        self.assertIn("a number >= 0 is needed", self.run_program("--rate", "x", status=2))


def main():
    global PROGRAM, MAKE_JPEG
    PROGRAM = os.path.abspath(sys.argv[1])
    MAKE_JPEG = sys.argv[2]
    names = [f"{__name__}.TrainImages.{name}" for name in sys.argv[3:]]
    loaded = unittest.defaultTestLoader.loadTestsFromNames(names or [__name__])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(loaded)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
