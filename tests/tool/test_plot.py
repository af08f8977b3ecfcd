"""bench/plot.py on a small sample, and without matplotlib. Usage: test_plot.py PLOT"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PLOT = None


def sample():
    """Two tables, two devices, one layer that was refused, and a line that is not JSON."""
    yield "# convoy report"
    yield json.dumps({"type": "head", "devices": []})
    for table, layers in (("net", ["first", "second"]), ("other", ["only"])):
        for layer in layers:
            for number, name in enumerate(("forward", "backward_data")):
                for device, rate in (("cpu", 50.0), ("ocl:0", 900.0)):
                    refused = device == "ocl:0" and layer == "second"
                    yield json.dumps({
                        "type": "line", "table": table, "shape": layer, "pass": name,
                        "device": device, "device_name": f"name of {device}", "requested": "auto",
                        "status": "refused" if refused else "ok", "count": 1 + number,
                        "gflops": None if refused else rate,
                        "median_ms": None if refused else 100.0 / rate})


def plot(*arguments, before="pass"):
    """Runs the script, with a line of Python in front of it."""
    code = f"import runpy, sys; {before}; sys.argv = sys.argv[1:]; " \
           "runpy.run_path(sys.argv[0], run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code, PLOT, *arguments], capture_output=True,
                          text=True, timeout=200, check=False)


class Plot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.sample = self.write("sample.json", "\n".join(sample()) + "\n")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_draws_svg_and_png(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("matplotlib is not installed")
        out = os.path.join(self.folder, "new", "speed")
        done = plot(self.sample, self.sample, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("net", "other", "sums"):
            with open(f"{out}-{name}.svg", encoding="utf-8") as file:
                self.assertIn("<svg", file.read())
            with open(f"{out}-{name}.png", "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_says_when_matplotlib_is_missing(self):
        done = plot(self.sample, before="sys.modules['matplotlib'] = None")
        self.assertEqual(done.returncode, 1)
        self.assertIn("matplotlib is missing", done.stderr)

    def test_says_when_there_is_nothing_to_draw(self):
        for text in ("", "{\"type\": \"head\"}\n", "{broken\n"):
            path = self.write("bad.json", text)
            done = plot(path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"plot.py: {path}: ", done.stderr)


if __name__ == "__main__":
    PLOT = sys.argv.pop(1)
    unittest.main()
