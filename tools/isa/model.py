#!/usr/bin/env python3
"""A model of how long a convolution takes on a GPU, tested where times were measured, applied where
none can be.

    tools/isa/model.py check RESULTS.json  predicts the lines of an untuned bench on an H200
    tools/isa/model.py rdna1               predicts the layers of yolov8n_rx5600xt on an RX 5600 XT

One formula for every launch of every operation:

    time = launch + max(arithmetic, local memory, memory)
    arithmetic = rounds * multiply-adds of a group / (rate of a unit * share * filled * efficiency)

rounds: work-groups per compute unit, rounded up. share: multiply-adds among the vector instructions
of the hot loop. filled: how much of a unit the waves on it keep busy. local memory: bytes the hot
loop reads there. memory: operands, packed weights and partial results, each once.
docs/rdna1.md says where each number comes from, and how far the model is off.
"""

import argparse
import csv
import math
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass

import isa

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import bench_lines


@dataclass
class Device:
    name: str
    units: int  # as OpenCL counts them
    lanes: int  # multiply-adds per clock and unit
    clock: float  # Hz
    memory: float  # bytes per second
    local: float  # bytes per clock and unit
    launch: float  # seconds
    waves_slots: int  # waves of a unit at one wave per SIMD
    wave: int
    efficiency: float  # what is left after everything the formula does not know: calibrated
    share: float  # where no assembly says it

    @property
    def peak(self):
        return 2.0 * self.units * self.lanes * self.clock


# What the formula does not know, waits for one thing and another, in one number: chosen so that the
# median over yolov8n_b32 and resnet50_b8 on an H200 is right. The only one that is fitted.
EFFICIENCY = 0.61

# The H200's clock and bandwidth are what `convoy bench` measures there (FMA peak, copying); the
# share of multiply-adds is that of the same programs compiled for gfx1010: there is no reading
# NVIDIA's.
H200 = Device("NVIDIA H200", 132, 128, 1.93e9, 3.9e12, 128, 4e-6, 4, 32, EFFICIENCY, 0.87)
# RX 5600 XT: 18 work-group processors of 128 lanes, 1.56 GHz boost, 288 GB/s of which 80 % can be
# had, local memory of two times 128 bytes per clock. Launch: what AMD's OpenCL queues take, an
# assumption.
RX_5600_XT = Device("gfx1010", 18, 128, 1.56e9, 0.8 * 288e9, 256, 10e-6, 4, 32, EFFICIENCY, 0.85)

# How busy waves per SIMD keep it: a wave alone waits for its own operands.
FILLED = ((0.0, 0.0), (0.5, 0.42), (1.0, 0.78), (2.0, 0.95), (3.0, 1.0))
# Measured backward and forward milliseconds of the same layers on an RX 5600 XT with dlprimitives.
PUBLISHED = ((3.26, 12.20), (4.10, 6.52), (8.43, 8.57), (3.23, 4.01), (0.36, 1.70), (0.98, 1.40))


def filled(waves):
    for (x0, y0), (x1, y1) in zip(FILLED, FILLED[1:]):
        if waves < x1:
            return y0 + (y1 - y0) * (waves - x0) / (x1 - x0)
    return 1.0


def numbers(options):
    """-D NAME=NUMBER pairs."""
    return {name: int(value) for name, _, value in
            (word.partition("=") for word in options.split() if "=" in word)}


