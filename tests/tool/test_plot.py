"""bench/plot.py on a small sample, and without matplotlib; files that are a part.

Usage: test_plot.py PLOT
"""

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


class Incomplete(unittest.TestCase):
    """A file of an interrupted bench: its head and its last line say so."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "part.json")

    def write(self, head, end):
        lines = [{"type": "head", **head}]
        lines += [json.loads(line) for line in sample() if '"line"' in line]
        for line in lines[1:]:
            line.update(algorithm="ocl.x", flops_share=0.5, copy_share=0.5)
        with open(self.path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines + end)

    def sum_up(self):
        script = os.path.join(os.path.dirname(PLOT), "floors.py")
        return subprocess.run([sys.executable, script, self.path], capture_output=True, text=True,
                              timeout=60, check=False)

    def test_no_sums_are_made_of_a_part(self):
        end = {"type": "end", "state": "INCOMPLETE",
               "why": "ended by SIGINT after 5 of 12 problems"}
        for lines, why in (([end], end["why"]), ([], "it has no end")):
            self.write({"state": "INCOMPLETE"}, lines)
            done = self.sum_up()
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr, f"floors.py: {self.path} is INCOMPLETE: {why}\n")

    def test_the_end_counts_and_older_files_have_none(self):
        for head, end in (({"state": "INCOMPLETE"}, [{"type": "end", "state": "complete"}]),
                          ({}, [])):
            self.write(head, end)
            done = self.sum_up()
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("| ocl.x forward |", done.stdout)

    def test_a_figure_says_that_it_is_of_a_part(self):
        self.write({"state": "INCOMPLETE"}, [])
        done = plot(self.path, before="sys.modules['matplotlib'] = None")
        self.assertIn(f"plot.py: {self.path} is INCOMPLETE: it has no end\n", done.stderr)
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            return
        out = os.path.join(os.path.dirname(self.path), "part")
        self.assertEqual(plot(self.path, "--out", out).returncode, 0)
        with open(f"{out}-sums.svg", encoding="utf-8") as file:
            self.assertIn("INCOMPLETE", file.read())


if __name__ == "__main__":
    PLOT = sys.argv.pop(1)
    unittest.main()
