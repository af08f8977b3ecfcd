"""What PyTorch programs do with convolutions, on this machine's first card: each case of
bindings/python/tests/torch_cases.py by PyTorch alone and with Convoy, from the same seed. float32,
TF32 off.

    PYTHONPATH=bindings/python python3 bench/cards_parity.py [--seconds 240] [NAME...]

With names, only the cases in whose name one of them occurs. A case that PyTorch cannot do on a
card has to fail with Convoy, too, with the same kind of error. Prints what differs, then a line
that sums up; exit status 1 if something did, or there was no time for all.
"""

import argparse
import sys
import time
from pathlib import Path

import torch

import convoy.torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "bindings/python/tests"))
from torch_cases import CASES, assert_same, compute


def outcome(name):
    """What the case returns, or the kind of its error."""
    try:
        return compute(name)
    except Exception as error:
        return type(error)


def differs(got, wanted):
    """Empty if it does not, else a sentence. cuDNN's results have strides of their own along axes
    of extent 1."""
    try:
        assert_same(got, wanted, strictly=False)
    except AssertionError as error:
        what = (each if each is None else (each.dtype, *each.shape, each.stride())
                for each in (got, wanted))
        return "{} where {} was expected. {}".format(*what, str(error).split("\n")[0])
    return ""


def compare(got, wanted):
    if isinstance(got, type) or isinstance(wanted, type):
        return "" if got is wanted else f"{got} where {wanted} was expected"
    if len(got) != len(wanted):
        return f"{len(got)} results where {len(wanted)} were expected"
    found = [differs(*pair) for pair in zip(got, wanted)]
    return next((f"result {at}: {why}" for at, why in enumerate(found) if why), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=240, help="nothing is begun later")
    options = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_default_device("cuda")
    until = time.perf_counter() + options.seconds
    names = [n for n in CASES if not options.names or any(part in n for part in options.names)]
    plain = {name: outcome(name) for name in names}
    refused = sum(isinstance(each, type) for each in plain.values())
    bad = left = 0
    with convoy.torch.enabled(route="convoy"):
        for name in names:
            if time.perf_counter() > until:
                left += 1
                continue
            why = compare(outcome(name), plain[name])
            bad += bool(why)
            if why:
                print(f"FAILED {name}: {why}", flush=True)
        print(convoy.torch.report())
    print(f"{len(names) - bad - left} of {len(names)} cases the same, {refused} of them errors of "
          f"PyTorch's own, {bad} different, {left} not begun")
    return 1 if bad or left else 0


if __name__ == "__main__":
    sys.exit(main())
