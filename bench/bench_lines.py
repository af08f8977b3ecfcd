"""JSON lines as `convoy bench --json` and `convoy report` write them, and whether all are there."""

import json
import os
import subprocess
import sys
import tempfile


def read(path):
    """The lines as dictionaries; what is not JSON is passed over, so a report is taken as it is."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            if not text.startswith("{"):
                continue
            try:
                lines.append(json.loads(text))
            except ValueError as reason:
                leave(f"{path}: {reason}")
    return lines


def why_incomplete(lines):
    """"" of a complete file, and of one from before files said so."""
    said = [line for line in lines if "state" in line]
    if not said or said[-1]["state"] == "complete":
        return ""
    return said[-1].get("why", "it has no end")


def read_whole(path):
    """The lines of a file that sums are made of; those of a part look better than they are."""
    lines = read(path)
    why = why_incomplete(lines)
    if why:
        leave(f"{path} is INCOMPLETE: {why}")
    return lines


def timed(lines):
    """Those that have a time."""
    return [line for line in lines if line.get("type") == "line" and line.get("status") == "ok"]


def leave(why):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")


def of_step(tool, device, net):
    """The line that `convoy bench --net` writes for "yolov8n:16"."""
    name, _, batch = net.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "lines.json")
        command = [tool, "bench", "--net", name, "--batch", batch, "--device", device]
        subprocess.run([*command, "--json", file], check=True, stdout=subprocess.DEVNULL)
        return timed(read(file))[0]
