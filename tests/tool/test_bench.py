"""convoy bench: exit statuses, what it prints, and JSON lines."""

import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from command import TOOL, TABLE, PASSES, run, read_json, wait_for_lines, children_of


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

    def test_numbers_of_threads(self):
        path = self.path("threads.json")
        done = self.bench("--pass", "forward", "--threads", "1,3", "--json", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = read_json(path)
        devices = [(device["id"], device["compute_units"]) for device in lines[0]["devices"]]
        self.assertEqual(devices, [("cpu/1", 1), ("cpu/3", 3)])
        timed = [(line["shape"], line["device"]) for line in lines if line["type"] == "line"]
        self.assertEqual(timed, [(shape, device) for shape in ("plain", "depthwise")
                                 for device in ("cpu/1", "cpu/3")])
        for wrong in ("0", "257", "two"):
            done = self.bench("--threads", wrong)
            self.assertEqual((done.returncode, done.stderr), (
                2, f"convoy: --threads {wrong}: at most 16 numbers from 1 to 256\n"))

    def test_json_is_utf8_whatever_variables_hold(self):
        path = self.path("bytes.json")
        done = run("bench", "--shapes", self.table, "--device", "cpu", "--quick", "--min-time", "0",
                   "--pass", "forward", "--json", path,
                   CONVOY_TUNE_FILE=os.fsdecode(b"/nowhere/caf\xe9\xff"), CONVOY_DEVICE="\u00e9")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        given = read_json(path)[0]["environment"]
        self.assertEqual(given["CONVOY_TUNE_FILE"], "/nowhere/caf\ufffd\ufffd")
        self.assertEqual(given["CONVOY_DEVICE"], "\u00e9")

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


if __name__ == "__main__":
    unittest.main()
