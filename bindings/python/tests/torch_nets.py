"""The networks of nets/ in PyTorch, from their published descriptions, with the parameter names of
torchvision, braindecode and ultralytics. Dropout is left out: its random numbers are everybody's
own."""

import torch
from torch import nn

# Rounding moves what an activation reads across its kink, and that changes gradients by far more
# than rounding: what somebody else's activations made can be put here, to be followed.
SEEN = []


def activate(x, most=None):
    """ReLU, up to `most` if that is given."""
    if not SEEN:
        return torch.clamp(x, 0, most)
    seen = torch.tensor(SEEN.pop(0)).reshape(x.shape)
    y = torch.where(seen > 0, x, torch.zeros_like(x))
    return y if most is None else torch.where(seen >= most, torch.full_like(x, most), y)


def passed(x):
    """What is seen, but has no kink."""
    if SEEN:
        SEEN.pop(0)
    return x


class ReLU6(nn.Module):
    def forward(self, x):
        return activate(x, 6)

# ----------------------------------------------------------------------------------------- ResNet


class Basic(nn.Module):
    widening = 1

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _shortcut(inputs, width, stride)

    def forward(self, x):
        y = activate(self.bn1(self.conv1(x)))
        return activate(self.bn2(self.conv2(y)) + self.downsample(x))

    def damp(self):
        """What a block adds becomes small beside what it adds to: float32 is enough then, also for
        50 layers of small maps."""
        torch.nn.init.uniform_(self.bn2.weight, 0.1, 0.3)


class Bottleneck(nn.Module):
    widening = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = _shortcut(inputs, 4 * width, stride)

    def forward(self, x):
        y = activate(self.bn1(self.conv1(x)))
        y = activate(self.bn2(self.conv2(y)))
        return activate(self.bn3(self.conv3(y)) + self.downsample(x))

    def damp(self):
        torch.nn.init.uniform_(self.bn3.weight, 0.1, 0.3)


