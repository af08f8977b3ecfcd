"""Reads the public headers as text: functions, structs, enums and callback types.

Shares nothing with the package: the declarations are compared with what is found here.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "include" / "convoy"


def _code():
    text = "".join(path.read_text() for path in sorted(FOLDER.glob("*.h")))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def _squeeze(text):
    return " ".join(text.replace("*", " * ").split())


def _type(parameter):
    """"const int64_t * shape" and "const int64_t shape[]" are "const int64_t *", and so are rows
    of them, "const int64_t shapes[][N]"."""
    pointer = re.sub(r"\b(\w+)\[\](\[\w+\])?$", r"* \1", _squeeze(parameter))
    return re.sub(r"\s*\b\w+$", "", pointer).strip()


def _parameters(text):
    """["const int64_t *", ...]: the types, without names."""
    return [] if _squeeze(text) == "void" else [_type(part) for part in text.split(",")]


def _signatures(pattern):
    return {
        match["name"]: (_squeeze(match["result"]), _parameters(match["parameters"]))
        for match in re.finditer(pattern, _code(), flags=re.S)
    }


def functions():
    """{name: (result type, [parameter types])}"""
    return _signatures(
        r"CONVOY_API\s+(?P<result>[^;()]*?[\s*])(?P<name>convoy_\w+)\((?P<parameters>[^)]*)\)\s*;"
    )


def callbacks():
    return _signatures(
        r"typedef\s+(?P<result>[^;(){}]*?[\s*])(?P<name>convoy_\w+)\((?P<parameters>[^)]*)\)\s*;"
    )


def structs():
    """{name: [field names]}, those with a body."""
    found = re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", _code(), flags=re.S)
    return {name: re.findall(r"(\w+)(?:\[\w+\])?;", body) for name, body in found}


def enums():
    """{name: [constants]}"""
    found = re.findall(r"typedef enum (\w+) \{(.*?)\} \1;", _code(), flags=re.S)
    return {name: re.findall(r"\b(CONVOY_\w+)\s*=", body) for name, body in found}


def api_count():
    """How often the header says CONVOY_API before a function, however it is laid out."""
    return len(re.findall(r"\bCONVOY_API\b", _code()))
