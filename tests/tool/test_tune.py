"""convoy tune: the records it writes, and what becomes of files."""

import os
import signal
import subprocess
import tempfile
import unittest

from command import TOOL, TABLE, LONGEST, run, run_longest, read_lines, read_json


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "tune.txt")
        self.table = os.path.join(self.folder.name, "small.csv")
        with open(self.table, "w", encoding="utf-8") as file:
            file.write(TABLE)

    def tune(self, *arguments, **environment):
        return run("tune", "--device", "cpu", "--shapes", self.table, "--file", self.file,
                   *arguments, **environment)

    def records(self):
        if not os.path.exists(self.file):  # no timing was usable: nothing was written
            return []
        return [line.split(" | ") for line in read_lines(self.file)[1:]]

    def test_writes_records_that_the_bench_uses(self):
        done = self.tune("--budget", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        told = [line for line in done.stdout.splitlines() if "->" in line and "tried" in line]
        kept = {(fields[4], fields[0]) for fields in self.records()}
        self.assertEqual(len(told), len(kept))  # what timing said nothing about is not written
        path = os.path.join(self.folder.name, "bench.json")
        done = run("bench", "--device", "cpu", "--shapes", self.table, "--quick", "--json", path,
                   CONVOY_TUNE_FILE=self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        plain = [line for line in read_json(path) if line.get("shape") == "plain"]
        for line in plain:
            chosen = [name for key, name in kept
                      if key.startswith("n2c3h17w19 k4") and key.endswith(" " + line["pass"])]
            self.assertIn(line["algorithm"], chosen or [line["algorithm"]])

    def test_tunes_the_passes_asked_for(self):
        done = self.tune("--pass", "backward_bias", "--budget", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("backward_bias", done.stdout)
        self.assertNotIn("forward", done.stdout)

    def test_problems_as_they_are_printed(self):
        text = "n2c5h4w6 k3r3s2 stride2 transposed outpad1 backward_data"
        done = run("tune", "--device", "cpu", "--shape", text, "--budget", "5", "--file", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"\n  {text}", done.stdout)
        for fields in self.records():
            self.assertEqual(fields[4], text)

    def test_the_longest_problem_is_named_whole(self):
        done = run_longest("tune", "--file", self.file)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, rf"\n  {LONGEST} +failed: no host memory for \d+ bytes\n")
        self.assertIn(f"\n    {LONGEST}\n", done.stdout)  # to be repeated alone

    def test_leaves_a_foreign_file_alone(self):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("my diary\n")
        done = self.tune("--pass", "forward", "--budget", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no tuning file", done.stdout)
        self.assertIn("\n    n2c3h17w19 k4r3s3 pad1 forward\n", done.stdout)  # to be tried alone
        self.assertEqual(read_lines(self.file), ["my diary\n"])

    def test_says_first_that_it_cannot_write(self):
        for file in (os.path.join(self.table, "tune.txt"), self.folder.name):
            done = run("tune", "--device", "cpu", "--shapes", self.table, "--file", file)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{file} cannot be written: ", done.stderr)

    def test_interrupted_keeps_what_it_has(self):
        tool = subprocess.Popen(
            [TOOL, "tune", "--device", "cpu", "--shapes", "resnet50_b8", "--file", self.file,
             "--budget", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in tool.stdout:
            lines.append(line)
            if line.count("->"):
                break
        tool.send_signal(signal.SIGINT)
        rest, errors = tool.communicate(timeout=120)
        self.assertEqual(tool.returncode, 128 + signal.SIGINT, errors)
        self.assertIn("interrupted, what was found is kept", rest)
        self.assertRegex(rest, r"(?m)^tune INCOMPLETE: ended by SIGINT after \d+ of \d+ problems$")
        self.assertGreaterEqual(len(self.records()), 1)


if __name__ == "__main__":
    unittest.main()
