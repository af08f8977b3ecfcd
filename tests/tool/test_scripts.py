"""scripts/*.sh: help, wrong arguments, Ctrl-C. Usage: test_scripts.py ROOT

They run in a copy of the folder, beside stand-ins for what installs, builds and trains.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = None
SCRIPTS = ["demo.sh", "pull_plug.sh", "setup.sh", "test.sh"]
OPTIONS = ["examples/common/options.c", "examples/train_fashion.c"]

BUILDER = """#!/bin/bash
echo called >>"$STAND_INS/called"
while [ -e "$STAND_INS/slow" ]; do sleep 0.1; done
"""
# Ends as train_fashion does; its child stands for the process that has the driver.
TRAINER = """#!/bin/bash
echo "arguments: $*"
if [ -e "$STAND_INS/quick" ]; then
  echo "result: accuracy=0.9 device=cpu seconds=1.0"
  exit
fi
sleep 1000 &
trap 'kill %1; echo "stopped by Ctrl-C"; exit 130' INT
trap 'kill %1; exit 143' TERM
echo "step 1"
for ((;;)); do sleep 0.1; done
"""


def processes_of(session):
    """The command lines of all processes of a session that are no zombies."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                state, _, _, own = file.read().rpartition(")")[2].split()[:4]
            with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                line = file.read().replace("\0", " ")
        except OSError:
            continue  # it has ended since
        if int(own) == session and state != "Z":
            found.append(f"{name} {line}")
    return found


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "root")
        self.stand_ins = os.path.join(folder.name, "stand_ins")
        self.temporary = os.path.join(folder.name, "tmp")
        shutil.copytree(os.path.join(ROOT, "scripts"), os.path.join(self.root, "scripts"))
        for options in OPTIONS:
            os.makedirs(os.path.dirname(self.path(options)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, options), self.path(options))
        os.mkdir(self.stand_ins)
        os.mkdir(self.temporary)

    def path(self, name):
        return os.path.join(self.root, name)

    def write_program(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def put_stand_ins(self, *switches):
        self.write_program(self.path("scripts/setup.sh"), "#!/bin/bash\n")
        self.write_program(os.path.join(self.stand_ins, "cmake"), BUILDER)
        self.write_program(self.path("build/release/examples/train_fashion"), TRAINER)
        for switch in switches:
            with open(os.path.join(self.stand_ins, switch), "w", encoding="utf-8"):
                pass

    def start(self, script, *arguments):
        settings = {**os.environ, "PATH": f"{self.stand_ins}:{os.environ['PATH']}",
                    "STAND_INS": self.stand_ins, "TMPDIR": self.temporary}
        for name in ("POCL_CACHE_DIR", "CONVOY_CACHE_DIR", "CONVOY_STATE_DIR", "CONVOY_TUNE_FILE"):
            settings.pop(name, None)
        running = subprocess.Popen([self.path(f"scripts/{script}"), *arguments], env=settings,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        self.addCleanup(self.clear, running)
        return running

    @staticmethod
    def clear(running):
        for process in processes_of(running.pid):
            os.kill(int(process.split()[0]), signal.SIGKILL)
        running.stdout.close()
        running.wait()

    def run_script(self, script, *arguments):
        running = self.start(script, *arguments)
        text = running.communicate(timeout=60)[0]
        return running.returncode, text

    # ------------------------------------------------------------------------- help, usage

    def test_help_is_the_header_and_does_nothing(self):
        for script in SCRIPTS:
            for arguments in (["--help"], ["-h"], ["anything", "--help"]):
                status, text = self.run_script(script, *arguments)
                with open(self.path(f"scripts/{script}"), encoding="utf-8") as file:
                    header = re.match(r"#!.*\n((?:#.*\n)+)", file.read()).group(1)
                self.assertEqual(status, 0, text)
                self.assertEqual(text, re.sub(r"(?m)^# ?", "", header))
                self.assertIn(f"scripts/{script}", text)
                self.assertEqual(sorted(os.listdir(self.root)), ["examples", "scripts"])

    def test_wrong_arguments_are_told_before_anything_is_done(self):
        for script, arguments, why in (
                ("demo.sh", ["--nonsense"], "unknown argument --nonsense"),
                ("demo.sh", ["--steps", "5", "more"], "unknown argument more"),
                ("demo.sh", ["--steps/e"], "unknown argument --steps/e"),
                ("demo.sh", ["--resume", "--steps"], "--steps needs a value"),
                ("pull_plug.sh", ["--device"], "unknown argument --device"),
                ("pull_plug.sh", ["ocl:0", "ocl:1"], "one device at most, not ocl:0 ocl:1"),
                ("test.sh", ["--nonsense"], "unknown argument --nonsense"),
                ("test.sh", ["-R"], "-R needs a value")):
            self.put_stand_ins()
            status, text = self.run_script(script, *arguments)
            self.assertEqual((status, text), (2, f"{script}: {why}; --help says what there is\n"))
            self.assertFalse(os.path.exists(os.path.join(self.stand_ins, "called")))
        for arguments in (["everything"], ["build", "test"]):
            shutil.copy(os.path.join(ROOT, "scripts/setup.sh"), self.path("scripts/setup.sh"))
            self.assertEqual(self.run_script("setup.sh", *arguments)[0], 2)

    def test_demo_takes_what_the_program_takes(self):
        self.put_stand_ins("quick")
        rows = []
        for options in OPTIONS:
            with open(self.path(options), encoding="utf-8") as file:
                rows += re.findall(r'\{"(--[a-z-]+)", .*OPTION_([A-Z]+)', file.read())
        self.assertGreater(len(rows), 8)
        given = [word for name, kind in rows
                 for word in ([name] if kind == "FLAG" else [name, "7"])]
        status, text = self.run_script("demo.sh", *given)
        self.assertEqual(status, 0, text)
        self.assertIn(" ".join(given), text)
        self.assertTrue(text.endswith("\ndemo: accuracy=0.9 device=cpu seconds=1.0\n"), text)

    # ----------------------------------------------------------------------------- signals

    def wait_for(self, running, wanted):
        text = ""
        while wanted not in text:
            line = running.stdout.readline()
            self.assertTrue(line, text)
            text += line
        return text

    def check_ended(self, running, status):
        text = running.communicate(timeout=60)[0]
        self.assertEqual(running.returncode, status, text)
        self.assertEqual(processes_of(running.pid), [])
        return text

    def end(self, script, wanted, send, status, *arguments):
        """Runs until it says what is wanted; sends the signal; what is said then."""
        self.put_stand_ins()
        running = self.start(script, *arguments)
        self.wait_for(running, wanted)
        send(running.pid)
        text = self.check_ended(running, status)
        self.assertEqual(os.listdir(self.temporary), [])
        return text

    def test_ctrl_c(self):
        """The terminal signals the whole group."""
        def send(pid):
            os.killpg(pid, signal.SIGINT)
        self.assertIn("stopped by Ctrl-C", self.end("demo.sh", "step 1", send, 130))
        self.end("pull_plug.sh", "step 1", send, 130)
        with open(self.path("build/pull_plug.log"), encoding="utf-8") as file:
            self.assertIn("stopped by Ctrl-C", file.read())

    def test_a_signal_for_the_script_alone(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for script in ("demo.sh", "pull_plug.sh"):
                self.end(script, "step 1", lambda pid: os.kill(pid, number), 128 + number)

    def test_ctrl_c_while_it_builds(self):
        for script in ("demo.sh", "pull_plug.sh", "test.sh"):
            self.put_stand_ins("slow")
            running = self.start(script)
            self.wait_for(running, "building preset")
            while not os.path.exists(os.path.join(self.stand_ins, "called")):
                time.sleep(0.02)
            os.killpg(running.pid, signal.SIGINT)
            text = self.check_ended(running, 130)
            self.assertNotIn("does not build", text)
            os.unlink(os.path.join(self.stand_ins, "called"))


if __name__ == "__main__":
    ROOT = sys.argv.pop(1)
    unittest.main()
