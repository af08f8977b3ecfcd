"""Networks on a card with Convoy's convolutions, or with --route graph captured as a whole:
gradients against float64, the same bits again, and memory over many steps. float32, TF32 off.

    PYTHONPATH=bindings/python python3 bench/cards_nets.py [--nets NAME,...] [--steps 2000]
        [--seconds 240] [--route convoy|graph]

Of each network's step all gradients are computed in float64, by PyTorch alone and with Convoy. What
counts is how far a gradient is from float64's, as a part of its norm: Convoy's may be three times
(with --route graph four times) as far as PyTorch's, or 1e-4. Where one is farther, an activation
may have come to lie on the other side of a threshold: then it may be as many times as far as
float64's own with all weights off by 2^-21, which is tried up to eight times. Then the step is
repeated, and its bits have to be the same; where they are not, PyTorch alone is asked, too. Exit
status 1 if something did not hold. Nothing else may use the card, whose free memory is looked at.
"""

import argparse
import contextlib
import copy
import gc
import sys
import time
import traceback

import torch
import torchvision
from torch import nn

import convoy.torch

import step_nets
from sessions import current, use

AS_FAR = {"convoy": 3, "graph": 4}  # by route; a network's own proof has 4, too
SHAKEN = 2.0**-21
MOST_SHAKEN = 8

# name -> (batch, extent)
NETS = {
    "alexnet": (8, 128),
    "vgg11_bn": (4, 96),
    "squeezenet1_1": (8, 128),
    "resnet18": (8, 96),
    "resnet50": (4, 96),
    "resnext50_32x4d": (4, 96),
    "wide_resnet50_2": (2, 96),
    "densenet121": (4, 96),
    "googlenet": (4, 128),
    "inception_v3": (2, 299),
    "shufflenet_v2_x1_0": (8, 96),
    "mobilenet_v2": (8, 96),
    "mobilenet_v3_large": (8, 96),
    "efficientnet_b0": (8, 96),
    "efficientnet_v2_s": (4, 96),
    "regnet_y_400mf": (8, 96),
    "mnasnet0_5": (8, 96),
    "convnext_tiny": (4, 96),
    "swin_t": (2, 224),
    "vit_b_16": (2, 224),
}
SPECIAL = {
    "eegnet": lambda: (step_nets.EEGNet(), torch.rand(8, 1, 129, 500)),
    "fcn_resnet50": lambda: (
        torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None,
                                                     num_classes=5),
        torch.rand(2, 3, 96, 96)),
    "r3d_18": lambda: (torchvision.models.video.r3d_18(weights=None), torch.rand(2, 3, 8, 48, 48)),
    "upsampling": lambda: (
        nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 8, 4, 2, 1),
                      nn.ReLU(), nn.Conv2d(8, 3, 5, padding=2)), torch.rand(4, 3, 50, 70)),
}


@contextlib.contextmanager
def plainly():
    session = current()
    use(None)
    try:
        yield
    finally:
        use(session)


def build(name):
    torch.manual_seed(0)
    if name in SPECIAL:
        return SPECIAL[name]()
    batch, extent = NETS[name]
    more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = getattr(torchvision.models, name)(weights=None, **more)
    return model, torch.rand(batch, 3, extent, extent)


def without_chance(model):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if type(module).__name__ == "StochasticDepth":
            module.p = 0.0
    return model


def gradients(model, x):
    """The same step each time: batch norms' statistics are put back."""
    state = copy.deepcopy(model.state_dict())
    model.zero_grad(set_to_none=True)
    outputs = step_nets._tensors(model(x))
    sum((each * each).mean() + each.mean() for each in outputs).backward()
    model.load_state_dict(state)
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def distance(got, exact):
    return float((got.double() - exact).norm() / exact.norm().clamp_min(1e-30))


def farther_than_rounding(model, x, exact, far):
    """Of the gradients that are so far from exact ones those that rounding does not explain."""
    torch.manual_seed(1)
    for _ in range(MOST_SHAKEN):
        if not far:
            break
        shaken = copy.deepcopy(model).double()
        with torch.no_grad():
            for p in shaken.parameters():
                p.mul_(1 + SHAKEN * (2 * torch.rand_like(p) - 1))
        found = gradients(shaken, x.double())
        far = {key: d for key, d in far.items() if d > as_far() * distance(found[key], exact[key])}
    return far


def as_far():
    return AS_FAR[options.route]


