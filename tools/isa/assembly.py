"""Reads AMDGPU assembly as clang writes it with -S: a kernel's resources, and its hot loop.

The hot loop is the loop with the most multiply-adds that has no such loop inside. What is in which
loop is taken from clang's own comments at the basic blocks.
"""

import re
from dataclasses import dataclass, field

FMA = re.compile(r"v_(pk_)?(fma|fmac|fmaak|fmamk|mad|mac|madak|madmk)_(f16|f32)")
DUAL_FMA = re.compile(r"v_dual_(fmac|fmaak|fmamk)_f32")
LDS_BITS = re.compile(r"ds_(?:read|load|write|store)(2?)(?:st64)?_b(\d+)")
GLOBAL_LOAD = re.compile(r"(?:global|flat|buffer)_load_(?:dword(x\d)?|b(\d+))")
# Seconds of a loop are not in here: clocks of its instructions, by issue and by LDS delivery.
LDS_BYTES_PER_CLOCK = 128


@dataclass
class Loop:
    """A loop with all that is nested in it, in the order of the text."""

    instructions: list = field(default_factory=list)  # (mnemonic, operands)

    def count(self, pattern):
        return sum(len(pattern.findall(f"{name} {operands}"))
                   for name, operands in self.instructions)

    @property
    def fmas(self):
        return self.count(FMA) + self.count(DUAL_FMA)

    @property
    def valu(self):
        return sum(name.startswith("v_") for name, _ in self.instructions)

    @property
    def lds_bytes(self):
        """Per lane."""
        total = 0
        for name, _ in self.instructions:
            found = LDS_BITS.match(name)
            if found:
                total += int(found[2]) // 8 * (2 if found[1] else 1)
        return total

    def lds_clocks(self, wave):
        return self.lds_bytes * wave / LDS_BYTES_PER_CLOCK

    def widths(self):
        """Bits of LDS reads and of global loads: {width: how many}."""
        local, loads = {}, {}
        for name, _ in self.instructions:
            found = LDS_BITS.match(name)
            if found and ("read" in name or "load" in name):
                bits = int(found[2]) * (2 if found[1] else 1)
                local[bits] = local.get(bits, 0) + 1
            found = GLOBAL_LOAD.match(name)
            if found:
                bits = int(found[2] or 32 * int((found[1] or "x1")[1:]))
                loads[bits] = loads.get(bits, 0) + 1
        return local, loads

    @property
    def load_bytes(self):
        """Of global loads, per lane."""
        return sum(bits // 8 * count for bits, count in self.widths()[1].items())

    def overlapped(self):
        """Multiply-adds between the last global load and the next wait for loads: what hides them
        in one wave. None if the loop loads nothing."""
        loads = [i for i, (name, _) in enumerate(self.instructions) if GLOBAL_LOAD.match(name)]
        if not loads:
            return None
        between = Loop()
        around = self.instructions[loads[-1] + 1:] + self.instructions[:loads[0]]
        for name, operands in around:
            if name == "s_waitcnt" and "vmcnt" in operands or name == "s_wait_loadcnt":
                break
            between.instructions.append((name, operands))
        return between.fmas


@dataclass
class Kernel:
    name: str
    vgprs: int = 0
    sgprs: int = 0
    scratch: int = 0
    lds: int = 0
    waves: int = 0  # per SIMD
    loops: dict = field(default_factory=dict)  # header: Loop
    parents: dict = field(default_factory=dict)  # header: the header around it

    def hot(self):
        """The loop the time is spent in; None if no loop multiplies."""
        busy = {header: loop for header, loop in self.loops.items() if loop.fmas}
        inner = set(busy) - {self.parents.get(header) for header in busy}
        return max((busy[header] for header in inner), key=lambda loop: loop.fmas, default=None)

    def step(self):
        """The loop around the hot one that also loads, or the hot one."""
        hot = self.hot()
        header = next((h for h, loop in self.loops.items() if loop is hot), None)
        while header and self.loops[header].overlapped() is None and self.parents.get(header):
            header = self.parents[header]
        return self.loops.get(header)


RESOURCES = {
    "NumVgprs": "vgprs", "TotalNumSgprs": "sgprs", "NumSgprs": "sgprs", "ScratchSize": "scratch",
    "LDSByteSize": "lds", "Occupancy": "waves",
}
START = re.compile(r"^(\w+):\s*; @(\w+)")
BLOCK = re.compile(r"^(?:\.L(BB\d+_\d+):|; %bb\.\d+:)")
INSTRUCTION = re.compile(r"^\s+([a-z]\w+)(.*)$")
RESOURCE = re.compile(r"^; (\w+): (\d+)")


class Reader:
    """Goes through the text once; `around` are the headers of the loops the current block is in."""

    def __init__(self):
        self.kernels = []
        self.around = []
        self.label = None

    def start_block(self, label):
        self.around, self.label = [], label

    def note_loop(self, line):
        """clang's comments: the header a block belongs to, and the loops around that."""
        kernel = self.kernels[-1]
        found = re.search(r"Parent Loop (BB\d+_\d+)", line)
        if found:
            self.enter(kernel, found[1])
        found = re.search(r"in Loop: Header=(BB\d+_\d+)", line)
        if found:
            chain, header = [], found[1]
            while header:
                chain.append(header)
                header = kernel.parents.get(header)
            for header in reversed(chain):
                self.enter(kernel, header)
        if re.search(r"=>\s*This (Inner )?Loop Header", line) and self.label:
            if self.around:
                kernel.parents[self.label] = self.around[-1]
            self.enter(kernel, self.label)

    def enter(self, kernel, header):
        kernel.loops.setdefault(header, Loop())
        self.around.append(header)

    def read(self, line):
        found = START.match(line)
        if found:
            self.kernels.append(Kernel(found[1]))
            self.start_block(None)
            return
        if not self.kernels:
            return
        kernel = self.kernels[-1]
        found = BLOCK.match(line)
        if found:
            self.start_block(found[1])
        if "Loop" in line and ";" in line:
            self.note_loop(line)
            return
        found = RESOURCE.match(line)
        if found and found[1] in RESOURCES:
            setattr(kernel, RESOURCES[found[1]], int(found[2]))
        found = INSTRUCTION.match(line)
        if found and not line.lstrip().startswith((".", ";")):
            for header in self.around:
                kernel.loops[header].instructions.append((found[1], found[2].split(";")[0].strip()))


def read(path):
    """The kernels of an assembly file."""
    reader = Reader()
    with open(path, encoding="utf-8") as file:
        for line in file:
            reader.read(line.rstrip("\n"))
    return reader.kernels
