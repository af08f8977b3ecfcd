"""Small networks that between them have the operators that Convoy's table for PyTorch knows."""

import torch
import torch.nn.functional as F
from torch import nn


class Convolutions(nn.Module):
    """Strides, groups, dilation, asymmetric filters, batch norm, SiLU in place, a residual."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, (3, 1), padding=(1, 0), groups=8)
        self.wide = nn.Conv2d(8, 8, 3, padding=2, dilation=2, padding_mode="zeros")
        self.last = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        x = F.silu(self.norm(self.first(x)), inplace=True)
        x = x + self.wide(F.relu(self.depthwise(x)))
        return self.last(x)


class Classifier(nn.Module):
    """What ResNets are made of: pooling, a mean over positions, a linear layer."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.Hardswish(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return F.log_softmax(self.head(self.body(x)), dim=1)


class Transposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 6, 3, stride=2, padding=1, output_padding=1)
        self.line = nn.Conv1d(6, 4, 5, padding="same")
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.line(torch.tanh(self.up(x)).flatten(2)))


class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm3d(4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = x.unsqueeze(2).expand(-1, -1, 4, -1, -1)
        x = F.max_pool3d(F.elu(self.norm(self.conv(x))), 2)
        return self.head(F.avg_pool3d(x, 2).mean((2, 3, 4)))


class Signals(nn.Module):
    """What networks for electroencephalograms are made of: filters over time, average pooling."""

    def __init__(self):
        super().__init__()
        self.time = nn.Conv2d(1, 4, (1, 9), padding=(0, 4), bias=False)
        self.norm = nn.BatchNorm2d(4, momentum=0.01)
        self.space = nn.Conv2d(4, 8, (3, 1), groups=4, bias=False)
        self.other = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 16, 3)

    def forward(self, x):
        x = x.flatten(2).unsqueeze(1)
        x = self.other(self.space(self.norm(self.time(x))))
        return self.head(F.avg_pool2d(F.elu(x), (1, 16)).flatten(1))


class Squeeze(nn.Module):
    """A gate per channel, and one per position."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.down, self.up = nn.Linear(8, 4), nn.Linear(4, 8)
        self.place = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x = F.leaky_relu(self.conv(x), 0.1)
        gate = torch.sigmoid(self.up(F.relu6(self.down(x.mean((2, 3))))))
        x = x * gate[:, :, None, None]
        return x * F.hardsigmoid(self.place(x))


class Norms(nn.Module):
    """Group, layer and instance norm, and batch norm without statistics or parameters."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.group = nn.GroupNorm(4, 8)
        self.layer = nn.LayerNorm((16, 16))
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.plain = nn.BatchNorm2d(8, affine=False, track_running_stats=False)
        self.bare = nn.LayerNorm(16, elementwise_affine=False)

    def forward(self, x):
        x = F.gelu(self.group(self.conv(x)))
        x = F.mish(self.layer(x))
        x = F.softplus(self.instance(x), beta=2)
        return self.bare(self.plain(x))


