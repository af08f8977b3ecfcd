"""What PyTorch programs do with convolutions. A case returns tensors and nulls; run with and
without Convoy from the same seed they must be the same ones.

CASES: name -> (function, why PyTorch computes all or part of it itself; None: Convoy all of it).
"""

import copy
import io
import pickle
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

CASES = {}

SEED = 7
FLOAT32 = {"rtol": 1e-4, "atol": 2e-5}
BFLOAT16 = {"rtol": 2e-2, "atol": 2e-2}


def compute(name):
    """What the case returns, as a list."""
    torch.manual_seed(SEED)
    return list(CASES[name][0]())


def strides(tensor, of_all):
    """Or only those that say where elements are: an axis of extent 1 may have any."""
    return [s for s, n in zip(tensor.stride(), tensor.shape) if n > 1 or of_all]


def assert_same(got, wanted, strictly=True):
    assert (got is None) == (wanted is None)
    if got is None:
        return
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    assert strides(got, strictly) == strides(wanted, strictly)
    tolerance = BFLOAT16 if wanted.dtype == torch.bfloat16 else FLOAT32
    torch.testing.assert_close(got, wanted, **tolerance)


def case(name, why=None):
    def add(function):
        CASES[name] = function, why
        return function

    return add


def grads(model):
    return [parameter.grad for parameter in model.parameters()]


def train(model, *shape, dtype=torch.float32, x=None):
    """Output and gradients of one step, x's included."""
    x = torch.randn(*shape, dtype=dtype) if x is None else x
    x = x.detach().requires_grad_()
    y = model(x)
    y.backward(torch.randn_like(y))
    return [y.detach(), x.grad, *grads(model)]


# ------------------------------------------------------------------------------- geometry

MODULES = {
    "conv1d": (lambda: nn.Conv1d(6, 8, 5, 2, 2), (2, 6, 30)),
    "conv2d": (lambda: nn.Conv2d(6, 8, 3, 2, 1), (2, 6, 9, 7)),
    "conv3d": (lambda: nn.Conv3d(4, 8, 3, 1, 1), (2, 4, 5, 6, 7)),
    "per axis": (lambda: nn.Conv2d(6, 8, (3, 1), (2, 1), (0, 2), (1, 3)), (2, 6, 9, 7)),
    "pointwise": (lambda: nn.Conv2d(6, 8, 1), (2, 6, 9, 7)),
    "groups, dilated": (lambda: nn.Conv2d(6, 8, 3, 1, 2, 2, 2, bias=False), (2, 6, 9, 7)),
    "depthwise": (lambda: nn.Conv2d(6, 12, 3, 1, 1, groups=6), (2, 6, 9, 7)),
    "depthwise 1d": (lambda: nn.Conv1d(6, 6, 15, padding=7, groups=6), (2, 6, 40)),
    "transposed 1d": (lambda: nn.ConvTranspose1d(6, 8, 4, 2, 1, groups=2), (2, 6, 9)),
    "transposed 2d": (lambda: nn.ConvTranspose2d(6, 8, 4, 2, 1, output_padding=1), (2, 6, 9, 7)),
    "transposed 3d": (lambda: nn.ConvTranspose3d(3, 4, 3, 2, 1), (2, 3, 4, 5, 6)),
    "same": (lambda: nn.Conv2d(6, 8, 3, padding="same"), (2, 6, 9, 7)),
    "same, even filter": (lambda: nn.Conv2d(6, 8, 4, padding="same"), (2, 6, 9, 7)),
    "valid": (lambda: nn.Conv2d(6, 8, 3, padding="valid"), (2, 6, 9, 7)),
    "reflect": (lambda: nn.Conv2d(6, 8, 3, padding=1, padding_mode="reflect"), (2, 6, 9, 7)),
    "circular": (lambda: nn.Conv2d(6, 8, 3, padding=1, padding_mode="circular"), (2, 6, 9, 7)),
    "replicate": (lambda: nn.Conv2d(6, 8, 3, padding=1, padding_mode="replicate"), (2, 6, 9, 7)),
    "unbatched": (lambda: nn.Conv2d(6, 8, 3), (6, 9, 7)),
    "unbatched 1d": (lambda: nn.Conv1d(6, 8, 3), (6, 9)),
    "one pixel": (lambda: nn.Conv2d(6, 8, 3, padding=1), (1, 6, 1, 1)),
}
for _name, (_make, _shape) in MODULES.items():
    case(_name)(lambda make=_make, shape=_shape: train(make(), *shape))


@case("one number for all axes")
def one_number():
    x, w = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)
    return [torch.convolution(x, w, None, [2], [1], [1], False, [0], 1)]


# -------------------------------------------------------------------------- memory layout


@case("channels last")
def channels_last():
    model = nn.Conv2d(6, 8, 3).to(memory_format=torch.channels_last)
    return train(model, x=torch.randn(2, 6, 9, 7).to(memory_format=torch.channels_last))


@case("channels last weights only")
def channels_last_weights():
    return train(nn.Conv2d(6, 8, 3).to(memory_format=torch.channels_last), 2, 6, 9, 7)