def _shortcut(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    convolution = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self, block, blocks, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for number, count in enumerate(blocks, 1):
            width, layers = 32 << number, []
            for i in range(count):
                layers.append(block(inputs, width, 2 if i == 0 and number > 1 else 1))
                inputs = block.widening * width
            setattr(self, f"layer{number}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(activate(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


# ------------------------------------------------------------------------------------- MobileNetV2


def _conv(inputs, outputs, extent, stride, groups=1):
    convolution = nn.Conv2d(
        inputs, outputs, extent, stride, extent // 2, groups=groups, bias=False
    )
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), ReLU6())


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, widening):
        super().__init__()
        inner = inputs * widening
        layers = [_conv(inputs, inner, 1, 1)] if widening > 1 else []
        layers += [_conv(inner, inner, 3, stride, inner)]
        layers += [nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return passed(x + self.conv(x)) if self.adds else self.conv(x)

    def damp(self):
        if self.adds:
            torch.nn.init.uniform_(self.conv[-1].weight, 0.1, 0.3)


class MobileNetV2(nn.Module):
    STAGES = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )

    def __init__(self, classes):
        super().__init__()
        layers, inputs = [_conv(3, 32, 3, 2)], 32
        for widening, outputs, count, stride in self.STAGES:
            for i in range(count):
                layers.append(Inverted(inputs, outputs, stride if i == 0 else 1, widening))
                inputs = outputs
        layers.append(_conv(inputs, 1280, 1, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


# ------------------------------------------------------------------------------------------ EEGNet


class EEGNet(nn.Module):
    def __init__(self, channels, samples, classes):
        super().__init__()
        norm = {"momentum": 0.01, "eps": 1e-3}
        self.conv_temporal = nn.Conv2d(1, 8, (1, 64), padding=(0, 32), bias=False)
        self.bnorm_temporal = nn.BatchNorm2d(8, **norm)
        self.conv_spatial = nn.Conv2d(8, 16, (channels, 1), groups=8, bias=False)
        self.bnorm_1 = nn.BatchNorm2d(16, **norm)
        self.conv_separable_depth = nn.Conv2d(
            16, 16, (1, 16), padding=(0, 8), groups=16, bias=False
        )
        self.conv_separable_point = nn.Conv2d(16, 16, 1, bias=False)
        self.bnorm_2 = nn.BatchNorm2d(16, **norm)
        width = ((samples + 1) // 4 + 1) // 8
        self.final_layer = nn.ModuleDict({"conv_classifier": nn.Conv2d(16, classes, (1, width))})

    def forward(self, x):
        pool, elu = nn.functional.avg_pool2d, lambda x: passed(nn.functional.elu(x))
        x = self.bnorm_1(self.conv_spatial(self.bnorm_temporal(self.conv_temporal(x))))
        x = self.conv_separable_depth(pool(elu(x), (1, 4)))
        x = pool(elu(self.bnorm_2(self.conv_separable_point(x))), (1, 8))
        return self.final_layer["conv_classifier"](x).flatten(1)


# ----------------------------------------------------------------------------------------- YOLOv8n


class ConvSiLU(nn.Module):
    def __init__(self, inputs, outputs, extent=1, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, extent, stride, extent // 2, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03)

    def forward(self, x):
        return passed(nn.functional.silu(self.bn(self.conv(x))))


class Pair(nn.Module):
    def __init__(self, width, adds):
        super().__init__()
        self.cv1, self.cv2 = ConvSiLU(width, width, 3), ConvSiLU(width, width, 3)
        self.adds = adds

    def forward(self, x):
        y = self.cv2(self.cv1(x))
        return passed(x + y) if self.adds else y


class Split(nn.Module):
    """Half of the channels through blocks, all that was on the way side by side."""

    def __init__(self, inputs, outputs, blocks=1, adds=False):
        super().__init__()
        half = outputs // 2
        self.cv1, self.cv2 = ConvSiLU(inputs, outputs), ConvSiLU((2 + blocks) * half, outputs)
        self.m = nn.ModuleList(Pair(half, adds) for _ in range(blocks))

    def forward(self, x):
        parts = list(self.cv1(x).chunk(2, 1))
        for block in self.m:
            parts.append(block(parts[-1]))
        return self.cv2(torch.cat(parts, 1))


class Pyramid(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.cv1, self.cv2 = ConvSiLU(channels, channels // 2), ConvSiLU(2 * channels, channels)

    def forward(self, x):
        parts = [self.cv1(x)]
        for _ in range(3):
            parts.append(nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        return self.cv2(torch.cat(parts, 1))


class Detect(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.cv2 = nn.ModuleList(self.branch(c, 64, 64) for c in channels)
        width = max(channels[0], min(classes, 100))
        self.cv3 = nn.ModuleList(self.branch(c, width, classes) for c in channels)

    @staticmethod
    def branch(inputs, width, outputs):
        first, second = ConvSiLU(inputs, width, 3), ConvSiLU(width, width, 3)
        return nn.Sequential(first, second, nn.Conv2d(width, outputs, 1))

    def forward(self, maps):
        heads = zip(maps, self.cv2, self.cv3)
        return [torch.cat((sides(x), classes(x)), 1) for x, sides, classes in heads]


class YOLOv8n(nn.Module):
    """The three raw maps."""

    def __init__(self, classes):
        super().__init__()
        nothing = nn.Identity  # upsampling and concatenation have no parameters
        self.model = nn.ModuleList(
            (
                ConvSiLU(3, 16, 3, 2),
                ConvSiLU(16, 32, 3, 2),
                Split(32, 32, 1, True),
                ConvSiLU(32, 64, 3, 2),
                Split(64, 64, 2, True),
                ConvSiLU(64, 128, 3, 2),
                Split(128, 128, 2, True),
                ConvSiLU(128, 256, 3, 2),
                Split(256, 256, 1, True),
                Pyramid(256),
                nothing(),
                nothing(),
                Split(384, 128),
                nothing(),
                nothing(),
                Split(192, 64),
                ConvSiLU(64, 64, 3, 2),
                nothing(),
                Split(192, 128),
                ConvSiLU(128, 128, 3, 2),
                nothing(),
                Split(384, 256),
                Detect((64, 128, 256), classes),
            )
        )

    def forward(self, x):
        module = self.model
        for i in range(5):
            x = module[i](x)
        middle = module[6](module[5](x))
        coarse = module[9](module[8](module[7](middle)))
        middle = module[12](torch.cat((self.twice(coarse), middle), 1))
        fine = module[15](torch.cat((self.twice(middle), x), 1))
        middle = module[18](torch.cat((module[16](fine), middle), 1))
        coarse = module[21](torch.cat((module[19](middle), coarse), 1))
        return module[22]((fine, middle, coarse))

    @staticmethod
    def twice(x):
        return nn.functional.interpolate(x, scale_factor=2, mode="nearest")


# ------------------------------------------------------------------------------------------ by name


def make(name, classes, image):
    """The network for images of these extents."""
    if name == "resnet18":
        return ResNet(Basic, (2, 2, 2, 2), classes)
    if name == "resnet50":
        return ResNet(Bottleneck, (3, 4, 6, 3), classes)
    if name == "mobilenet_v2":
        return MobileNetV2(classes)
    if name == "yolov8n":
        return YOLOv8n(classes)
    return EEGNet(image[1], image[2], classes)