class Attention(nn.Module):
    """Heads of one width, so that nothing has to be copied: products, a scale, a softmax."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(16, 16, bias=False) for _ in range(3))
        self.out = nn.Linear(16, 16)

    def forward(self, x):
        x = x.flatten(2)[:, :, :16] if x.dim() == 4 else x
        q, k, v = self.query(x), self.key(x), self.value(x)
        weights = torch.softmax(q @ k.transpose(1, 2) / 4.0, dim=-1)
        return self.out(weights @ v)


class Functions(nn.Module):
    """Functions of one element, and of two."""

    ONE = [
        torch.abs,
        torch.exp,
        torch.sigmoid,
        torch.tanh,
        torch.erf,
        torch.square,
        torch.neg,
        torch.floor,
        torch.ceil,
        torch.trunc,
        torch.sign,
        lambda x: torch.reciprocal(x.abs() + 1),
        lambda x: torch.log(x.abs() + 1),
        lambda x: torch.sqrt(x.abs() + 1),
        lambda x: torch.rsqrt(x.abs() + 1),
        lambda x: torch.log2(x.abs() + 1),
        lambda x: x**2,
        lambda x: x**3,
        lambda x: x**4,
        lambda x: (x.abs() + 1) ** 0.5,
        lambda x: (x.abs() + 1) ** -1,
        lambda x: (x.abs() + 1) ** -2,
        lambda x: x.clamp(-0.5, 0.7),
        lambda x: x.clamp(min=-0.2),
        lambda x: x.clamp(max=0.4),
        lambda x: F.threshold(x, 0.1, -1.0),
        lambda x: F.hardtanh(x, -0.3, 0.6),
        F.selu,
        F.celu,
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: F.elu(x, 0.7),
        F.hardswish,
        F.mish,
        lambda x: x.masked_fill(x > 0.5, 2.0),
        lambda x: torch.where(x < 0, x * 3, x / 3),
        lambda x: (~(x > 0)).float() * x,
        lambda x: ((x > 0) & (x < 1)).float() * x,
        lambda x: torch.rsub(x, 2.0),
        lambda x: 3.0 - x,
        lambda x: 1.0 / (x.abs() + 2),
        lambda x: x * torch.arange(16.0),
        lambda x: x + torch.ones(16, 1),
        F.silu,
        F.logsigmoid,
        lambda x: torch.zeros_like(x) + x,
        torch.expm1,
        lambda x: torch.log1p(x.abs()),
        lambda x: F.softshrink(x, 0.2),
        lambda x: F.prelu(x, torch.full((3,), 0.2)),
        lambda x: torch.logaddexp(x, x * 0.5),
        lambda x: F.glu(torch.cat([x, x], 1), 1),
        lambda x: F.relu(x, inplace=False),
    ]
    TWO = [
        torch.add,
        torch.sub,
        torch.mul,
        lambda a, b: a / (b.abs() + 1),
        torch.maximum,
        torch.minimum,
        lambda a, b: torch.lerp(a, b, 0.3),
        lambda a, b: torch.addcmul(a, a, b),
        lambda a, b: torch.addcdiv(a, a, b.abs() + 1, value=0.5),
        lambda a, b: torch.add(a, b, alpha=0.25),
        lambda a, b: torch.where(a > b, a, b * 2),
    ]

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, len(self.ONE)))
        self.shift = nn.Parameter(torch.linspace(-0.5, 0.5, len(self.TWO)))
        self.inner = nn.Identity()

    def forward(self, x):
        one = sum(function(x * self.scale[i]) for i, function in enumerate(self.ONE))
        shifted = [torch.tanh(one + self.shift[i]) for i in range(len(self.TWO))]
        two = sum(function(x, shifted[i]) for i, function in enumerate(self.TWO))
        return self.inner(one) + two


class Reductions(nn.Module):
    """Sums, means, maxima, variances and norms, over some axes and all."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3, 1, 1))
        self.inner = nn.Identity()

    def forward(self, x):
        x = x * self.scale
        parts = [
            x.sum(),
            x.mean(),
            x.sum((0, 2)).mean(),
            x.mean(1).square().sum(),
            x.amax(2).sum(),
            x.var((2, 3)).sum(),
            x.var(1, unbiased=False).sum(),
            x.std((1, 2, 3)).sum(),
            x.norm(dim=1).sum(),
            x.flatten(1).norm(p=1, dim=1).sum(),
            x.amin((0, 1)).sum(),
            torch.var_mean(x, 3)[1].sum(),
            x.sum(1, keepdim=True).square().mean(),
            F.softmax(x, dim=1).square().sum(),
            F.log_softmax(x.flatten(1), dim=1).sum(),
            F.normalize(x, dim=1).sum(),
            (x - x.mean((2, 3), keepdim=True)).square().mean(),
        ]
        return self.inner(torch.stack([part.reshape(1) for part in parts]).sum())


class Resampled(nn.Module):
    """Maps of other extents: by factors and ratios, larger and smaller, of one to three axes."""

    def __init__(self):
        super().__init__()
        self.into = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        x = self.into(x)
        maps = [
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(21, 9)),
            F.interpolate(x, scale_factor=1.7),
            F.interpolate(x, size=(5, 32), mode="nearest-exact"),
            F.interpolate(x, scale_factor=2, mode="bilinear"),
            F.interpolate(x, scale_factor=(0.6, 1.3), mode="bilinear"),
            F.interpolate(x, size=(24, 11), mode="bilinear", align_corners=True),
            F.interpolate(x.flatten(2), size=300, mode="linear"),
            F.interpolate(x[:, :, None], scale_factor=(2, 0.5, 2), mode="trilinear"),
            F.interpolate(x, scale_factor=1.5, mode="bicubic"),
            F.interpolate(x, size=(9, 33), mode="bicubic", align_corners=True),
            F.interpolate(x, size=(7, 40), mode="bicubic", antialias=True),
            F.interpolate(x, size=(6, 20), mode="bilinear", antialias=True),
        ]
        return torch.stack([each.square().mean((0, 2)).sum() for each in maps])


