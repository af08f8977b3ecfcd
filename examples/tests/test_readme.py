"""test_readme.py FIRST_PROGRAM: what documents show is what was compiled, and it computes.

The programs in README.md are the files of examples/, letter by letter; each program run says what
README.md says it says; each path named in back-quotes exists. What docs/programs_language.md shows
are lines of examples/batch_norm.c and .py that follow each other, blanks before them left aside.
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


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def excerpts_that_are_none():
    document = (ROOT / "docs" / "programs_language.md").read_text(encoding="utf-8")
    shown = re.findall(r"```(c|python)\n(.*?)```", document, re.S)
    if {language for language, _ in shown} != {"c", "python"}:
        yield "docs/programs_language.md shows no example in both languages"
    for language, text in shown:
        name = "batch_norm.c" if language == "c" else "batch_norm.py"
        there = lines_of((ROOT / "examples" / name).read_text(encoding="utf-8"))
        wanted = lines_of(text)
        if not any(there[i : i + len(wanted)] == wanted for i in range(len(there))):
            yield f"docs/programs_language.md shows what examples/{name} has not: {wanted[0]}"


def main(program):
    faults = [f"README.md names {name}, which is not there" for name in missing_paths()]
    for file in "examples/first.c", "examples/first.py":
        if (ROOT / file).read_text(encoding="utf-8") not in shown_programs():
            faults.append(f"README.md does not show {file} as it is")
    faults.extend(excerpts_that_are_none())
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    output = done.stdout
    if not output.startswith("y[0][0][1][1] = 9, by "):
        faults.append(f"examples/first.c printed {output!r}")
    print("\n".join(faults) or output)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
