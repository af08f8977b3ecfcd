#!/usr/bin/env python3
"""Draws what `convoy bench --json` and `convoy report` wrote, devices side by side.

    python3 bench/plot.py cpu.json card.json --out figures/speed

writes figures/speed-<table>.svg and .png, one panel per pass with the layers of the table side by
side, and figures/speed-sums.svg and .png, the time of whole networks. Lines that are not JSON are
passed over, so a report can be given as it is.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_lines

PASSES = ["forward", "backward_data", "backward_weights", "backward_bias"]
# Okabe and Ito's colours, which also readers with colour vision deficiency tell apart.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]


def import_pyplot():
    """matplotlib.pyplot without a display, or an exit with the way out."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot.py: matplotlib is missing; install it: pip install matplotlib, "
                 "or apt install python3-matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot
    return matplotlib.pyplot


def read_lines(path):
    """The timed layers of one file, and whether it is a part: a figure of one says so."""
    every = bench_lines.read(path)
    why = bench_lines.why_incomplete(every)
    if why:
        print(f"plot.py: {path} is INCOMPLETE: {why}", file=sys.stderr)
    found = [line for line in bench_lines.timed(every) if line["pass"] in PASSES]
    if not found:
        bench_lines.leave(f"{path}: no timed line in it")
    return found, bool(why)


def series_name(line, path, several_files, is_part):
    """What a dot's colour stands for: device, algorithm if one was asked for, file if many."""
    name = f"{line['device']} {line['device_name']}"
    if line["requested"] != "auto":
        name += f", {line['requested']}"
    if several_files:
        name += f" ({os.path.splitext(os.path.basename(path))[0]})"
    return name + " INCOMPLETE" * is_part


def collect(paths):
    """All lines with their series, and the names of tables and series in order of appearance."""
    every = []
    for path in paths:
        found, is_part = read_lines(path)
        for line in found:
            line["series"] = series_name(line, path, len(paths) > 1, is_part)
        every += found
    tables = list(dict.fromkeys(line["table"] for line in every))
    series = list(dict.fromkeys(line["series"] for line in every))
    return every, tables, series


def draw_dots(axes, places, series, value_of, horizontal=False):
    """One dot per place and series; a missing value leaves a gap. Dots, because the scale is
    logarithmic and a bar's length would mean nothing on it."""
    for number, name in enumerate(series):
        found = [(i, value_of(place, name)) for i, place in enumerate(places)]
        at = [i for i, value in found if value]
        values = [value for _, value in found if value]
        axes.plot(*((values, at) if horizontal else (at, values)), linestyle="none", label=name,
                  marker=MARKERS[number % len(MARKERS)], color=COLOURS[number % len(COLOURS)])


def tidy(axes):
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def put_legend(figure, axes, series):
    """Above the panels, where it hides no dot."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", frameon=False, fontsize=9,
                  ncol=1 if len(series) > 2 else len(series))


def draw_table(pyplot, every, table, series):
    """GFLOP/s of each layer, a panel per pass; logarithmic, for devices differ a hundredfold."""
    here = [line for line in every if line["table"] == table]
    layers = list(dict.fromkeys(line["shape"] for line in here))
    passes = [name for name in PASSES if any(line["pass"] == name for line in here)]
    rate = {(line["pass"], line["shape"], line["series"]): line["gflops"] for line in here}
    figure, panels = pyplot.subplots(
        len(passes), 1, sharex=True, squeeze=False,
        figsize=(max(6.0, 1.5 + 0.3 * len(layers)), 1.6 + 2.3 * len(passes)))
    for axes, name in zip(panels[:, 0], passes):
        draw_dots(axes, layers, series, lambda layer, one: rate.get((name, layer, one)))
        axes.set_yscale("log")
        axes.set_ylabel("GFLOP/s")
        axes.set_title(f"{table}: {name.replace('_', ' ')}", loc="left", fontsize=10)
        tidy(axes)
    panels[-1, 0].set_xticks(range(len(layers)), layers, rotation=60, ha="right", fontsize=8)
    put_legend(figure, panels[0, 0], series)
    return figure


def draw_sums(pyplot, every, tables, series):
    """Milliseconds of whole tables, each layer times its count, all passes together. A series with
    fewer layers than another has no dot: its sum would look better than it is."""
    total, parts = {}, {}
    for line in every:
        key = (line["table"], line["series"])
        total[key] = total.get(key, 0.0) + line["count"] * line["median_ms"]
        parts[key] = parts.get(key, 0) + 1
    most = {table: max(parts.get((table, one), 0) for one in series) for table in tables}

    def value_of(table, one):
        return total.get((table, one)) if parts.get((table, one)) == most[table] else None

    figure, axes = pyplot.subplots(figsize=(8.0, 1.8 + 0.4 * len(tables)))
    draw_dots(axes, tables, series, value_of, horizontal=True)
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds for all passes of a table, operands resident (less is better)")
    axes.set_yticks(range(len(tables)), tables)
    axes.set_ylim(len(tables) - 0.5, -0.5)
    tidy(axes)
    put_legend(figure, axes, series)
    return figure


def save(pyplot, figure, path, series):
    rows = len(series) if len(series) > 2 else 1
    height = figure.get_size_inches()[1]
    figure.tight_layout(rect=(0, 0, 1, 1 - (0.1 + 0.2 * rows) / height))
    for ending in ("svg", "png"):
        figure.savefig(f"{path}.{ending}", dpi=150)
        print(f"{path}.{ending}")
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", help="JSON lines of convoy bench, or reports")
    parser.add_argument("--out", default="bench", help="path and beginning of the files' names")
    options = parser.parse_args()
    every, tables, series = collect(options.files)
    pyplot = import_pyplot()
    os.makedirs(os.path.dirname(options.out) or ".", exist_ok=True)
    for table in tables:
        figure = draw_table(pyplot, every, table, series)
        save(pyplot, figure, f"{options.out}-{table}", series)
    save(pyplot, draw_sums(pyplot, every, tables, series), f"{options.out}-sums", series)


if __name__ == "__main__":
    main()