@case("channels last, one channel")
def channels_last_one_channel():
    """Such a weight is contiguous both ways; the strides say which was meant."""
    y = nn.Conv2d(1, 8, 3).to(memory_format=torch.channels_last)(torch.randn(2, 1, 9, 7))
    return [y.detach()]


AMBIGUOUS = {
    "depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4), (2, 4, 5, 4)),
    "of one channel": (lambda: nn.Conv2d(1, 8, 3), (2, 1, 5, 4)),
    "to one channel": (lambda: nn.Conv2d(4, 1, 3), (2, 4, 5, 4)),
    "one by one": (lambda: nn.Conv2d(6, 8, 1), (2, 6, 5, 4)),
    "one place": (lambda: nn.Conv2d(6, 8, 3), (2, 6, 3, 3)),
}


def channels_last_ambiguous(make, shape, x_too):
    """An extent of 1 leaves the layout of a result open: strides are PyTorch's all the same."""
    x = torch.randn(*shape)
    x = x.contiguous(memory_format=torch.channels_last) if x_too else x
    return train(make().to(memory_format=torch.channels_last), x=x)


for _name, (_make, _shape) in AMBIGUOUS.items():
    for _suffix, _x_too in (("", True), (", weights only", False)):
        case(f"channels last, {_name}{_suffix}")(
            lambda make=_make, shape=_shape, x_too=_x_too: channels_last_ambiguous(
                make, shape, x_too
            )
        )


@case("channels last 3d")
def channels_last_3d():
    """PyTorch 1.13 gives up this layout in its results."""
    model = nn.Conv3d(4, 6, 3).to(memory_format=torch.channels_last_3d)
    x = torch.randn(2, 4, 5, 6, 7).to(memory_format=torch.channels_last_3d).requires_grad_()
    y = model(x)
    y.square().sum().backward()
    return [result.contiguous() for result in (y.detach(), x.grad, *grads(model))]


@case("permuted input")
def permuted():
    return train(nn.Conv2d(6, 8, 3), x=torch.randn(2, 9, 7, 6).permute(0, 3, 1, 2))


@case("sliced operands")
def sliced():
    x = torch.randn(2, 12, 9, 14)[:, ::2, :, ::2].requires_grad_()
    w = torch.randn(8, 6, 3, 6)[..., ::2].requires_grad_()
    bias = torch.randn(16)[::2].requires_grad_()
    return torch.autograd.grad(F.conv2d(x, w, bias).square().sum(), (x, w, bias))


@case("expanded input")
def expanded():
    return train(nn.Conv2d(6, 8, 3), x=torch.randn(1, 6, 9, 7).expand(3, 6, 9, 7))


@case("expanded gradient")
def expanded_gradient():
    model, x = nn.Conv2d(6, 8, 3), torch.randn(2, 6, 9, 7, requires_grad=True)
    model(x).sum().backward()
    return [x.grad, *grads(model)]


# -------------------------------------------------------------------------------- autograd


@case("frozen weights")
def frozen_weights():
    model, x = nn.Conv2d(6, 8, 3), torch.randn(2, 6, 9, 7, requires_grad=True)
    model.weight.requires_grad_(False)
    model(x).square().sum().backward()
    return [x.grad, model.weight.grad, model.bias.grad]


@case("no gradient of the input")
def no_input_gradient():
    model = nn.Conv2d(6, 8, 3)
    model(torch.randn(2, 6, 9, 7)).square().sum().backward()
    return grads(model)


@case("accumulated gradients")
def accumulated():
    model = nn.Conv2d(6, 8, 3)
    for _ in range(3):
        model(torch.randn(2, 6, 9, 7)).square().sum().backward()
    return grads(model)


@case("backward twice")
def backward_twice():
    model = nn.Conv2d(6, 8, 3)
    loss = model(torch.randn(2, 6, 9, 7)).square().sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return grads(model)


@case("double backward")
def double_backward():
    model, x = nn.Conv2d(3, 4, 3, padding=1), torch.randn(2, 3, 6, 6, requires_grad=True)
    (first,) = torch.autograd.grad(model(x).tanh().sum(), x, create_graph=True)
    first.square().sum().backward()
    return [first.detach(), x.grad, model.weight.grad]


@case("double backward, transposed")
def double_backward_transposed():
    model, x = nn.ConvTranspose2d(3, 4, 3, 2), torch.randn(2, 3, 6, 6, requires_grad=True)
    (first,) = torch.autograd.grad(model(x).tanh().sum(), x, create_graph=True)
    first.square().sum().backward()
    return [first.detach(), x.grad, model.weight.grad]


@case("weight shared by two layers")
def shared_weight():
    model, x = nn.Conv2d(4, 4, 3, padding=1), torch.randn(2, 4, 6, 6)
    model(model(x).tanh()).square().sum().backward()
    return grads(model)


def checkpointed(**options):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.SiLU(), nn.Conv2d(4, 4, 3))
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    checkpoint(model, x, **options).sum().backward()
    return [x.grad, *grads(model)]


