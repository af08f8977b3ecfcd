"""test_batch_norm.py PROGRAM: examples/batch_norm.c learns what it is shown."""

import re
import subprocess
import sys


def main(program):
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    losses = [float(loss) for loss in re.findall(r"step +\d+: loss (\S+)", done.stdout)]
    print(done.stdout + done.stderr)
    learnt = len(losses) == 2 and 0 < losses[1] < 0.25 * losses[0]
    return 0 if done.returncode == 0 and learnt else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
