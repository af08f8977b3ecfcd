"""A small training for the tests of faults: prints the loss of each step. It knows nothing of
Convoy."""

import torch
from torch import nn

STEPS = 10

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, 2, 1, bias=False),
    nn.BatchNorm2d(16),
    nn.SiLU(inplace=True),
    nn.Conv2d(16, 16, 3, 1, 1, groups=4),
    nn.ConvTranspose2d(16, 8, 4, 2, 1),
    nn.ReLU(),
    nn.Conv2d(8, 4, 1),
)
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
x, target = torch.randn(4, 3, 24, 24), torch.randn(4, 4, 24, 24)
for _ in range(STEPS):
    optimizer.zero_grad()
    loss = (model(x) - target).square().mean()
    loss.backward()
    optimizer.step()
    print(f"{float(loss.detach()):.9g}", flush=True)