def up(value, step):
    return -(-value // step) * step


def padded(layer, direction, options):
    """Multiply-adds a product does per useful one: whole tiles, whole blocks."""
    k, c, groups = layer["K"], layer["C"], layer["groups"]
    taps, images = layer["R"] * layer["S"], layer["N"]
    out = [(layer[i] + 2 * layer[p] - layer[d] * (layer[f] - 1) - 1) // layer[s] + 1
           for i, p, d, f, s in (("H", "pad_h", "dil_h", "R", "stride_h"),
                                 ("W", "pad_w", "dil_w", "S", "stride_w"))]
    space = math.prod(out)
    rows, columns, depth = k // groups, images * space, c // groups
    if direction == "backward_data":
        phases = layer["stride_h"] * layer["stride_w"]
        rows, depth = c // groups, k // groups
        columns = images * layer["H"] * layer["W"] // phases
    if direction == "backward_weights":
        columns, depth = c // groups * taps, images * space
    return (up(rows, options["BM"]) / rows * up(columns, options["BN"]) / columns *
            up(depth, options["BK"]) / depth)


def product_seconds(device, launch, per_group, moved, tile, line):
    """A launch of a tiled product: multiply-adds of a work-group, bytes from and to memory, results
    of an item. `line`: what its assembly says, or None."""
    rounds = math.ceil(launch["groups"] / device.units)
    resident = line["waves"] * device.waves_slots * device.wave // launch["items"] if line else 4
    waves = min(rounds, max(resident, 1)) * launch["items"] / device.wave / device.waves_slots
    share = line["fmas"] / line["valu"] if line else device.share
    arithmetic = rounds * per_group / (device.lanes * device.clock * share * filled(waves) *
                                       device.efficiency)
    bytes_read = 4.0 * sum(tile) / math.prod(tile) * rounds * per_group
    local = bytes_read / (device.local * device.clock)
    return device.launch + max(arithmetic, local, moved / device.memory)


def winograd_seconds(device, launch, options, line):
    """winograd_product: tiles are whole, and a slice is terms of the sum. Both operands come from
    memory once for each tile of the other, of which neighbouring work-groups share most."""
    tile, length, groups = (options["BM"], options["BN"]), launch["slice_length"], launch["groups"]
    moved = 4.0 * groups * (math.prod(tile) + tile[1] * length)
    return product_seconds(device, launch, math.prod(tile) * length, moved,
                           (options["TM"], options["TN"]), line)


def moved_floats(launch, options):
    """What an item of a kernel that moves elements reads and writes; neighbours share what they
    overlap in. A result and its operand, but Winograd's transforms have a tile and its points."""
    tile = options.get("TILE", 0) ** 2
    points = (options.get("TILE", 0) + 2) ** 2
    return {
        "winograd_input": tile + points,
        "winograd_operands": tile + points,
        "winograd_weights": 9 + points,
        "winograd_output": launch["slices"] * points + tile,
        "winograd_filter": launch["slices"] * points + 9,
        "winograd_filter_shared": (launch["slices"] * points + 9)
        / max(launch["items_per_result"], 1),
    }.get(launch["kernel"], 2)


def launch_seconds(device, launch, layers, programs, lines):
    options = numbers(programs[launch["program"]])
    line = lines.get((launch["program"], launch["kernel"]))
    if launch["kernel"].startswith("implicit_gemm"):
        waste = padded(layers[launch["table"], launch["layer"]], launch["pass"], options)
        return product_seconds(device, launch, launch["flops"] / 2 * waste / launch["groups"],
                               launch["bytes"], (options["TM"], options["TN"]), line)
    if launch["kernel"] == "winograd_product":
        return winograd_seconds(device, launch, options, line)
    moved = 4.0 * moved_floats(launch, options) * launch["groups"] * launch["items"]
    return device.launch + moved / device.memory


def read_layers(tables):
    found = {}
    for table in tables:
        with open(isa.table_path(table), encoding="utf-8") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                found[table, row["name"]] = {key: int(value) for key, value in row.items()
                                             if key != "name"}
    return found


def take_down(device, paths, compiled, which=()):
    """The launches that the engine would make on the device of tables and plans, the options of
    their programs, and what the assembly of these says where it is compiled."""
    lines = {}
    with tempfile.TemporaryDirectory() as top:
        if compiled:
            bitcode = os.path.join(top, "bitcode")
            os.mkdir(bitcode)
            isa.make_bitcode(bitcode)
            measured, launches = isa.survey(device.name, bitcode, top, paths, which)
            for line in measured:  # the worse of the two compilers
                key = (line["program"], line["kernel"])
                if line.get("fmas") and (key not in lines or line["waves"] < lines[key]["waves"]):
                    lines[key] = line
        else:
            launches = isa.take_down(device.name, top, paths, which)
        programs = {launch["program"]: isa.read_text(
            os.path.join(top, f"{launch['program']}.options")) for launch in launches}
    return launches, programs, lines


def predict(device, tables, compiled, which=()):
    """Seconds by (table, layer, pass), and the launches; `which` goes to isa_variants."""
    layers = read_layers(tables)
    launches, programs, lines = take_down(device, [isa.table_path(table) for table in tables],
                                          compiled, which)
    seconds = {}
    for launch in launches:
        key = (launch["table"], launch["layer"], launch["pass"])
        seconds[key] = seconds.get(key, 0.0) + launch_seconds(device, launch, layers, programs,
                                                              lines)
    return seconds, launches


def read_results(path, tables, row):
    return {(line["table"], line["shape"], line["pass"]): 1e-3 * line["median_ms"]
            for line in bench_lines.timed(bench_lines.read_whole(path))
            if line["table"] in tables and line["algorithm"] == row}


def check(path):
    """Ratios of predicted to measured times of ocl.implicit_gemm, by pass and together. Fails when
    they are far off. The row is forced: where it was chosen when the file was made, others may be
    now."""
    tables, row = ["yolov8n_b32", "resnet50_b8"], "ocl.implicit_gemm"
    predicted, _ = predict(H200, tables, compiled=False, which=["--row", row])
    measured = read_results(path, tables, row)
    ratios = {key: predicted[key] / seconds for key, seconds in measured.items()
              if key in predicted}
    for name in ("forward", "backward_data", "backward_weights", ""):
        some = sorted(ratio for key, ratio in ratios.items() if key[2] == name or not name)
        low, high = some[len(some) // 10], some[-1 - len(some) // 10]
        print(f"{name or 'together':18} {len(some):4} lines  predicted/measured: median "
              f"{statistics.median(some):.2f}, 80 % of them from {low:.2f} to {high:.2f}")
    total = sum(predicted[key] for key in ratios) / sum(measured[key] for key in ratios)
    print(f"sum of all lines: {total:.2f}")
    good = 0.8 <= statistics.median(ratios.values()) <= 1.25
    return 0 if good else 1


def print_winograd(table):
    """The layers that ocl.winograd takes, with it forced."""
    predicted, launches = predict(RX_5600_XT, [table], compiled=True,
                                  which=["--row", "ocl.winograd"])
    flops = {(launch["layer"], launch["pass"]): launch["flops"] for launch in launches}
    fused = {(launch["layer"], launch["pass"]) for launch in launches
             if launch["kernel"] == "winograd_fused"}
    print("\nby ocl.winograd, share of the peak counted as direct products")
    for (_, layer, direction), seconds in predicted.items():
        if (layer, direction) in fused:
            print(f"{layer:16} {direction:18} in one kernel, which is not modelled")
            continue
        share = flops[layer, direction] / seconds / RX_5600_XT.peak
        print(f"{layer:16} {direction:18} {1e3 * seconds:.2f} ms {100 * share:3.0f} %")


def print_rdna1():
    tables = ["yolov8n_rx5600xt"]
    predicted, launches = predict(RX_5600_XT, tables, compiled=True,
                                  which=["--row", "ocl.implicit_gemm"])
    flops = {(launch["table"], launch["layer"], launch["pass"]): launch["flops"]
             for launch in launches}
    names = list(dict.fromkeys(key[1] for key in predicted))
    print("| layer | forward | data | weights | share of peak | published forward / backward |")
    print("|---|---|---|---|---|---|")
    total = 0.0
    for name, (forward, backward) in zip(names, PUBLISHED):
        times = [predicted[tables[0], name, direction]
                 for direction in ("forward", "backward_data", "backward_weights")]
        shares = [flops[tables[0], name, direction] / seconds / RX_5600_XT.peak
                  for seconds, direction in zip(times, ("forward", "backward_data",
                                                        "backward_weights"))]
        total += sum(times)
        print(f"| {name} | {' | '.join(f'{1e3 * t:.2f}' for t in times)} | "
              f"{', '.join(f'{100 * s:.0f} %' for s in shares)} | {forward} / {backward} |")
    published = sum(forward + backward for forward, backward in PUBLISHED)
    print(f"\nsum: {1e3 * total:.2f} ms predicted, {published:.2f} ms published")
    print_winograd(tables[0])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("what", choices=["check", "rdna1"])
    parser.add_argument("results", nargs="?", help="JSON lines of an untuned `convoy bench`")
    given = parser.parse_args()
    isa.check_tools(compilers=given.what == "rdna1")
    if given.what == "rdna1":
        return print_rdna1()
    if not given.results:
        parser.error("check wants a results file")
    return check(given.results)


if __name__ == "__main__":
    sys.exit(main())
