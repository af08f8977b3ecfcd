#!/usr/bin/env python3
"""declarations.py [--check]: writes bindings/python/convoy/_lib.py, the C interface in ctypes, of
the public headers; or says where it is not what they declare."""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "bindings" / "python" / "convoy" / "_lib.py"
HEADERS = "convoy framework graph nn operations state".split()

ENUMS = {  # C name: what the names of its constants begin with, and what it says
    "convoy_status": ("CONVOY_", "what a call of the C library returned"),
    "convoy_log_level": ("CONVOY_LOG_", "how much is logged"),
    "convoy_switch": ("CONVOY_", "an option that can be left to environment and default"),
    "convoy_verify": ("CONVOY_VERIFY_", "how results of a device are checked"),
    "convoy_isolation": ("CONVOY_ISOLATION_", "where the GPU driver lives"),
    "convoy_device_type": ("CONVOY_DEVICE_", "what kind of device it is"),
    "convoy_dtype": ("CONVOY_", "the type of all elements"),
    "convoy_direction": ("CONVOY_", "which of the four operations"),
    "convoy_activation": ("CONVOY_", "what forward applies to its result"),
    "convoy_pool": ("CONVOY_", "what is made of windows"),
    "convoy_padding": ("CONVOY_PAD_", "what lies around an array that is padded"),
    "convoy_interpolation": (
        "CONVOY_",
        "where an element of a result lies in what is resampled",
    ),
    "convoy_event_kind": ("CONVOY_EVENT_", "what an event reports"),
    "convoy_reduction": ("CONVOY_REDUCE_", "what becomes of the losses of elements"),
}
NUMBERS = """MAX_RANK MAX_DIMS BOX_AXES MATMUL_TRANSPOSE_A MATMUL_TRANSPOSE_B MATMUL_SUM STATE_EXTRA
    STATE_MISSING DESCRIPTION_TEXT PROBLEM_TEXT PROGRAM_TEXT""".split()
SCALARS = {
    "float": "c_float",
    "double": "c_double",
    "size_t": "c_size_t",
    "unsigned": "c_uint",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
}

TOGETHER = "\0"  # a blank at which no line ends

# ---------------------------------------------------------------------------------------- reading


def code():
    folder = ROOT / "include" / "convoy"
    found = {path.stem for path in folder.glob("*.h")}
    names = [name for name in HEADERS if name in found] + sorted(found - set(HEADERS))
    text = "".join((folder / f"{name}.h").read_text() for name in names)
    return re.sub(r"/\*.*?\*/", " ", text.replace("\\\n", " "), flags=re.S)


TEXT = code()
BODIES = {
    kind: dict(re.findall(rf"typedef {kind} (\w+) \{{(.*?)\}} \1;", TEXT, flags=re.S))
    for kind in ("struct", "enum")
}
SIGNATURE = r"([^;()#{{}}]*?[\s*])(convoy_\w+)\(([^)]*)\)\s*;"
FUNCTIONS = re.findall(r"CONVOY_API\s+" + SIGNATURE.format(), TEXT)
CALLBACKS = re.findall(r"typedef\s+" + SIGNATURE.format(), TEXT)


def camel(name, without=r"^convoy_"):
    return "".join(word.title() for word in re.sub(without, "", name).split("_"))


def struct_name(name):
    return camel(name, r"^convoy_(?=\w)|(?<=m|y|d)_options$|_info$") + "Struct"


def callback_name(name):
    return camel(name, r"^convoy_|_fn$") + ("Function" if name.endswith("_fn") else "")


def constant(name):
    return re.search(rf"#define CONVOY_{name} (\w+)", TEXT)[1].rstrip("u")


# ------------------------------------------------------------------------------------------ types


def ctype(text):
    """Of a C type without the name: "const convoy_conv *"."""
    words = [word for word in text.replace("*", " * ").split() if word not in ("const", "struct")]
    name, stars = words[0], words.count("*")
    if name == "char":
        return "c_char_p"
    if name in {each[1] for each in CALLBACKS}:
        return callback_name(name)
    if name in BODIES["enum"]:
        return ["c_int", "POINTER(c_int)"][stars]
    if name in BODIES["struct"]:
        return f"POINTER({struct_name(name)})"
    if name in SCALARS:
        return [SCALARS[name], f"POINTER({SCALARS[name]})"][stars]
    return ["None", "c_void_p", "POINTER(c_void_p)"][stars]


