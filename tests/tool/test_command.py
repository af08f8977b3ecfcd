"""The tool from outside: exit statuses, what it prints, and JSON lines.

Usage: test_command.py TOOL
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = None
LAYER = None  # what makes a driver fail
TABLE = """name,count,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,dil_h,dil_w,groups
plain,2,2,3,17,19,4,3,3,1,1,1,1,1,1,1
depthwise,1,3,6,11,12,6,3,3,2,2,1,1,1,1,6
"""
PASSES = ["forward", "backward_data", "backward_weights"]
# A legal problem whose text is as long as one can be; no machine has the memory for it.
LONGEST = (
    "n99999999c2147483647z2h2w2 k2147483647t1r1s1 stride2147483647,2147483646,2147483647 "
    "pad2147483647:2147483646,2147483646:2147483645,2147483647:2147483645 "
    "dil2147483647,2147483646,2147483647 groups2147483647 transposed "
    "outpad2147483646,2147483645,2147483645 backward_weights")


def run(*arguments, **environment):
    """Runs the tool with variables added to the environment."""
    settings = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run([TOOL, *arguments], env=settings, capture_output=True, text=True,
                          timeout=300, check=False)


def run_longest(*arguments):
    """Runs the tool on LONGEST. AddressSanitizer is to let the memory be refused."""
    options = os.environ.get("ASAN_OPTIONS")
    options = f"{options}:" if options else ""
    return run(*arguments, "--device", "cpu", "--shape", LONGEST,
               ASAN_OPTIONS=options + "allocator_may_return_null=1")


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.readlines()


def read_json(path):
    return [json.loads(line) for line in read_lines(path)]


def wait_for_lines(path, count):
    for _ in range(3000):
        time.sleep(0.02)
        if os.path.exists(path) and sum(line.endswith("\n") for line in read_lines(path)) >= count:
            return


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


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


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.table = self.path("tiny.csv")
        with open(self.table, "w", encoding="utf-8") as file:
            file.write(TABLE)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def bench(self, *arguments):
        return run("bench", "--shapes", self.table, "--device", "cpu", "--quick", "--min-time", "0",
                   *arguments)

    def test_json_and_compare(self):
        done = self.bench("--json", self.path("old.json"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = read_json(self.path("old.json"))
        self.check_head(lines[0])
        timed = [line for line in lines if line["type"] == "line"]
        self.assertEqual([(line["shape"], line["pass"]) for line in timed],
                         [(shape, name) for shape in ("plain", "depthwise") for name in PASSES])
        for line in timed:
            self.check_line(line)
        self.check_sum(lines[-2], timed)
        self.assertEqual(lines[-1], {"type": "end", "state": "complete"})
        self.assertFalse(os.path.exists(self.path("old.json.incomplete")))
        again = self.bench("--json", self.path("new.json"), "--compare", self.path("old.json"))
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.check_ratios(again.stdout, timed, read_json(self.path("new.json")))

    def check_head(self, head):
        self.assertEqual((head["type"], head["state"]), ("head", "complete"))
        self.assertIn("--quick", head["command"])
        self.assertEqual([device["id"] for device in head["devices"]], ["cpu"])
        self.assertGreater(head["devices"][0]["peak_gflops"], 0)
        self.assertTrue(head["version"] and head["machine"]["cpu"])

    def check_line(self, line):
        self.assertEqual((line["status"], line["device"], line["table"]), ("ok", "cpu", "tiny"))
        self.assertTrue(line["algorithm"].startswith("cpu."))
        self.assertGreaterEqual(line["samples"], 1)
        self.assertTrue(0 < line["min_ms"] <= line["median_ms"] <= line["max_ms"])
        self.assertGreater(line["transfers_ms"], 0)
        self.assertTrue(0 <= line["error_share"] <= 1)
        rate = line["flops"] / line["median_ms"] * 1e-6
        self.assertAlmostEqual(line["gflops"], rate, delta=1e-6 * rate)
        self.assertIn(line["pass"], line["problem"])

    def check_sum(self, total, timed):
        self.assertEqual((total["type"], total["table"]), ("sum", "tiny"))
        wanted = sum(line["count"] * line["median_ms"] for line in timed)
        self.assertAlmostEqual(total["total"]["ms"], wanted, delta=1e-6 * wanted)
        self.assertEqual(total["total"]["missing"], 0)

    def check_ratios(self, text, old, new):
        new = [line for line in new if line["type"] == "line"]
        rows = [line.split() for line in text.split("compared with")[1].splitlines()[1:]]
        lines = [row for row in rows if row and row[0] in ("plain", "depthwise")]
        self.assertEqual(len(lines), 6)
        for row, then, now in zip(lines, old, new):
            ratio = then["median_ms"] / now["median_ms"]
            self.assertAlmostEqual(float(row[-1]), ratio, delta=0.001 * ratio + 0.001)
        self.assertEqual([row[1] for row in rows if row and row[0] == "sum"], ["tiny"])
        self.assertIn("6 of 6 lines are in both", text)

    def test_all_algorithms_and_one_pass(self):
        done = self.bench("--algorithm", "all", "--pass", "backward_bias", "--json",
                          self.path("all.json"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in read_json(self.path("all.json")) if line["type"] == "line"]
        self.assertEqual({line["pass"] for line in lines}, {"backward_bias"})
        self.assertIn("cpu.direct", {line["requested"] for line in lines})
        for line in lines:
            self.assertIn(line["status"], ("ok", "refused"))
            self.assertTrue(line["status"] == "ok" or line["reason"])

    def test_problems_as_they_are_printed(self):
        texts = ["n1c3h20w20 k4r3s3 pad1 forward", "n2c3w11 k5s3 backward_bias",
                 "n2c5h4w6 k3r3s2 stride2 transposed outpad1 backward_data"]
        path = self.path("shape.json")
        done = run("bench", "--device", "cpu", "--quick", "--min-time", "0", "--json", path,
                   "--shape", *texts)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in read_json(path) if line["type"] == "line"]
        self.assertEqual([line["problem"] for line in lines], texts)
        self.assertEqual([f"{line['shape']} {line['pass']}" for line in lines], texts)
        self.assertIn("\n    " + texts[2] + "\n", done.stdout)  # the column cuts it
        again = run("bench", "--device", "cpu", "--quick", "--min-time", "0", "--compare", path,
                    "--shape", texts[0])
        self.assertIn("1 of 1 lines are in both", again.stdout)
        both = run("bench", "--device", "cpu", "--quick", "--min-time", "0", "--shapes", self.table,
                   "--pass", "forward", "--shape", texts[1])
        self.assertRegex(both.stdout, r"(?m)^plain +forward .*\n.*depthwise +forward")
        self.assertRegex(both.stdout, r"(?m)^n2c3w11 k5s3 +bias ")

    OPERATIONS = ["y = x * sigmoid(x) * s on n2c5h9w7 s:channel", "channel_sum on n2c5h9w7",
                  "dropout on n2c70 keep:one"]

    def operations(self, *arguments, texts=OPERATIONS, device="cpu"):
        return run("bench", "--device", device, "--quick", "--min-time", "0", "--op", *texts,
                   *arguments)

    def test_programs_and_reductions(self):
        path = self.path("op.json")
        done = self.operations("--gradient", "--json", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("GB/s", done.stdout)
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()
                                 if re.match(r"\S.* (op|gradien) ", line)), 120)
        lines = [line for line in read_json(path) if line["type"] == "line"]
        self.assertEqual([(line["shape"], line["pass"]) for line in lines],
                         [(text, name) for name in ("op", "gradient") for text in self.OPERATIONS])
        for line in lines:
            self.assertEqual((line["table"], line["status"]), ("op", "ok"), line)
            self.assertTrue(0 < line["min_ms"] <= line["median_ms"] <= line["max_ms"])
            self.assertIsNone(line["flops"])
        self.assertEqual(lines[0]["bytes"], 4 * (2 * 630 + 5))
        self.assertEqual(lines[0]["algorithm"], "cpu.program")
        self.assertEqual(lines[1]["algorithm"], "cpu.reduce")
        self.assertTrue(0 < lines[0]["error_share"] <= 1)
        again = self.operations("--compare", path)
        self.assertIn("3 of 3 lines are in both", again.stdout)

    def test_products(self):
        path = self.path("products.json")
        texts = ["matmul a33x70 b70x17", "matmul a3x20x31 b3x19x31t sum"]
        done = self.operations("--json", path, texts=texts)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in read_json(path) if line["type"] == "line"]
        self.assertEqual([line["shape"] for line in lines], texts)
        for line, terms in zip(lines, (33 * 70 * 17, 3 * 20 * 31 * 19)):
            self.assertEqual((line["status"], line["flops"]), ("ok", 2 * terms))
            self.assertTrue(line["algorithm"].startswith("cpu.matmul"))
            self.assertTrue(line["gflops"] > 0)
            self.assertTrue(0 < line["error_share"] <= 1)
        done = self.operations("--gradient", texts=texts)
        self.assertEqual(done.returncode, 2)
        self.assertIn("its gradients are products with texts of their own", done.stderr)
        both = self.operations("--shapes", self.table, "--pass", "forward", texts=["relu on n9"])
        self.assertRegex(both.stdout, r"(?m)^plain +forward")
        self.assertRegex(both.stdout, r"(?m)^relu on n9 +op +cpu +cpu\.program ")

    def test_operations_that_are_refused_or_none(self):
        done = self.operations("--algorithm", "cpu.direct")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("refused: cpu.direct refuses"), 3)
        for texts, why in ((["y = x +"], "expected"), (["y = x + on n2"], "column 8"),
                           (["n1c3w5 k2s2 forward"], "expected"),
                           (["statistics on n2c3", "--gradient"], "only sums have one"),
                           (["y = x" + " " * 400 + " on n2"], "a text of 411 bytes, at most 383")):
            done = self.operations(texts=texts)
            self.assertEqual((done.returncode, done.stdout), (2, ""), texts)
            self.assertIn(why, done.stderr)
        done = run("bench", "--device", "cpu", "--gradient")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "convoy bench: --gradient is for --op\n"))

    def nets(self, *arguments, device="cpu"):
        return run("bench", "--device", device, "--quick", "--min-time", "0", "--net", *arguments)

    def test_steps_of_networks(self):
        path, device = self.path("net.json"), "cpu"
        if "ocl:0" in run("info").stdout:
            device = "cpu,ocl:0"
        done = self.nets("eegnet", "--batch", "2", "--images", "86400", "--epochs", "3", "--json",
                         path, device=device)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()
                                 if line.startswith(("eegnet", "network"))), 120)
        self.assertNotIn("sums", done.stdout)
        lines = [line for line in read_json(path) if line["type"] == "line"]
        self.assertEqual([line["device"] for line in lines], device.split(","))
        for line in lines:
            self.check_step(line)
        self.assertEqual(lines[0]["error"], 0)
        again = self.nets("eegnet", "--batch", "2", "--compare", path)
        self.assertIn("1 of 1 lines are in both", again.stdout)

    def check_step(self, line):
        self.assertEqual((line["status"], line["shape"], line["pass"]),
                         ("ok", "eegnet b2 1x129x500", "step"), line)
        self.assertTrue(0 < line["min_ms"] <= line["median_ms"] <= line["max_ms"])
        self.assertTrue(0 <= line["error_share"] <= 1)
        self.assertTrue(10 < line["operations"] < 200)
        self.assertGreater(line["memory_bytes"], 4 * 2 * 8 * 129 * 501)  # the first layer's map
        self.assertTrue(line["capture_ms"] > 0 and line["first_ms"] > 0 and line["mean_ms"] > 0)
        self.assertTrue(0 < line["flops_share"] and 0 < line["copy_share"])
        rate = 2e3 / line["transfers_ms"]
        self.assertAlmostEqual(line["images_per_second"], rate, delta=1e-6 * rate)
        self.assertAlmostEqual(line["days"], 3 / rate, delta=1e-6 / rate)

    def test_networks_that_are_none(self):
        for arguments, why in ((["yolo"], "--net yolo: there is no such network; there are "
                                          "yolov8n, resnet18, resnet50, mobilenet_v2, eegnet\n"),
                               (["eegnet", "--image", "64"], "what eegnet reads is not square"),
                               (["eegnet", "--algorithm", "all"], "--algorithm is not for --net")):
            done = self.nets(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(why, done.stderr)
        done = run("bench", "--device", "cpu", "--images", "9")
        self.assertEqual(done.returncode, 2)
        self.assertIn("are for --net", done.stderr)
        done = self.nets("yolov8n", "--batch", "1", "--image", "36")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "yolov8n: concatenate: .* is ")

    def test_a_shape_that_is_none_is_2(self):
        for arguments, why in ((["n1c3h20w20 k4r3s3 pad1"], "expected a space, and a direction"),
                               (["n1c1w5 k1s6 forward"], "filter of axis w"),
                               (["n1c1w5 k1s3 forward", "--pass", "forward"], "names its pass")):
            done = run("bench", "--device", "cpu", "--shape", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(why, done.stderr)

    def test_installed_table_by_name_and_width(self):
        done = run("bench", "--shapes", "mobilenetv2_dw_b8", "--device", "cpu", "--quick",
                   "--min-time", "0", "--pass", "forward")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        table = done.stdout[done.stdout.index("mobilenetv2_dw_b8"):]
        self.assertLessEqual(max(len(line) for line in table.splitlines()), 120)

    def test_malformed_table_is_2(self):
        with open(self.table, "a", encoding="utf-8") as file:
            file.write("broken,1,2\n")
        done = self.bench()
        self.assertEqual(done.returncode, 2)
        self.assertIn("tiny.csv:4: ", done.stderr)

    def test_progress_only_when_forced(self):
        self.assertEqual(self.bench().stderr, "")
        self.assertIn("5/6", self.bench("--progress").stderr)

    def test_a_fault_is_an_error_line(self):
        if "ocl:0" not in run("info").stdout:
            self.skipTest("no OpenCL device")
        path = self.path("fault.json")
        with subprocess.Popen([TOOL, "bench", "--shapes", self.table, "--device", "ocl:0",
                               "--samples", "200", "--json", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as bench:
            self.kill_worker(bench, path)
            text, errors = bench.communicate(timeout=300)
        self.assertEqual(bench.returncode, 1, text + errors)
        states = [line["status"] for line in read_json(path) if line["type"] == "line"]
        self.assertEqual(sorted(states), ["error"] + ["ok"] * 5, text + errors)

    def kill_worker(self, bench, path):
        """Kills the tool's worker as soon as one line has been timed."""
        wait_for_lines(path + ".incomplete", 2)
        worker, = children_of(bench.pid)
        os.kill(worker, signal.SIGKILL)

    def test_compare_with_no_bench_is_1(self):
        for file, status, why in ((self.table, 1, "no line of a bench"),
                                  ("/no/such", 2, "No such")):
            done = self.bench("--compare", file)
            # This is said before anything is timed.
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn(why, done.stderr)


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
    TOOL = sys.argv.pop(1)
    LAYER = os.path.join(os.path.dirname(TOOL), "convoy-libexec", "convoy-faults.so")
    unittest.main()
