"""summary.py JUNIT.XML...: what failed, what was skipped and why, and the count of all tests.

A test that another file has the name of stands for that file's: it counts only where it failed.

Exit status 1 if a test failed or a file has no tests, for then something did not run at all.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def skip_reason(case, skipped):
    """CTest's own message names only the exit status: a test says its reason in its output.
    pytest's, of a file skipped as a whole, is in the element's text."""
    message = skipped.get("message", "")
    whole_file = re.search(r"Skipped: ([^'\"]*)", skipped.text or "")
    if whole_file:
        return whole_file.group(1)
    output = case.findtext("system-out") or ""
    said = [line.strip() for line in output.splitlines() if re.search(r"skip", line, re.I)]
    if message and not message.startswith("SKIP_RETURN_CODE"):
        return message
    return said[0] if said else message or "no reason given"


def failure_reason(case, failure):
    """CTest's message is empty: the first line of the output that speaks of an error will do."""
    output = (case.findtext("system-out") or "").splitlines()
    said = [line.strip() for line in output if re.search(r"error|fault|fail", line, re.I)]
    return failure.get("message") or (said[0] if said else "see the output above")


def outcome(case):
    """("passed" | "failed" | "skipped", why)"""
    for tag in "failure", "error":
        if case.find(tag) is not None:
            return "failed", failure_reason(case, case.find(tag))
    skipped = case.find("skipped")
    if skipped is not None:
        return "skipped", skip_reason(case, skipped)
    return "passed", ""


def main(files):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    names = {Path(file).stem for file in files}
    complete = True
    for file in files:
        cases = list(ElementTree.parse(file).iter("testcase"))
        complete = complete and bool(cases)
        for case in cases:
            kind, why = outcome(case)
            if case.get("name") in names and kind != "failed":
                continue
            count[kind] += 1
            if kind != "passed":
                name = f"{case.get('classname', '')}.{case.get('name')}".strip(".")
                print(f"{kind}: {name}: {why.splitlines()[0] if why else ''}")
        if not cases:
            print(f"{file}: no tests")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 0 if complete and count["failed"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
