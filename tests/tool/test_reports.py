"""convoy info, graph, health and report, and what is said of bad usage."""

import json
import os
import re
import tempfile
import time
import unittest

from command import TABLE, run


class Usage(unittest.TestCase):
    def assert_status(self, wanted, *arguments, **environment):
        done = run(*arguments, **environment)
        self.assertEqual(done.returncode, wanted, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def test_help_and_version(self):
        self.assertIn("bench", self.assert_status(0, "--help").stdout)
        self.assertRegex(self.assert_status(0, "--version").stdout, r"^convoy \d+\.\d+\.\d+ ")
        for command in ("info", "selftest", "bench", "tune", "graph", "soak", "health",
                        "report"):
            text = self.assert_status(0, command, "--help").stdout
            self.assertIn(f"usage: convoy {command}", text)
            self.assertIn("exit status", text)

    def test_bad_usage_is_2(self):
        self.assert_status(2)
        self.assertIn("nonsense: there is no such", self.assert_status(2, "nonsense").stderr)
        self.assert_status(2, "bench", "--nonsense")
        self.assert_status(2, "bench", "--shapes", "no/such/file.csv")
        self.assertEqual(
            self.assert_status(2, "bench", "--pass", "sideways", "--device", "cpu").stderr,
            "convoy bench: --pass sideways: there is no such pass; there are forward, "
            "backward_data, backward_weights, backward_bias\n")
        self.assert_status(2, "bench", "--device", "cpu", "--json", "one", "--compare", "one")
        self.assertIn("no driver", self.assert_status(2, "overhead", "--device", "cpu").stderr)
        self.assert_status(2, "bench", "--algorithm", "cpu.none", "--device", "cpu")
        self.assert_status(2, "bench", "--device", "cpu", "--json", "/no/such/folder/file")
        self.assert_status(2, "selftest", "--device", "cpu", "--shape", "n1c1w1")
        self.assert_status(2, "selftest", "--device", "cpu", "--algorithm", "cpu.none")
        self.assert_status(2, "tune", "--device", "cpu")
        self.assert_status(2, "tune", "--device", "cpu", "--shapes", "no/such/file.csv")
        self.assert_status(2, "tune", "--device", "cpu", "--shapes", "eeg", "--pass", "sideways")
        self.assert_status(2, "report", "--device", "cpu", "--output", "/no/such/folder/file")

    def test_unknown_device_is_3(self):
        for command in ("selftest", "bench"):
            done = self.assert_status(3, command, "--device", "no such device")
            self.assertIn("no such device", done.stderr)


class Info(unittest.TestCase):
    def test_shows_the_cpu_engine(self):
        done = run("info")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("built in", "devices", "  cpu ", "CPU engine", "traps"):
            self.assertIn(word, done.stdout)

    def test_names_the_threads(self):
        pool = "CPU engine: on a pool of threads of its own"
        openmp = "OpenMP: yes" in run("info").stdout
        for threads, team, words in (
            ("2", "pool", pool),
            ("64", "", pool),  # more than OpenMP has
            ("1", "", "CPU engine: on the threads of /" if openmp else pool),
            ("1", "tbb", 'CPU engine: CONVOY_TEAM is "tbb"; it may be openmp or pool'),
        ):
            done = run("info", OMP_NUM_THREADS="1", CONVOY_THREADS=threads, CONVOY_TEAM=team)
            self.assertIn(words, done.stdout)

    def test_names_traps(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run("info", HSA_OVERRIDE_GFX_VERSION="10.3.0", OCL_ICD_VENDORS=empty)
        self.assertIn("HSA_OVERRIDE_GFX_VERSION=10.3.0", done.stdout)
        self.assertIn(f"no *.icd file in {empty}", done.stdout)

    def test_asks_no_driver_when_the_cpu_is_forced(self):
        for cpu in ("cpu", " CPU", "cpu:0"):
            done = run("info", CONVOY_DEVICE=cpu)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("not asked for, because the device is " + cpu.strip(), done.stdout)
            self.assertNotIn("ocl:", done.stdout)

    def test_shows_a_device_that_is_gone(self):
        try:
            with open("/etc/machine-id", encoding="utf-8") as file:
                machine = file.readline().strip() or "-"
        except OSError:
            machine = "-"
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "devices.txt"), "w", encoding="utf-8") as file:
                file.write("convoy-devices 1\n")
                for name, where in (("My Old Card", machine), ("Another's Card", "another")):
                    file.write(f"{where} | ocl:77 | {name} | AMD | 1 | 2026-10-01 | 2026-11-20\n")
            done = run("info", CONVOY_STATE_DIR=folder)
            self.assertIn("this machine has also had ocl:77 (My Old Card) until 2026-11-20\n",
                          done.stdout)
            self.assertNotIn("Another's", done.stdout)
            for device in ("ocl:77", "old card"):  # without failover, as the tool opens devices
                done = run("selftest", "--device", device, CONVOY_STATE_DIR=folder)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("was ocl:77 (My Old Card), last seen on 2026-11-20, and ",
                              done.stderr)
            done = run("selftest", "--device", "older card", CONVOY_STATE_DIR=folder)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn("no device is called", done.stderr)

    def test_names_rusticl_and_missing_drivers(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, library in (("rusticl", "libRusticlOpenCL.so.1"), ("gone", "/no/such.so")):
                with open(f"{folder}/{name}.icd", "w", encoding="utf-8") as file:
                    file.write(library + "\n")
            done = run("info", OCL_ICD_VENDORS=folder)
            enabled = run("info", OCL_ICD_VENDORS=folder, RUSTICL_ENABLE="radeonsi")
        self.assertIn("unless RUSTICL_ENABLE", done.stdout)
        self.assertIn("names a library that is not there: /no/such.so", done.stdout)
        self.assertNotIn("unless RUSTICL_ENABLE", enabled.stdout)


class Graph(unittest.TestCase):
    def graph(self, *arguments, **environment):
        return run("graph", "--device", "cpu", *arguments, **environment)

    def test_shows_operations_and_memory(self):
        done = self.graph("--net", "yolov8n", "--batch", "1", "--image", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], "yolov8n, 1 images of 3x64x64, a training step: captured")
        count, captured = map(int, re.match(r"(\d+) operations of (\d+) captured on cpu", lines[1])
                              .groups())
        operations = [line for line in lines if re.match(r" *\d+: v\d+.* = .* of v", line)]
        kinds = [int(row) for row in re.findall(r"(?m)^ +(\d+) \w+ +[\d.]+ GFLOP .* MiB$",
                                                   done.stdout)]
        self.assertEqual((len(operations), sum(kinds)), (count, count))
        self.assertGreater(captured, count)
        self.assertRegex(done.stdout, r"block 0: \d+ bytes, of what is made on the way")
        # What lies side by side at one time does not overlap.
        places = [tuple(map(int, each)) for each in re.findall(
            r"v\d+: (\d+) bytes at (\d+) of block 0, from operation (\d+) to (\d+)", done.stdout)]
        self.assertGreater(len(places), 300)
        for i, (size, at, begin, end) in enumerate(places):
            for other_size, other_at, other_begin, other_end in places[i + 1:]:
                if begin <= other_end and other_begin <= end:
                    self.assertTrue(at + size <= other_at or other_at + other_size <= at)
        plain = self.graph("--net", "yolov8n", "--batch", "1", "--image", "64",
                           CONVOY_GRAPH_PASSES="none")
        self.assertGreater(int(plain.stdout.splitlines()[1].split()[0]), count)

    def test_evaluations_and_captures(self):
        done = self.graph("--net", "eegnet", "--batch", "2", "--evaluate", "--captured")
        self.assertRegex(done.stdout, r"an evaluation: captured.*\n\d+ nodes, \d+ tensors read")
        self.assertNotIn("backward", done.stdout)

    def test_what_is_none_is_2(self):
        for arguments, why in ((["--net", "vgg"], "--net vgg: there is no such network"),
                               ([], "--net is missing; there are yolov8n, resnet18")):
            done = self.graph(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(why, done.stderr)
        done = self.graph("--net", "yolov8n", "--image", "36")
        self.assertEqual(done.returncode, 1)
        self.assertIn("yolov8n: concatenate: ", done.stderr)


class Health(unittest.TestCase):
    PROBLEM = "n4c32h64w60 k64r3s3 pad1 forward"
    LINE = "{} | 1.0 | ocl.direct | " + PROBLEM + " | tuned | 3 | {} | it hung\n"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "faults.txt")

    def health(self, *arguments):
        done = run("health", *arguments, CONVOY_STATE_DIR=self.folder.name, CONVOY_FAULT_LIMIT=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def record(self, *devices):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("convoy-faults 1\n")
            file.writelines(self.LINE.format(device, int(time.time()) - 60) for device in devices)

    def test_shows_what_follows(self):
        self.assertEqual(self.health(), "no faults are recorded\n")
        self.record("Card A", "Card B")
        text = self.health("--device", "Card A")
        for part in ("Card A", f"3 with ocl.direct on {self.PROBLEM}: conservative algorithms only",
                     "it hung", "24.0 h"):
            self.assertIn(part, text)
        self.assertNotIn("Card B", text)

    def test_clears_one_or_all(self):
        self.record("Card A", "Card B")
        self.assertEqual(self.health("--clear", "--device", "Card A"),
                         "forgotten: faults at 1 place of Card A\n")
        self.assertIn("Card B", self.health())
        self.assertNotIn("Card A", self.health())
        self.assertEqual(self.health("--clear", "--device", "Card A"),
                         "no faults are recorded of devices called Card A\n")
        self.record("Card B", "Card C")
        self.assertIn("2 places of all devices", self.health("--clear"))
        self.assertEqual(self.health(), "no faults are recorded\n")

    def test_an_id_means_the_device_that_has_it(self):
        found = re.search(r"^  (ocl:0) +(\S.*)$", run("info").stdout, re.MULTILINE)
        if not found:
            self.skipTest("no OpenCL device")
        self.record(found[2], "Card B")
        self.assertIn(found[2], self.health("--device", "ocl:0"))
        self.assertIn(f"1 place of {found[2]}", self.health("--clear", "--device", "ocl:0"))
        self.assertIn("no faults are recorded of", self.health("--device", "ocl:0"))
        self.record(found[2], "Card B")  # in which the processor's name may occur
        self.assertIn("the CPU engine", self.health("--clear", "--device", "cpu"))
        self.assertIn(found[2], self.health())
        self.assertIn("Card B", self.health())
        done = run("health", "--clear", "--device", "ocl:77", CONVOY_STATE_DIR=self.folder.name)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no device ocl:77", done.stderr)
        self.assertIn("Card B", self.health())

    def test_says_where_reports_lie(self):
        os.mkdir(f"{self.folder.name}/reports")
        self.assertNotIn("reports", self.health())
        with open(f"{self.folder.name}/reports/one.txt", "w", encoding="utf-8") as file:
            file.write("convoy-fault 1\n")
        self.assertIn(f"1 report of single faults in {self.folder.name}/reports", self.health())


class Report(unittest.TestCase):
    def test_one_file_holds_all(self):
        with tempfile.TemporaryDirectory() as folder:
            path, table = os.path.join(folder, "report.txt"), os.path.join(folder, "tiny.csv")
            with open(table, "w", encoding="utf-8") as file:
                file.write(TABLE)
            os.mkdir(os.path.join(folder, "reports"))
            with open(os.path.join(folder, "reports", "1.txt"), "w", encoding="utf-8") as file:
                file.write("convoy-fault 1\n")
            done = run("report", "--device", "cpu", "--output", path, "--shapes", table,
                       CONVOY_STATE_DIR=folder, HOME=folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"selftest \.\.\. \d+ s\n")
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertTrue(text.startswith("# convoy report, complete"))
        for part in ("## info", "## health", "no faults are recorded",
                     "1 report of single faults in ~", "convoy-fault 1", "## selftest",
                     "selftest passed", "## bench", "JSON lines"):
            self.assertIn(part, text)
        self.assertNotIn(folder, text)
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        self.assertEqual([line["status"] for line in lines if line["type"] == "line"], ["ok"] * 6)


if __name__ == "__main__":
    unittest.main()