case("checkpoint")(lambda: checkpointed(use_reentrant=False))
case("checkpoint, reentrant")(lambda: checkpointed(use_reentrant=True))


@case("hooks")
def hooks():
    model, seen = nn.Conv2d(3, 4, 3), []
    model.register_forward_hook(lambda _, inputs, output: seen.append(output.detach()))
    model.register_full_backward_hook(lambda _, ins, outs: seen.append(outs[0]))
    return train(model, 2, 3, 8, 8) + seen


@case("in-place activation and batch norm")
def in_place():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.SiLU(inplace=True), nn.Conv2d(8, 4, 1)
    )
    return train(model, 2, 3, 8, 8)


@case("optimizer steps")
def optimizer_steps():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(2, 3, 8, 8)).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


# -------------------------------------------------------------------------- other dtypes


@case("float64", "not float32")
def float64():
    return train(nn.Conv2d(3, 4, 3).double(), 2, 3, 6, 6, dtype=torch.float64)


@case("float64, transposed", "not float32")
def float64_transposed():
    return train(nn.ConvTranspose2d(3, 4, 3).double(), 2, 3, 6, 6, dtype=torch.float64)


@case("complex64")
def complex64():
    return [F.conv2d(torch.randn(2, 3, 6, 6).to(torch.complex64), torch.randn(4, 3, 3, 3) * 1j)]


@case("int64", "not float32")
def int64():
    return [F.conv2d(torch.ones(1, 1, 4, 4).long(), torch.ones(1, 1, 2, 2).long())]


@case("autocast", "not float32")
def autocast():
    model, x = nn.Conv2d(3, 4, 3), torch.randn(2, 3, 6, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(x)
    y.float().sum().backward()
    return [y.detach(), *grads(model)]


@case("empty batch", "no elements")
def empty_batch():
    return train(nn.Conv2d(3, 4, 3), 0, 3, 8, 8)


class Marked(torch.Tensor):
    pass


@case("subclass of Tensor", "a subclass of Tensor")
def subclass():
    x = torch.randn(2, 3, 6, 6).as_subclass(Marked)
    return [F.conv2d(x, torch.randn(4, 3, 3, 3)).as_subclass(torch.Tensor)]


# ------------------------------------------------------------------- models as Python objects


@case("deepcopy")
def deepcopy():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    train(model, 2, 3, 6, 6)
    return train(copy.deepcopy(model), 2, 3, 6, 6)


@case("pickle")
def pickled():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    return train(pickle.loads(pickle.dumps(model)), 2, 3, 6, 6)


@case("checkpoint file")
def checkpoint_file():
    model = nn.Conv2d(3, 4, 3)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = nn.Conv2d(3, 4, 3)
    other.load_state_dict(torch.load(file))
    return train(other, 2, 3, 6, 6)


# ------------------------------------------------------------------------ graphs of programs


@case("jit.trace", "being traced")
def traced():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 4, 2)).eval()
    x = torch.randn(1, 3, 8, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = torch.jit.trace(model, x, check_trace=False)
    assert str(graph.inlined_graph).count("aten::_convolution") == 2
    return [graph(x).detach()]


@case("jit.script")
def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.script(nn.Conv2d(3, 4, 3))
    return train(model, 1, 3, 8, 8)


@case("fx")
def symbolic():
    import torch.fx

    return train(torch.fx.symbolic_trace(nn.Sequential(nn.Conv2d(3, 4, 3))), 1, 3, 8, 8)


if hasattr(torch, "compile"):

    @case("compile")
    def compiled():
        return train(torch.compile(nn.Conv2d(3, 4, 3), backend="aot_eager"), 1, 3, 8, 8)


def functional():
    """torch.func, which was functorch before PyTorch 2."""
    try:
        import torch.func as module
    except ImportError:
        import functorch as module
    return module


@case("vmap")
def vmapped():
    x, w = torch.randn(3, 2, 3, 8, 8), torch.randn(3, 4, 3, 3, 3)
    return [functional().vmap(F.conv2d)(x, w)]


@case("jvp")
def forward_mode():
    x, w, tangent = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4, 3, 3, 3)
    return list(functional().jvp(lambda value: F.conv2d(x, value), (w,), (tangent,)))


@case("gradients per example")
def per_example():
    x, w = torch.randn(5, 3, 8, 8), torch.randn(4, 3, 3, 3)
    loss = functional().grad(lambda value, one: F.conv2d(one[None], value).square().sum())
    return [functional().vmap(loss, in_dims=(None, 0))(w, x)]


@case("inference mode")
def inference_mode():
    model, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
    with torch.inference_mode():
        return [model(x).clone()]


@case("inference tensors outside inference mode")
def inference_tensors():
    with torch.inference_mode():
        x = torch.randn(1, 3, 8, 8)
    return [F.conv2d(x, torch.randn(4, 3, 3, 3))]


@case("no_grad")
def no_grad():
    model, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
    with torch.no_grad():
        return [model(x)]