def parameter(text):
    text = re.sub(r"\b(\w+)\[\](\[\w+\])?$", r"* \1", " ".join(text.replace("*", " * ").split()))
    return ctype(re.sub(r"\s*\b\w+$", "", text))


def parameters(text):
    return [] if text.strip() == "void" else [parameter(each) for each in text.split(",")]


def field(line):
    """("name", ctype) of a struct's members, of which one line may have several."""
    kind, names = re.match(r"\s*((?:const\s+)?\w+\s*\**)\s*(.*)", line, flags=re.S).groups()
    for name in names.split(","):
        name, _, extent = name.strip().rstrip("]").partition("[")
        one = "c_char" if extent and kind.strip() == "char" else ctype(kind + "*" * name.count("*"))
        if one.endswith("Function") or one in map(callback_name, ["convoy_team"]):
            one = "c_void_p"
        extent = extent.replace("CONVOY_", "")
        if (one, extent) == ("c_int64", "MAX_RANK"):
            one, extent = "Axes", ""
        said = f'("{name.strip("* ")}", {one}{f" * {extent}" if extent else ""})'
        yield said.replace(" ", TOGETHER)


# ---------------------------------------------------------------------------------------- writing


def wrapped(line, indent):
    """In lines of 99 columns."""
    lines = textwrap.fill(line, 99, subsequent_indent=" " * indent, break_long_words=False)
    return lines.replace(TOGETHER, " ") + "\n"


def enums():
    for name, (prefix, what) in ENUMS.items():
        yield f'\n\nclass {camel(name)}(enum.IntEnum):\n    """{name}: {what}."""\n\n'
        for member, value in re.findall(r"(CONVOY_\w+)\s*=\s*(\d+)", BODIES["enum"][name]):
            yield f"    {member[len(prefix):]} = {value}\n"
    yield "\n\n# C name: (what the names of its constants begin with, the enum)\nENUMS = {\n"
    for name, (prefix, _) in ENUMS.items():
        yield f'    "{name}": ("{prefix}", {camel(name)}),\n'
    yield "}\n"


def structs():
    for name, body in BODIES["struct"].items():
        fields = [each for line in body.split(";") if line.strip() for each in field(line)]
        yield f"\n\nclass {struct_name(name)}(Sized):\n"
        yield wrapped(f"    _fields_ = [{', '.join(fields)}]", 8)
    yield "\n\nSTRUCTS = {\n"
    yield from (f'    "{name}": {struct_name(name)},\n' for name in BODIES["struct"])
    yield "}\n\n"


def signatures():
    for result, name, given in CALLBACKS:
        types = ", ".join([ctype(result), *parameters(given)])
        yield f"{callback_name(name)} = ctypes.CFUNCTYPE({types})\n"
    yield "\nCALLBACKS = {\n"
    yield from (f'    "{name}": {callback_name(name)},\n' for _, name, _ in CALLBACKS)
    yield "}\n\n# C name: (what it returns, its arguments)\nFUNCTIONS = {\n"
    for result, name, given in FUNCTIONS:
        types = ", ".join(parameters(given))
        yield wrapped(f'    "{name}": ({ctype(result)}, [{types}]),', 8)
    yield "}\n"


HEAD = '''"""The C interface in ctypes: constants, structs and signatures of the public headers.

Written by scripts/declarations.py; tests/test_declarations.py compares all with the headers.
"""

from __future__ import annotations

import ctypes
import enum
from ctypes import (
    POINTER,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)

'''
SIZED = '''
Axes = c_int64 * MAX_RANK


class Sized(ctypes.Structure):
    """A struct whose first field tells the library how much of it there is."""

    def __init__(self, **fields: object) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **fields)
'''
TAIL = '''

def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Gives every function of the loaded library its signature."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
'''


def written():
    version = ", ".join(constant(f"VERSION_{part}") for part in ("MAJOR", "MINOR", "PATCH"))
    numbers = "".join(f"{name} = {constant(name)}\n" for name in NUMBERS)
    parts = [HEAD, f"VERSION = ({version})\n", numbers, *enums(), SIZED, *structs()]
    return "".join([*parts, *signatures(), TAIL])


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if PATH.read_text() == written():
            sys.exit(0)
        sys.exit(f"{PATH} is not what the headers declare: {sys.argv[0]} writes it anew")
    PATH.write_text(written())