def networks():
    return current().statistics.networks()


def ways_since(before):
    """How calls of networks went since then."""
    new = {key[1:]: n - before.get(key, 0) for key, n in networks().items()}
    return ", ".join(f"{n} by {how} {why}".strip() for (how, why), n in new.items() if n)


def same(a, b):
    return [name for name in a if not torch.equal(a[name], b[name])]


def check(name):
    model, x = build(name)
    model, x = without_chance(model).cuda().train(), x.cuda()
    model(x)  # lazy layers
    with plainly():
        theirs = gradients(model, x)
        exact = gradients(copy.deepcopy(model).double(), x.double())
    before = convoy.torch.counts()
    graph = options.route == "graph"
    for _ in range(6 if graph else 0):  # seen first, then captured, or declined and what is inside
        gradients(model, x)
    ways = networks()
    ours = gradients(model, x)
    again = gradients(model, x)
    new = {k: n - before.get(k, 0) for k, n in convoy.torch.counts().items()}
    through = sum(n for (where, _, _), n in new.items() if where != "pytorch")
    left = {why: n for (where, _, why), n in new.items() if where == "pytorch" and n}
    worst, far = 0.0, {}
    for key, value in exact.items():
        if value.norm() < 1e-9 * max(float(v.norm()) for v in exact.values()):
            continue  # of biases before a batch norm: nothing but rounding
        a, b = distance(ours[key], value), distance(theirs[key], value)
        worst = max(worst, a / max(b, 1e-12))
        if a > max(as_far() * b, 1e-4):
            far[key] = a
    shaken = len(far)
    with plainly():
        far = farther_than_rounding(model, x, exact, far)
    far = [f"{key}: {d:.2g}, PyTorch's {distance(theirs[key], exact[key]):.2g}"
           for key, d in far.items()]
    other = same(ours, again)
    said = (f"{through} through Convoy, left {left}, at most {worst:.2f} times PyTorch's distance, "
            f"{shaken} of {len(exact)} judged by shaken weights")
    if other:
        with plainly():
            theirs_too = same(gradients(model, x), gradients(model, x))
        said += f"; other bits in {len(other)}, PyTorch's own in {len(theirs_too)}"
        if len(other) > len(theirs_too):
            far.append(f"bits of {other[:3]}")
    if graph:
        said = f"{ways_since(ways)}, at most {said.split(', at most ')[1]}"
    elif not through:
        far.append("nothing went through Convoy")
    print(f"{'FAILED' if far else 'ok    '} {name:20} {said} {'; '.join(far[:3])}", flush=True)
    return not far


def memory_of_steps(steps):
    model = torchvision.models.resnet18(weights=None).cuda().train()
    x = torch.rand(8, 3, 64, 64, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def run(n):
        for _ in range(n):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        return (stats["allocated_bytes.all.current"], stats["reserved_bytes.all.current"],
                torch.cuda.mem_get_info()[0])

    seen = [run(50)]
    begin = time.perf_counter()
    seen += [run(steps // 4) for _ in range(4)]
    # What others had of the card, as compile workers do at first, may have become free.
    held = all(each[:2] == seen[0][:2] and each[2] >= seen[0][2] for each in seen)
    print(f"{'ok    ' if held else 'FAILED'} {steps} steps of resnet18 in "
          f"{time.perf_counter() - begin:.1f} s: allocated, reserved, free {seen}", flush=True)
    return held


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nets", default=",".join([*NETS, *SPECIAL]))
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=240, help="nothing is begun later")
    parser.add_argument("--route", default="convoy", choices=("convoy", "graph"))
    return parser.parse_args()


def main():
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    convoy.torch.enable(route=options.route)
    until = time.perf_counter() + options.seconds
    work = [(memory_of_steps, options.steps)] if options.steps else []
    work += [(check, name) for name in options.nets.split(",") if name]
    bad = []
    for function, argument in work:
        if time.perf_counter() > until:
            print(f"       {argument}: out of time")
            continue
        try:
            if not function(argument):
                bad.append(argument)
        except Exception:
            bad.append(argument)
            print(f"FAILED {argument}", flush=True)
            traceback.print_exc(limit=-4, file=sys.stdout)
        gc.collect()
        torch.cuda.empty_cache()
    print(convoy.torch.report())
    print(f"{len(bad)} of {len(work)} did not hold: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    options = parse()
    sys.exit(main())
