"""python -m convoy routes: the measured routes that are kept, and forgetting them."""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase
from itertools import groupby
from typing import List

from ._routefile import Route, Routes, change, default_path, read

_PATTERN = "only those in whose line this occurs; *, ? and [...] stand for what they do in a shell"


def _parse(words: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m convoy routes",
        description="Shows which way was measured to be the fastest for which convolution "
        "(CONVOY_ROUTE=measured), the times of each way, when and on what.",
        epilog="The file is torch-routes.txt in Convoy's configuration, or CONVOY_ROUTE_FILE.",
        allow_abbrev=False,
    )
    parser.add_argument("--clear", action="store_true", help="forget them: they are measured anew")
    parser.add_argument("pattern", nargs="?", default="", metavar="PATTERN", help=_PATTERN)
    return parser.parse_args(words)


def _line(route: Route) -> str:
    layout = "" if route.layout == "contiguous" else f" {route.layout}"
    return f"{route.problem}{layout}  {route.way}  ({route.times}, {route.when})"


def _matches(route: Route, pattern: str) -> bool:
    return fnmatchcase(f"{_line(route)} {route.place}".lower(), f"*{pattern.lower()}*")


def _printable(text: str) -> str:
    """Whatever somebody has put into the file: no control sequences for the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _show(routes: Routes) -> None:
    def place(route: Route) -> str:
        return route.place

    for name, group in groupby(sorted(routes, key=place), place):
        print("\non " + _printable(name))
        for route in group:
            print(_printable(f"  {_line(route)}"))


def _clear(pattern: str) -> str:
    """How many are gone."""
    count = ""

    def edit(routes: Routes) -> Routes:
        nonlocal count
        others = [route for route in routes if not _matches(route, pattern)]
        count = f"{len(routes) - len(others)} of {len(routes)}"
        return others

    change(default_path(), edit)
    return count


def main(words: List[str]) -> None:
    options = _parse(words)
    path = default_path()
    if options.clear:
        print(f"{path}: {_clear(options.pattern)} measured routes cleared")
        return
    routes = read(path)
    matching = [route for route in routes if _matches(route, options.pattern)]
    print(f"{path}: {len(matching)} of {len(routes)} measured routes")
    _show(matching)
