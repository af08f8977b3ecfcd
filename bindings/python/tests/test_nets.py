"""The networks of nets/, a step each, against PyTorch's of the same weights: results, the gradient
of every parameter, and what a step makes of parameters and running statistics."""

import os
import subprocess
from pathlib import Path

import numpy
import pytest
from test_state import read_file, write_file

torch = pytest.importorskip("torch")
torch_nets = pytest.importorskip("torch_nets")

BUILD = Path(os.environ.get("CONVOY_LIBRARY", "build/release/libconvoy.so")).resolve().parent
PROGRAM = BUILD / "tests" / "nets" / "net_step"
RATE, CLASSES = 0.01, 5
MOST = 1e-4  # relative, in the L2 norm

# batch and extents of images
CASES = {
    "resnet18": (3, (3, 64, 48)),
    "resnet50": (3, (3, 48, 48)),
    "mobilenet_v2": (3, (3, 48, 64)),
    "eegnet": (8, (1, 7, 129)),
    "yolov8n": (3, (3, 64, 96)),
}
DECAY = {"resnet18": 1e-4, "resnet50": 1e-4, "mobilenet_v2": 4e-5, "eegnet": 0.0, "yolov8n": 5e-4}


def norm(tensor):
    return float(torch.linalg.vector_norm(tensor.detach().double()))


def far(got, wanted, scale=None):
    """The distance, relative to what is wanted."""
    wanted = wanted.detach().double()
    apart = torch.tensor(got.astype(float)).reshape(wanted.shape) - wanted
    return norm(apart) / (scale or max(norm(wanted), 1e-30))


def distances_of(got, parameters):
    """Of all gradients. One that is 0 but for rounding, as that of a bias that the next batch norm
    takes away, is measured by a hundredth of the largest."""
    largest = max(norm(parameter.grad) for parameter in parameters.values())
    found = {}
    for name, parameter in parameters.items():
        nothing = norm(parameter.grad) < 1e-6 * largest
        scale = 0.01 * largest if nothing else None
        found[name] = far(got[f"gradient.{name}"], parameter.grad, scale)
    return found


def run(name, device, task, batch, image, tmp_path, arrays):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} has not been built")
    write_file(tmp_path / "from", arrays)
    sizes = [batch, CLASSES, *image]
    command = [PROGRAM, name, device, task, 0, *sizes, tmp_path / "from", tmp_path / "to"]
    subprocess.run([str(each) for each in command], check=True, timeout=300)
    return read_file(tmp_path / "to")


def prepare(name, seed=3):
    """A network whose batch norm is not that of the first step, and a batch."""
    batch, image = CASES[name]
    torch.manual_seed(seed)
    model = torch_nets.make(name, CLASSES, image)
    for each in model.modules():
        if isinstance(each, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(each.weight, 0.5, 1.5)
            torch.nn.init.normal_(each.bias, 0.0, 0.2)
            torch.nn.init.uniform_(each.running_var, 0.5, 2.0)
            torch.nn.init.normal_(each.running_mean, 0.0, 0.2)
    for each in model.modules():
        if hasattr(each, "damp"):
            each.damp()
    x = torch.randn(batch, *image)
    weights = {k: v.numpy().copy() for k, v in model.state_dict().items()}
    arrays = {k: v for k, v in weights.items() if not k.endswith("num_batches_tracked")}
    arrays["input"] = x.numpy()
    return model, x, arrays


def targets_of(name):
    """Labels, or the gradients of a network's three maps."""
    batch, (_, height, width) = CASES[name]
    if name != "yolov8n":
        return {"labels": torch.arange(batch) * 2 % CLASSES}
    shapes = ((batch, 64 + CLASSES, height // step, width // step) for step in (8, 16, 32))
    return {f"given.{i}": torch.randn(shape) for i, shape in enumerate(shapes)}


def outputs_of(model, x):
    outputs = model(x)
    return [outputs] if torch.is_tensor(outputs) else outputs


def loss_of(outputs, targets):
    if "labels" in targets:
        return torch.nn.functional.cross_entropy(outputs[0], targets["labels"])
    return sum((y * dy).sum() for y, dy in zip(outputs, targets.values()))


def far_of_loss(got, loss, outputs, targets):
    """Of a sum of maps times their gradients, which cancels, as a part of its terms' norm."""
    if "labels" in targets:
        return far(got, loss.reshape(1))
    norms = sum((y * dy).square().sum() for y, dy in zip(outputs, targets.values()))
    return abs(float(got[0]) - loss.item()) / norms.sqrt().item()


def check_step(name, device, tmp_path):
    batch, image = CASES[name]
    model, x, arrays = prepare(name)
    targets = targets_of(name)
    for n, each in targets.items():
        arrays[n] = each.numpy().astype("int32" if n == "labels" else "float32")
    arrays["rate"] = numpy.array([RATE], numpy.float32)
    got = run(name, device, "train", batch, image, tmp_path, arrays)

    torch_nets.SEEN[:] = [got[f"seen.{i}"] for i in range(len(got)) if f"seen.{i}" in got]
    outputs = outputs_of(model, x)
    assert not torch_nets.SEEN
    loss = loss_of(outputs, targets)
    loss.backward()
    for i, each in enumerate(outputs):
        assert far(got[f"output.{i}"], each) < MOST, i
    assert far_of_loss(got["loss"], loss, outputs, targets) < MOST
    parameters = dict(model.named_parameters())
    distances = distances_of(got, parameters)
    worst = max(distances, key=distances.get)
    assert distances[worst] < MOST, (worst, distances[worst])
    assert sum(n.startswith("gradient.") for n in got) == len(parameters)
    torch.optim.SGD(model.parameters(), RATE, 0.9, weight_decay=DECAY[name]).step()
    for n, value in model.state_dict().items():
        if not n.endswith("num_batches_tracked"):
            assert far(got[n], value) < MOST, n
    print(f"{name}: gradients at most {distances[worst]:.2e} away ({worst})")


@pytest.mark.parametrize("name", CASES)
def test_steps_are_pytorchs(name, tmp_path):
    check_step(name, "cpu", tmp_path)


def test_a_step_on_opencl(opencl_device, tmp_path):
    check_step("eegnet", opencl_device, tmp_path)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "eegnet", "yolov8n"])
def test_evaluations_are_pytorchs(name, tmp_path):
    batch, image = CASES[name]
    model, x, arrays = prepare(name)
    got = run(name, "cpu", "evaluate", batch, image, tmp_path, arrays)
    for i, each in enumerate(outputs_of(model.eval(), x)):
        assert far(got[f"output.{i}"], each) < MOST, i


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2"])
def test_names_are_torchvisions(name):
    pytest.importorskip("torchvision_ops")
    models = pytest.importorskip("torchvision.models")
    there = getattr(models, name)(weights=None, num_classes=CLASSES).state_dict()
    here = torch_nets.make(name, CLASSES, (3, 64, 64)).state_dict()
    assert {n: v.shape for n, v in here.items()} == {n: v.shape for n, v in there.items()}


def test_names_are_ultralytics():
    pytest.importorskip("torchvision_ops")
    tasks = pytest.importorskip("ultralytics.nn.tasks")
    there = tasks.DetectionModel("yolov8n.yaml", nc=CLASSES, verbose=False).state_dict()
    # What turns sides into numbers is no part of the maps.
    there = {n: v.shape for n, v in there.items() if ".dfl." not in n}
    here = torch_nets.make("yolov8n", CLASSES, (3, 64, 64)).state_dict()
    assert {n: v.shape for n, v in here.items()} == there
