#!/usr/bin/env python3
"""What compilers for AMD GPUs make of our kernels, without such a GPU.

    tools/isa/isa.py [--table NAME... | --plan FILE...] [--device NAME...] [--near | --row NAME]
                     [--json FILE]

For each device the OpenCL engine runs the tables' layers, or the operations of plans that
`convoy graph` printed, on an OpenCL that only takes down programs
(isa_variants); clang-15 and clang-22 compile them as ROCm's OpenCL does on that device. The table
shows registers, local memory, waves and the hot loop. On gfx1010 and gfx1030 it fails on a spill,
on too much local memory, on fewer than four waves per SIMD and on a prefetch that overlaps nothing.
docs/rdna1.md says what the columns mean.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import assembly

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VARIANTS = os.path.join(ROOT, "build/release/tools/isa/isa_variants")
BUILD = ("cmake --preset release -DCONVOY_TESTS=ON && "
         "cmake --build --preset release --target isa_variants")
BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
# The generation of ROCm 5.2, and the newest there is.
CLANGS = ("15", next((v for v in ("22", "21", "20", "19") if shutil.which(f"clang-{v}")), "22"))
GATED = ("gfx1010", "gfx1030")
REPORTED = ("gfx1100", "gfx906")
WAVE = {"gfx906": 64}  # the others run waves of 32
LDS_MOST = 65536
WAVES_LEAST = 4
# Of a loop's multiply-adds, between the loads for the next round and the wait for them.
OVERLAP_LEAST = 0.25


def check_tools(compilers=True):
    """Ends with a sentence where something that is needed is not there."""
    if not os.access(VARIANTS, os.X_OK):
        sys.exit(f"{os.path.relpath(VARIANTS)} is not there; it is built by: {BUILD}")
    missing = [f"clang-{clang}" for clang in CLANGS if not shutil.which(f"clang-{clang}")]
    if not os.path.isdir(BITCODE):
        missing.append(BITCODE)
    if compilers and missing:
        sys.exit(f"not there: {', '.join(missing)}; scripts/setup.sh ci installs what they are in")


def make_bitcode(folder):
    """ROCm's device libraries, with the one number that the version packaged lacks for gfx1100."""
    for name in os.listdir(BITCODE):
        os.symlink(os.path.join(BITCODE, name), os.path.join(folder, name))
    if "oclc_isa_version_1100.bc" in os.listdir(folder):
        return
    text = os.path.join(folder, "1100.ll")
    with open(text, "w", encoding="utf-8") as file:
        file.write('target triple = "amdgcn-amd-amdhsa"\n'
                   "@__oclc_ISA_version = linkonce_odr hidden local_unnamed_addr addrspace(4) "
                   "constant i32 11000, align 4\n")
    subprocess.run(["clang-15", "-nogpulib", "-target", "amdgcn-amd-amdhsa", "-x", "ir",
                    "-emit-llvm", "-c", text,
                    "-o", os.path.join(folder, "oclc_isa_version_1100.bc")], check=True)


def compile_one(clang, device, bitcode, source, options):
    """As ROCm's OpenCL: waves of 32 and work-group processors from gfx10 on, no further options."""
    target = f"{source[:-3]}.{clang}.s"
    command = [f"clang-{clang}", "-x", "cl", "-cl-std=CL1.2", "-D__OPENCL_VERSION__=120",
               "-target", "amdgcn-amd-amdhsa",
               f"-mcpu={device}", "-O3", "-mcode-object-version=5",
               f"--rocm-device-lib-path={bitcode}", "-Xclang", "-cl-ext=+cl_khr_fp16",
               "-mllvm", "-amdgpu-internalize-symbols", "-S", source, "-o", target,
               *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"clang-{clang} for {device}: {done.stderr[:400]}")
    return assembly.read(target)


def table_path(name):
    return os.path.join(ROOT, "bench/shapes", f"{name}.csv")


def take_down(device, folder, paths, which):
    """The programs and launches the engine makes on the device of tables and plans; `which` goes to
    isa_variants."""
    command = [VARIANTS, device, folder, *which, *paths]
    environment = {**os.environ, "CONVOY_CACHE_DIR": os.path.join(folder, "cache")}
    subprocess.run(command, check=True, env=environment)
    names = ("table", "layer", "pass", "count", "flops", "bytes", "program", "kernel", "groups",
             "items", "slices", "slice_length", "items_per_result")
    with open(os.path.join(folder, "launches.tsv"), encoding="utf-8") as file:
        launches = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in file]
    for launch in launches:
        for name in ("count", "flops", "bytes", *names[6:7], *names[8:]):
            launch[name] = float(launch[name]) if name in ("flops", "bytes") else int(launch[name])
    return launches


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def short(options):
    """The options that are not the extents of space."""
    words = [word for word in options.split() if word != "-D"]
    extents = ("IN_", "FILTER_", "OUT_", "STRIDE_", "PAD_", "DILATION_", "WIDE")
    return " ".join(word for word in words if not word.startswith(extents))


