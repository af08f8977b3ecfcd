"""test_readme.py FIRST_PROGRAM: what README.md shows is what was compiled, and it computes.

The programs in README.md are the files of examples/, letter by letter; each program run says what
README.md says it says; each path named in back-quotes exists.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown_programs():
    return set(re.findall(r"```(?:c|python)\n(.*?)```", README, re.S))


def missing_paths():
    names = re.findall(r"`([\w.-]+/[\w./-]*)`", README)
    return [name for name in names if not name.startswith("build/") and not (ROOT / name).exists()]


def main(program):
    faults = [f"README.md names {name}, which is not there" for name in missing_paths()]
    for file in "examples/first.c", "examples/first.py":
        if (ROOT / file).read_text(encoding="utf-8") not in shown_programs():
            faults.append(f"README.md does not show {file} as it is")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    output = done.stdout
    if not output.startswith("y[0][0][1][1] = 9, by "):
        faults.append(f"examples/first.c printed {output!r}")
    print("\n".join(faults) or output)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
