"""Ctrl-C and SIGTERM, whatever the tool is doing."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from command import TOOL, run, read_lines, read_json, wait_for_lines, children_of


class Interrupted(unittest.TestCase):
    """Ctrl-C and SIGTERM: the exit status, what there is, and files that say they are a part."""

    # Many lines; and one whose single result takes cpu.direct half a minute, in which nothing is
    # asked.
    MANY = ["--shapes", "yolov8n_b4", "--device", "cpu", "--quick"]
    LONG = ["--shape", "n1c64h128w128 k64r31s31 pad15 forward", "--device", "cpu", "--algorithm",
            "cpu.direct"]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def start(self, *arguments, **options):
        tool = subprocess.Popen([TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **options)
        self.addCleanup(tool.wait)
        self.addCleanup(tool.kill)
        return tool

    def end(self, tool, number=signal.SIGINT):
        """Sends the signal; what the tool says after it."""
        tool.send_signal(number)
        text, errors = tool.communicate(timeout=120)
        self.assertEqual(tool.returncode, 128 + number, text + errors)
        return text, errors

    def wait_for(self, tool, pattern):
        text = ""
        for line in tool.stdout:
            text += line
            if re.search(pattern, line):
                return text
        self.fail(text + tool.stderr.read())

    def wait_for_progress(self, tool, wanted):
        shown = ""
        while wanted not in shown:
            shown += tool.stderr.read(1)
            self.assertIsNone(tool.poll(), shown)

    def test_bench_tells_what_there_is(self):
        path = self.path("now.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("the complete one of yesterday\n")
        tool = self.start("bench", *self.MANY, "--json", path)
        wait_for_lines(path + ".incomplete", 3)
        text, errors = self.end(tool)
        self.assertRegex(text, r"(?m)^yolov8n_b4 +cpu +auto ")
        self.assertRegex(text, r"\nbench INCOMPLETE: ended by SIGINT after \d+ of 120 problems\n$")
        self.assertIn(f"INCOMPLETE: what there is lies in {path}.incomplete; {path} is left as it "
                      "was", errors)
        self.assertEqual(read_lines(path), ["the complete one of yesterday\n"])
        lines = read_json(path + ".incomplete")
        self.assertEqual((lines[0]["state"], lines[-1]["state"]), ("INCOMPLETE", "INCOMPLETE"))
        self.assertRegex(lines[-1]["why"], r"^ended by SIGINT after \d+ of 120 problems$")
        timed = [line for line in lines if line["type"] == "line"]
        self.assertEqual({line["status"] for line in timed}, {"ok"})
        self.assertEqual(lines[-2]["type"], "sum")
        self.assertEqual(lines[-2]["total"]["lines"], len(timed))
        self.assertIn(f"\n{lines[-2]['table']} ", text)
        compared = run("bench", "--device", "cpu", "--quick", "--min-time", "0", "--compare",
                       path + ".incomplete", "--shape", "n1c3w9 k4s3 forward")
        self.assertIn(f"{path}.incomplete is INCOMPLETE: ended by SIGINT after", compared.stdout)
        self.assertIn("it is INCOMPLETE", compared.stderr)

    def test_a_complete_file_takes_the_place_of_all(self):
        path = self.path("now.json")
        for name in (path, path + ".incomplete"):
            with open(name, "w", encoding="utf-8") as file:
                file.write("older\n")
        done = run("bench", "--device", "cpu", "--quick", "--json", path, "--shape",
                   "n1c3w9 k4s3 forward")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = read_json(path)
        self.assertEqual((lines[0]["state"], lines[-1]["state"]), ("complete", "complete"))
        self.assertEqual(os.listdir(self.folder.name), ["now.json"])

    def test_links_and_modes_stay(self):
        path, link = self.path("now.json"), self.path("link")
        os.symlink("now.json", link)
        command = ["bench", "--device", "cpu", "--quick", "--json", link, "--shape",
                   "n1c3w9 k4s3 forward"]
        for mode in (None, 0o600, 0o640):
            if mode:  # else there is no file yet
                os.chmod(path, mode)
            done = run(*command)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(read_json(path)[0]["state"], "complete")
            self.assertEqual(os.readlink(link), "now.json")
            if mode:
                self.assertEqual(os.stat(path).st_mode & 0o777, mode)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["link", "now.json"])
        os.unlink(path)
        os.symlink(link, path)
        done = run(*command)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{link}: Too many levels of symbolic links", done.stderr)
        self.assertTrue(os.path.islink(link) and os.path.islink(path))

    def test_a_killed_bench_leaves_the_older_file(self):
        path = self.path("now.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("older\n")
        tool = self.start("bench", *self.MANY, "--json", path)
        wait_for_lines(path + ".incomplete", 2)
        tool.kill()
        tool.communicate()
        self.assertEqual(read_lines(path), ["older\n"])
        self.assertEqual(read_json(path + ".incomplete")[0]["state"], "INCOMPLETE")
        done = run("bench", "--device", "cpu", "--compare", path + ".incomplete", "--quick",
                   "--shape", "n1c3w9 k4s3 forward")
        self.assertIn(f"{path}.incomplete is INCOMPLETE: it has no end", done.stdout)

    def test_what_is_compared_with_is_not_written_over(self):
        path = self.path("now.json")
        for old in (path, path + ".incomplete", os.path.join(self.folder.name, ".", "now.json")):
            with open(old, "w", encoding="utf-8") as file:
                file.write("older\n")
            done = run("bench", "--device", "cpu", "--json", path, "--compare", old)
            self.assertEqual(done.returncode, 2)
            self.assertIn("would overwrite", done.stderr)
            self.assertEqual(read_lines(old), ["older\n"])

    def test_what_fails_early_leaves_the_older_file(self):
        path = self.path("now.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("older\n")
        self.assertEqual(run("bench", "--device", "no such", "--json", path).returncode, 3)
        self.assertEqual(os.listdir(self.folder.name), ["now.json"])
        self.assertEqual(read_lines(path), ["older\n"])

    def test_what_is_no_file_is_written_in_place(self):
        done = run("bench", "--device", "cpu", "--quick", "--json", "/dev/stdout", "--shape",
                   "n1c3w9 k4s3 forward")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{"type": "end", "state": "complete"}', done.stdout)
        link, target = self.path("link.json"), self.path("target.json")
        os.symlink(target, link)
        with open(target, "w", encoding="utf-8") as file:
            file.write("older\n")
        done = run("bench", "--device", "cpu", "--quick", "--json", link, "--shape",
                   "n1c3w9 k4s3 forward")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(read_json(target)[0]["state"], "complete")

    def test_sigterm_is_143(self):
        tool = self.start("bench", *self.MANY)
        self.wait_for(tool, r"^c3_640")
        self.assertIn("bench INCOMPLETE: ended by SIGTERM", self.end(tool, signal.SIGTERM)[0])

    def interrupted_in_an_operation(self, number):
        """A tool that got the signal within its one result, which takes it long. How soon it is
        there depends on the build and the machine, so one that ended by the first signal tries
        later."""
        for seconds in (0.5, 2, 8):
            tool = self.start("bench", *self.LONG)
            self.wait_for(tool, "^layer ")
            time.sleep(seconds)
            tool.send_signal(number)
            time.sleep(0.3)
            if tool.poll() is None:
                return tool
            tool.communicate()
        self.fail("the tool ends by its first signal")

    def test_a_second_signal_ends_at_once(self):
        for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)):
            tool = self.interrupted_in_an_operation(first)
            tool.send_signal(second)
            start = time.monotonic()
            tool.communicate(timeout=60)
            self.assertEqual(tool.returncode, -second)
            self.assertLess(time.monotonic() - start, 2)

    def test_what_ignores_ctrl_c_goes_on(self):
        tool = self.start("soak", "--device", "cpu", "--steps", "40",
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.wait_for(tool, "CONVOY_VERIFY=")
        tool.send_signal(signal.SIGINT)
        text, errors = tool.communicate(timeout=120)
        self.assertEqual((tool.returncode, errors), (0, ""), text)

    def test_selftest(self):
        tool = self.start("selftest", "--device", "cpu", "--progress")
        self.wait_for_progress(tool, "20/")
        text, _ = self.end(tool)
        rows = [line.split() for line in text.splitlines() if line.startswith("cpu ")]
        self.assertGreater(sum(int(row[3]) for row in rows), 0)
        self.assertEqual(sum(int(row[5]) for row in rows), 0)
        self.assertRegex(text,
                         r"\nselftest INCOMPLETE: ended by SIGINT after \d+ of \d+ problems\n$")

    def test_no_process_is_left(self):
        if "ocl:0" not in run("info").stdout:
            self.skipTest("no OpenCL device")
        tool = self.start("selftest", "--device", "ocl:0", "--progress")
        self.wait_for_progress(tool, "0/")
        workers = children_of(tool.pid)
        self.assertTrue(workers)
        self.end(tool)
        for _ in range(500):
            if not any(os.path.exists(f"/proc/{worker}") for worker in workers):
                return
            time.sleep(0.02)
        self.fail(f"still there: {workers}")

    def test_overhead(self):
        if "ocl:0" not in run("info").stdout:
            self.skipTest("no OpenCL device")
        tool = self.start("overhead", "--device", "ocl:0", "--shapes", "eeg", "--samples", "1000")
        self.wait_for(tool, "cores$")
        text, errors = self.end(tool)
        self.assertRegex(text, r"(?m)^overhead INCOMPLETE: ended by SIGINT$")
        self.assertNotIn("CONVOY_ERR", errors)

    def test_soak(self):
        path = self.path("soak.json")
        tool = self.start("soak", "--device", "cpu", "--steps", "1000000", "--json", path)
        settings = self.wait_for(tool, "CONVOY_VERIFY=")
        folder = re.search(r"CONVOY_STATE_DIR=(\S+)", settings).group(1)
        time.sleep(0.5)
        text, _ = self.end(tool, signal.SIGTERM)
        self.assertRegex(text, r"(?m)^soak: steps=[1-9]\d* faults=0 ")
        self.assertRegex(text, r"\nsoak INCOMPLETE: ended by SIGTERM after \d+ of 1000000 steps\n$")
        self.assertNotIn("FAILED", text)
        self.assertFalse(os.path.exists(path) or os.path.exists(folder))
        head, end = read_json(path + ".incomplete")
        self.assertEqual((head["state"], end["state"]), ("INCOMPLETE", "INCOMPLETE"))
        self.assertGreater(end["steps"], 0)

    def test_report(self):
        path = self.path("card.txt")
        tool = self.start("report", "--device", "cpu", "--output", path, "--shapes", "yolov8n_b4")
        while not os.path.exists(path + ".incomplete") or \
                "yolov8n_b4\n" not in read_lines(path + ".incomplete"):  # the bench has begun
            time.sleep(0.05)
            self.assertIsNone(tool.poll())
        text, errors = self.end(tool)
        self.assertNotIn("written", text)
        self.assertIn(f"{path} is not written", errors)
        self.assertFalse(os.path.exists(path))
        lines = read_lines(path + ".incomplete")
        self.assertEqual(lines[0], "# convoy report, INCOMPLETE\n")
        self.assertEqual(lines[-1], "INCOMPLETE: ended by SIGINT\n")
        whole = "".join(lines)
        self.assertIn("selftest passed", whole)
        self.assertIn("bench INCOMPLETE: ended by SIGINT after", whole)
        state = [json.loads(line)["state"] for line in lines
                 if line.startswith("{") and "state" in line]
        self.assertEqual(state, ["INCOMPLETE", "INCOMPLETE"])


if __name__ == "__main__":
    unittest.main()