def figures(device, clang, kernel, options):
    """One line of the table."""
    line = {"device": device, "clang": clang, "kernel": kernel.name, "options": short(options),
            "vgprs": kernel.vgprs, "lds": kernel.lds, "scratch": kernel.scratch,
            "waves": kernel.waves}
    hot, step = kernel.hot(), kernel.step()
    if hot:
        local, loads = step.widths()
        line.update(fmas=hot.fmas, valu=hot.valu, overlapped=step.overlapped(),
                    lds_clocks=hot.lds_clocks(WAVE.get(device, 32)), lds_bytes=hot.lds_bytes,
                    load_bytes=step.load_bytes, step_fmas=step.fmas, step_valu=step.valu,
                    local_widths=local, load_widths=loads)
    return line


def faults(line):
    """What a gated device must not have."""
    found = []
    if line["scratch"]:
        found.append(f"spills {line['scratch']} bytes")
    if line["lds"] > LDS_MOST:
        found.append(f"{line['lds']} bytes of local memory")
    if line["waves"] < WAVES_LEAST:
        found.append(f"{line['waves']} waves per SIMD")
    product = line["kernel"].startswith("implicit_gemm") or "product" in line["kernel"]
    overlapped = line.get("overlapped")
    if product and overlapped is not None and overlapped < OVERLAP_LEAST * line["step_fmas"]:
        found.append(f"dead prefetch: {overlapped} of {line['step_fmas']} multiply-adds overlap it")
    return found


def text_of(widths):
    return "+".join(f"{count}x{bits}" for bits, count in sorted(widths.items())) or "-"


HEAD = (f"{'kernel':22} {'options':58} {'clang':>5} {'VGPR':>4} {'LDS':>6} {'scr':>4} {'wav':>3} "
        f"{'FMA%':>5} {'LDS%':>5} {'overlap':>9} {'LDS reads':16} loads")


def row(line):
    fma = lds = overlap = "-"
    if line.get("fmas"):
        fma = f"{100 * line['fmas'] / line['valu']:.0f}"
        # Two SIMDs share the local memory's 128 bytes per clock.
        lds = f"{200 * line['lds_clocks'] / line['valu']:.0f}"
        overlapped = line["overlapped"]
        overlap = "-" if overlapped is None else f"{overlapped}/{line['step_fmas']}"
    return (f"{line['kernel']:22} {line['options']:58.58} {line['clang']:>5} {line['vgprs']:>4} "
            f"{line['lds']:>6} {line['scratch']:>4} {line['waves']:>3} {fma:>5} {lds:>5} "
            f"{overlap:>9} {text_of(line.get('local_widths', {})):16} "
            f"{text_of(line.get('load_widths', {}))}")


def survey(device, bitcode, folder, paths, which=()):
    """Lines of all programs for a device, with `program`, and the launches."""
    launches = take_down(device, folder, paths, which)
    programs = sorted({launch["program"] for launch in launches})
    used = {(launch["program"], launch["kernel"]) for launch in launches}
    jobs = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for program in programs:
            options = read_text(os.path.join(folder, f"{program}.options"))
            for clang in CLANGS:
                jobs.append((program, clang, options, pool.submit(
                    compile_one, clang, device, bitcode, os.path.join(folder, f"{program}.cl"),
                    options)))
    lines = []
    for program, clang, options, job in jobs:
        for kernel in job.result():
            if (program, kernel.name) in used:
                lines.append({"program": program, **figures(device, clang, kernel, options)})
    return lines, launches


def distinct(lines):
    """One of the lines that differ in their program's extents alone: the worst."""
    worst = {}
    for line in lines:
        key = (line["kernel"], line["options"], line["clang"])
        rank = (len(faults(line)), line["scratch"], -line["waves"], line["vgprs"])
        if key not in worst or rank > worst[key][0]:
            worst[key] = (rank, line)
    return [worst[key][1] for key in sorted(worst)]


def report(device, lines, gated):
    """Prints a device's table; returns the number of faults that count."""
    print(f"\n{device}\n{HEAD}")
    failed = 0
    for line in distinct(lines):
        print(row(line))
        for fault in faults(line):
            print(f"    {'FAILED' if gated else 'noted'}: {fault}")
            failed += gated
    return failed


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--table", nargs="+", default=[], help="names of bench/shapes "
                        "(yolov8n_rx5600xt)")
    parser.add_argument("--plan", nargs="+", default=[], help="what `convoy graph` printed")
    parser.add_argument("--device", nargs="+", default=[*GATED, *REPORTED])
    parser.add_argument("--near", action="store_true",
                        help="also what the tuner tries first, not only defaults")
    parser.add_argument("--row", help="this algorithm alone, where it takes the layer")
    parser.add_argument("--json", help="also write lines and launches, for the model")
    given = parser.parse_args()
    given.paths = [table_path(name) for name in given.table] + given.plan
    given.paths = given.paths or [table_path("yolov8n_rx5600xt")]
    return given


def main():
    given = read_arguments()
    check_tools()
    failed, all_lines, all_launches = 0, [], {}
    which = ["--near"] if given.near else ["--row", given.row] if given.row else []
    with tempfile.TemporaryDirectory() as top:
        bitcode = os.path.join(top, "bitcode")
        os.mkdir(bitcode)
        make_bitcode(bitcode)
        for device in given.device:
            folder = os.path.join(top, device)
            os.mkdir(folder)
            lines, launches = survey(device, bitcode, folder, given.paths, which)
            failed += report(device, lines, device in GATED)
            all_lines += lines
            all_launches[device] = launches
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"lines": all_lines, "launches": all_launches}, file)
    print(f"\n{len(all_lines)} kernels compiled, {failed} faults on {', '.join(GATED)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
