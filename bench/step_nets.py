"""Training steps of networks on PyTorch's device, for the comparisons of this folder.

make("yolov8n:16") is the model, its input and a function that carries out one step: forward, a
loss, backward to all parameters, and the optimizer's update. YOLOv8n's loss is the mean squares of
its three maps, and it has an optimizer where that is asked for.
"""

import torch
from torch import nn


class EEGNet(nn.Module):
    """129 channels, 500 samples: temporal, spatial and separable convolutions."""

    def __init__(self, channels=129, samples=500, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, (1, 64), padding=(0, 32), bias=False),
            nn.BatchNorm2d(8),
            nn.Conv2d(8, 16, (channels, 1), groups=8, bias=False),
            nn.BatchNorm2d(16),
            nn.ELU(),
            nn.AvgPool2d((1, 4)),
            nn.Conv2d(16, 16, (1, 16), padding=(0, 8), groups=16, bias=False),
            nn.Conv2d(16, 16, 1, bias=False),
            nn.BatchNorm2d(16),
            nn.ELU(),
            nn.AvgPool2d((1, 8)),
            nn.Flatten(),
        )
        self.classify = nn.LazyLinear(classes)

    def forward(self, x):
        return self.classify(self.features(x))


def _tensors(value):
    """All tensors in a network's output."""
    if torch.is_tensor(value):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [tensor for part in parts for tensor in _tensors(part)]


def _yolo(batch, device, updates, change):
    from ultralytics.nn.tasks import DetectionModel

    model = DetectionModel("yolov8n.yaml", nc=80, verbose=False).to(device).train()
    x = torch.rand(batch, 3, 640, 640, device=device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    call = change(model)

    def step():
        optimizer.zero_grad()
        maps = [each for each in _tensors(call(x)) if each.requires_grad]
        sum((each * each).mean() for each in maps).backward()
        if updates:
            optimizer.step()

    return model, x, step


def _ultralytics(batch, device, change):
    """With their loss, which assigns boxes to places."""
    from ultralytics.nn.tasks import DetectionModel
    from ultralytics.utils import DEFAULT_CFG

    model = DetectionModel("yolov8n.yaml", nc=80, verbose=False).to(device).train()
    model.args = DEFAULT_CFG
    boxes = 8 * batch
    corners = torch.rand(boxes, 2) / 2 + 0.25, torch.rand(boxes, 2) / 3 + 0.05
    labels = {
        "img": torch.rand(batch, 3, 640, 640),
        "batch_idx": torch.arange(batch).repeat_interleave(8).float(),
        "cls": torch.randint(80, (boxes, 1)).float(),
        "bboxes": torch.cat(corners, 1),
    }
    labels = {name: values.to(device) for name, values in labels.items()}
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    call = change(model)

    def step():
        optimizer.zero_grad()
        call(labels)[0].sum().backward()
        optimizer.step()

    return model, labels["img"], step


def _classifier(model, x, classes, device, change):
    model = model.to(device).train()
    model(x)  # lazy layers take their extents
    y = torch.randint(classes, (x.shape[0],), device=device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    call = change(model)

    def step():
        optimizer.zero_grad()
        output = call(x)
        output = output if torch.is_tensor(output) else output[0]
        nn.functional.cross_entropy(output, y).backward()
        optimizer.step()

    return model, x, step


def make(name, device="cuda", updates=False, change=None):
    """`name`: yolov8n, that with Ultralytics' own loss as ultralytics, eegnet or one of
    torchvision's, and behind a colon the batch; `updates`:
    whether YOLOv8n's step ends with an optimizer, as the others' do; `change`: what is called in
    the model's place, made of it, as by torch.compile."""
    kind, _, batch = name.partition(":")
    change = change or (lambda model: model)
    torch.manual_seed(0)
    if kind == "ultralytics":
        return _ultralytics(int(batch), device, change)
    if kind == "yolov8n":
        return _yolo(int(batch), device, updates, change)
    if kind == "eegnet":
        x = torch.rand(int(batch), 1, 129, 500, device=device)
        return _classifier(EEGNet().to(device), x, 4, device, change)
    import torchvision

    x = torch.rand(int(batch), 3, 224, 224, device=device)
    model = getattr(torchvision.models, kind)(weights=None).to(device)
    return _classifier(model, x, 1000, device, change)
