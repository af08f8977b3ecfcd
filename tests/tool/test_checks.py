"""convoy selftest and convoy soak: what passes, and what fails."""

import os
import re
import tempfile
import unittest

from command import LAYER, PASSES, LONGEST, run, run_longest, read_json


class Selftest(unittest.TestCase):
    def test_cpu_passes(self):
        done = run("selftest", "--device", "cpu")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("selftest passed", done.stdout)
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith("cpu ")]
        ran = {(row[1], row[2]): int(row[3]) for row in rows}
        self.assertTrue(all(ran["cpu.direct", name] >= 25 for name in PASSES))
        self.assertTrue(all(int(row[5]) == 0 for row in rows))
        self.assertGreaterEqual(ran["cpu.program", "program"], 100)
        self.assertGreaterEqual(ran["cpu.reduce", "program"], 30)
        counts = re.search(r"(\d+) convolutions, (\d+) programs and reductions; 0 failed\n$",
                           done.stdout)
        self.assertEqual(int(counts[1]) + int(counts[2]), sum(ran.values()))

    def test_programs_by_text_and_name(self):
        done = run("selftest", "--device", "cpu", "--verbose", "--shape",
                   "y = x * sigmoid(x + b) on n2c3h5w7 b:channel", "statistics on n2c3w9",
                   "y = x on n0c3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "selftest passed: 0 convolutions, [0-9]+ programs and "
                         "reductions; 0 failed\n$")
        self.assertIn("refused by cpu.reduce: y = x * sigmoid(x + b) on n2c3h5w7 b:channel: ",
                      done.stdout)
        for text, why in (("y = x * on n2", "column"), ("nothing on n2", "no program called"),
                          ("y = x on n2 x:strides=2,0,0,0,0", "no tensors make this problem")):
            done = run("selftest", "--device", "cpu", "--shape", text)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(f"convoy selftest: {text}: ", done.stderr)
            self.assertIn(why, done.stderr)

    def test_environment_chooses_the_device(self):
        done = run("selftest", "--shape", "n1c2w5 k3s2 forward", CONVOY_DEVICE="cpu")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("ocl", done.stdout)

    def test_says_which_problem_was_refused(self):
        text = "n2c5h4w6 k3r3s2 stride2 transposed outpad1 backward_data"
        done = run("selftest", "--device", "cpu", "--verbose", "--shape", text, "--problem",
                   "n1c2w5 k3s2 forward")  # as older reports call it
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"refused by cpu.depthwise: {text}: ", done.stdout)
        self.assertIn("refused by cpu.depthwise: n1c2w5 k3s2 forward: ", done.stdout)

    def test_the_longest_problem_is_named_whole(self):
        done = run_longest("selftest")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"convoy selftest: {LONGEST}: out of memory\n", done.stderr)

    def test_only_what_is_asked_for(self):
        done = run("selftest", "--device", "cpu", "--algorithm", "cpu.direct", "--shape",
                   "n1c2w5 k3s2 backward_data")
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith("cpu ")]
        self.assertEqual(sum(int(row[3]) for row in rows), 1)
        self.assertEqual({row[1] for row in rows}, {"cpu.direct"})


class Soak(unittest.TestCase):
    LAST = (r"^soak: steps=(\d+) faults=(\d+) survived=(\d+) wrong=(\d+) lost_steps=(\d+) "
            r"on_device=(\d\.\d+) max_wait_s=(\d+\.\d+) rss_growth_kib=(-?\d+) fd_growth=(-?\d+)$")

    def test_cpu_without_faults(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "soak.json")
            done = run("soak", "--device", "cpu", "--steps", "6", "--json", path)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            last = done.stdout.splitlines()[-1]
            self.assertRegex(last, self.LAST)
            self.assertTrue(last.startswith("soak: steps=6 faults=0 survived=0 wrong=0 "
                                            "lost_steps=0 on_device=1.0000"), last)
            head, end = read_json(path)
            self.assertEqual((head["type"], end["type"]), ("head", "end"))
            self.assertEqual((head["state"], end["state"]), ("complete", "complete"))
            self.assertEqual(end["steps"], 6)

    def test_prints_its_settings_first(self):
        lines = run("soak", "--device", "cpu", "--steps", "1").stdout
        for word in ("seed 1", "faults none", "CONVOY_STATE_DIR=", "CONVOY_DEADLINE=(default)",
                     "CONVOY_DEVICE_WAIT_BUDGET=(default)"):
            self.assertIn(word, lines)

    def test_another_device_is_3(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run("soak", "--steps", "1", OCL_ICD_VENDORS=empty, CONVOY_DEVICE="")
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn("no GPU is seen", done.stderr)
        for name in ("nosuch", "ocl:77"):
            done = run("soak", "--steps", "1", "--device", name)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(f"device {name}: ", done.stderr)

    def test_says_why_it_failed(self):
        if "ocl:0" not in run("info").stdout or not os.path.exists(LAYER):
            self.skipTest("no OpenCL device, or no layer that makes it fail")
        done = run("soak", "--device", "ocl:0", "--steps", "2", OPENCL_LAYERS=LAYER,
                   CONVOY_FAULT="clEnqueueReadBuffer#3=fail:-5")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout.splitlines()[-1],
                         "^soak FAILED: because .*the device failed 1 times")

    def test_leaves_no_state_behind(self):
        lines = run("soak", "--device", "cpu", "--steps", "1").stdout.splitlines()
        folder = next(line for line in lines if line.startswith("CONVOY_STATE_DIR="))
        self.assertFalse(os.path.exists(folder.partition("=")[2]))

    def test_bad_usage_is_2(self):
        for arguments in (["--faults", "gremlins"], ["--hours", "0"], ["--steps", "0"],
                          ["--faults", "all"]):
            done = run("soak", "--device", "cpu", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