class Chosen(nn.Module):
    """Elements by indices that are the same in each run: a window's relative positions, as strides
    and as distances; a map that is rolled; columns in no order; memory under other strides."""

    def __init__(self):
        super().__init__()
        at = torch.arange(4)
        rows = at[:, None] - at + 3
        places = rows[:, None, :, None] * 7 + rows[None, :, None, :]
        self.register_buffer("relative", places.reshape(16, 16))
        self.register_buffer("distances", (at[:, None] - at).abs().repeat(4, 4))
        self.register_buffer("some", torch.tensor([5, 1, 1, 9, -1, 0, 2, 2, 7, 3, 8, 4]))
        self.table = nn.Parameter(torch.linspace(-1, 1, 49 * 3).reshape(49, 3).sin())
        self.bias = nn.Parameter(torch.linspace(0, 1, 3 * 4).reshape(3, 4).cos())
        self.scale = nn.Parameter(torch.ones(3, 1, 1))
        self.inner = nn.Identity()

    def forward(self, x):
        x = x * self.scale
        table = self.table[self.relative.flatten()].reshape(16, 16, 3).permute(2, 0, 1)
        x = x + table + self.bias[:, self.distances]
        x = torch.roll(x, (-3, 5), (2, 3))
        parts = [
            x[:, :, self.some].sum(),
            x.index_select(3, self.some.remainder(16)).square().sum(),
            x[:, self.distances[0, :3]][:, :, at_the_corners(16)].sum(),
            x.flatten(1)[:, torch.arange(0, 700, 7)].square().mean(),
            x.mean((2, 3)).as_strided((2, 3, 1, 1), (3, 1, 3, 3)).square().sum(),
        ]
        last = torch.arange(1.0, 17)[:, None].repeat(1, 16)[-1:] + 1  # a constant's part
        return self.inner(torch.stack(parts)) + (x / last).mean((2, 3), keepdim=True).sum()


def at_the_corners(extent):
    return torch.tensor([0, extent - 1])


class Masked(nn.Module):
    """Attention with a mask, under which one query sees nothing."""

    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        mask = torch.ones(48, 48, dtype=torch.bool).tril()
        mask[5] = False
        self.register_buffer("mask", mask)

    def forward(self, x):
        q, k, v = self.into(x.flatten(1, 2)).reshape(-1, 48, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask)
        return self.out(y.transpose(1, 2).flatten(2))


class Several(nn.Module):
    """Results in a dictionary, of which one has no gradient and one is not used by the loss."""

    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 4, 3, padding=1)
        self.used, self.unused = nn.Conv2d(4, 2, 1), nn.Conv2d(4, 2, 1)

    def forward(self, x, factor=1.0, *, more=None):
        y = F.relu(self.body(x))
        y = y * factor if more is None else y * factor + more
        return {"used": self.used(y), "other": [self.unused(y), (y > 0).sum()], "name": "several"}


class Shared(nn.Module):
    """One layer twice, one parameter in two layers, a frozen one, a buffer of its own."""

    def __init__(self):
        super().__init__()
        self.into = nn.Conv2d(3, 6, 1)
        self.twice = nn.Conv2d(6, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.tied = nn.Conv2d(6, 6, 3, padding=1)
        self.tied.weight = self.twice.weight
        self.norm.bias.requires_grad_(False)
        self.register_buffer("offset", torch.linspace(0, 1, 6).reshape(6, 1, 1))
        self.plain = torch.full((6, 1, 1), 0.5)

    def forward(self, x):
        x = self.into(x) + self.offset
        x = self.norm(self.twice(x))
        return self.tied(self.norm(self.twice(x * self.plain)))


class Average(nn.Module):
    """A buffer that is written in place without a batch norm."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.inner = nn.Identity()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        x = self.inner(self.conv(x))
        if self.training:
            self.mean.mul_(0.9).add_(x.detach().mean((0, 2, 3)), alpha=0.1)
        return x - self.mean[:, None, None]


#: Networks whose operators Convoy has all of.
WHOLE = [
    Convolutions,
    Classifier,
    Transposed,
    Volumes,
    Signals,
    Squeeze,
    Norms,
    Functions,
    Reductions,
    Resampled,
    Chosen,
    Several,
    Shared,
]
if hasattr(F, "scaled_dot_product_attention"):  # PyTorch 2
    WHOLE.append(Masked)
