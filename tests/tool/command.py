"""The tool as a process, for the tests of it from outside. Each of these is a program:

    test_bench.py TOOL [TEST...]
"""

import json
import os
import subprocess
import sys
import time
import unittest

# The tests' first argument, and what makes a driver fail.
TOOL = sys.argv.pop(1)
LAYER = os.path.join(os.path.dirname(TOOL), "convoy-libexec", "convoy-faults.so")
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
