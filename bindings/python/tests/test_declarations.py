"""The ctypes declarations against the header, read as text and measured by the C compiler.

_lib.py is loaded by its path, so that this runs without a built library.
"""

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import header
import pytest

LIB = Path(__file__).resolve().parents[1] / "convoy" / "_lib.py"


def load_lib():
    spec = importlib.util.spec_from_file_location("declarations", LIB)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lib = load_lib()

PLAIN = {
    "void": None,
    "const char *": ctypes.c_char_p,
    "char *": ctypes.c_char_p,
    "void *": ctypes.c_void_p,
    "const void *": ctypes.c_void_p,
    "void * *": ctypes.POINTER(ctypes.c_void_p),
    "void * const *": ctypes.POINTER(ctypes.c_void_p),
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "unsigned": ctypes.c_uint,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "const float *": ctypes.POINTER(ctypes.c_float),
    "float *": ctypes.POINTER(ctypes.c_float),
    "double *": ctypes.POINTER(ctypes.c_double),
    "uint32_t *": ctypes.POINTER(ctypes.c_uint32),
    "int32_t *": ctypes.POINTER(ctypes.c_int32),
    "const int32_t *": ctypes.POINTER(ctypes.c_int32),
    "const int64_t *": ctypes.POINTER(ctypes.c_int64),
    "int64_t *": ctypes.POINTER(ctypes.c_int64),
    "uint64_t *": ctypes.POINTER(ctypes.c_uint64),
}
OPAQUE = (
    "convoy_context",
    "convoy_tensor",
    "convoy_problem",
    "convoy_program",
    "convoy_graph",
    "convoy_state",
)


def ctype_of(c_type):
    """The ctypes type that a C type of the header must be declared as."""
    if c_type in PLAIN:
        return PLAIN[c_type]
    words = [word for word in c_type.split() if word != "const"]
    name, stars = words[0], words.count("*")
    if name in OPAQUE:
        return {1: ctypes.c_void_p, 2: ctypes.POINTER(ctypes.c_void_p)}[stars]
    if name == "void" and stars == 2:
        return ctypes.POINTER(ctypes.c_void_p)
    if name in header.enums():
        return {0: ctypes.c_int, 1: ctypes.POINTER(ctypes.c_int)}[stars]
    if name in header.callbacks():
        assert stars == 1
        return lib.CALLBACKS[name]
    assert stars == 1, c_type
    return ctypes.POINTER(lib.STRUCTS[name])


def test_the_script_writes_them():
    script = LIB.parents[3] / "scripts" / "declarations.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)


def test_the_header_is_read_completely():
    assert header.api_count() == len(header.functions()) > 30
    assert len(header.structs()) >= 8 and len(header.enums()) >= 9


def test_same_functions():
    assert set(lib.FUNCTIONS) == set(header.functions())


@pytest.mark.parametrize("name", header.functions())
def test_signature(name):
    result, parameters = header.functions()[name]
    declared_result, declared_parameters = lib.FUNCTIONS[name]
    assert declared_result is ctype_of(result)
    assert declared_parameters == [ctype_of(parameter) for parameter in parameters]


def test_callbacks():
    assert set(lib.CALLBACKS) == set(header.callbacks())
    for name, (result, parameters) in header.callbacks().items():
        assert lib.CALLBACKS[name]._restype_ is ctype_of(result)
        assert list(lib.CALLBACKS[name]._argtypes_) == [ctype_of(each) for each in parameters]


def test_same_structs_and_fields():
    declared = {name: [field[0] for field in c._fields_] for name, c in lib.STRUCTS.items()}
    assert declared == header.structs()


def test_same_enums():
    declared = {
        name: [prefix + member.name for member in enum]
        for name, (prefix, enum) in lib.ENUMS.items()
    }
    assert declared == header.enums()


PROGRAM = """
#include <stdio.h>
#include "convoy/convoy.h"
#define KIND(f) _Generic((f), float: "float", double: "float", char *: "text", int64_t *: "axes", \\
                         double *: "reals", const char *: "pointer", default: "integer")
int main(void) {
  %s
  return 0;
}
"""


def program_text():
    lines = []
    for struct, fields in header.structs().items():
        lines.append(f'printf("{struct} %zu\\n", sizeof({struct}));')
        for field in fields:
            lines.append(
                f'printf("{struct}.{field} %zu %zu %s\\n", offsetof({struct}, {field}), '
                f"sizeof((({struct} *)0)->{field}), KIND((({struct} *)0)->{field}));"
            )
    for constants in header.enums().values():
        lines += [f'printf("{name} %d\\n", (int){name});' for name in constants]
    names = "MAX_RANK", "MAX_DIMS", "BOX_AXES", "DESCRIPTION_TEXT", "PROBLEM_TEXT", "PROGRAM_TEXT"
    for name in (*names, "VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH"):
        lines.append(f'printf("{name} %d\\n", CONVOY_{name});')
    return PROGRAM % "\n  ".join(lines)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What the compiler says: {"convoy_conv.rank": "4 4 integer", "CONVOY_OK": "0", ...}"""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("layout")
    source = folder / "layout.c"
    source.write_text(program_text())
    include = f"-I{header.FOLDER.parent}"
    command = [compiler, "-std=c11", include, source, "-o", folder / "layout"]
    subprocess.run(command, check=True)
    output = subprocess.run([folder / "layout"], check=True, capture_output=True, text=True).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


def kind_of(c_type):
    if c_type in (ctypes.c_float, ctypes.c_double):
        return "float"
    if c_type is ctypes.c_char_p:
        return "pointer"
    if issubclass(c_type, ctypes.Array):
        kinds = {ctypes.c_char: "text", ctypes.c_int64: "axes", ctypes.c_double: "reals"}
        return kinds[c_type._type_]
    return "integer"


@pytest.mark.parametrize("name", lib.STRUCTS)
def test_struct_layout(name, measured):
    struct = lib.STRUCTS[name]
    assert int(measured[name]) == ctypes.sizeof(struct)
    for field, c_type in struct._fields_:
        place = getattr(struct, field)
        assert measured[f"{name}.{field}"] == f"{place.offset} {place.size} {kind_of(c_type)}"


@pytest.mark.parametrize("name", lib.ENUMS)
def test_enum_values(name, measured):
    prefix, enum = lib.ENUMS[name]
    for member in enum:
        assert int(measured[prefix + member.name]) == member.value


def test_constants(measured):
    assert int(measured["MAX_RANK"]) == lib.MAX_RANK
    assert int(measured["MAX_DIMS"]) == lib.MAX_DIMS
    assert int(measured["DESCRIPTION_TEXT"]) == lib.DESCRIPTION_TEXT
    assert int(measured["PROBLEM_TEXT"]) == lib.PROBLEM_TEXT
    assert int(measured["PROGRAM_TEXT"]) == lib.PROGRAM_TEXT
    version = [measured[f"VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")]
    assert lib.VERSION == tuple(map(int, version))
