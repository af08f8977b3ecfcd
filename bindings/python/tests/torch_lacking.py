"""Small networks with operators that Convoy has not, which PyTorch carries out between stages."""

import torch
from torch import nn


class Sorted(nn.Module):
    """An operator that Convoy has not, and another one in its gradient."""

    def __init__(self):
        super().__init__()
        self.inside = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.after = nn.Linear(8, 8)

    def forward(self, x):
        return self.after(self.inside(x).sort(dim=1)[0])


class SortedAtOnce(nn.Module):
    """It reads what is given and a parameter, and gives the network's results."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(4, 8))
        self.none = nn.Identity()

    def forward(self, x):
        return torch.cat([x.sort(dim=1)[0], self.table.sort(dim=0)[0]])


class Placed(nn.Module):
    """Rows by where the largest are, which are integers of the card."""

    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(8, 8)

    def forward(self, x):
        y = self.inside(x)
        places = y.detach().sort(dim=0)[1]
        return torch.gather(y.tanh(), 0, places) * (y > y.detach().kthvalue(2, 1)[0][:, None])


class Uneven(nn.Module):
    """Pooling in which windows are of several sizes, as in AlexNet with small images."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8 * 9, 4)

    def forward(self, x):
        return self.head(nn.functional.adaptive_avg_pool2d(self.first(x).relu(), 3).flatten(1))


class Everything(nn.Module):
    """What PyTorch's operators read is given back as well."""

    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(8, 8)

    def forward(self, x):
        y = self.inside(x)
        return y, y.sort(dim=1)[0] + x.sort(dim=1)[0], y.sort(dim=0)[1]


class TooMany(nn.Module):
    """More than a network may have: each divides a graph."""

    def __init__(self):
        super().__init__()
        self.inside = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        for _ in range(4):
            x = self.inside(x).sort(dim=1)[0]
        return x


#: What they are given.
GIVEN = {
    Sorted: lambda: torch.randn(4, 8),
    SortedAtOnce: lambda: torch.randn(4, 8),
    Placed: lambda: torch.randn(4, 8),
    Uneven: lambda: torch.randn(2, 3, 15, 16),
}
