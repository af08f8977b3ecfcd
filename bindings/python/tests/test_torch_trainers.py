"""Trainings by Lightning, accelerate and Hugging Face's Trainer, where they are installed: networks
are captured, and losses are PyTorch's."""

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy.torch
from convoy.torch import _switch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_twins import graphs_win, one_thread  # noqa: F401  a fixture

STEPS = 12


@pytest.fixture(params=["graph", "measured"])
def route(request, monkeypatch, tmp_path):
    monkeypatch.setenv("CONVOY_ROUTE_FILE", str(tmp_path / "routes.txt"))
    graphs_win(monkeypatch)
    return request.param


def network():
    torch.manual_seed(1)
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(8 * 36, 4))


def data():
    numbers = torch.Generator().manual_seed(2)
    x = torch.randn(4 * STEPS, 3, 6, 6, generator=numbers)
    return TensorDataset(x, torch.randint(4, (len(x),), generator=numbers))


def check(train, route, tmp_path):
    """train(network, folder) gives the losses."""
    wanted = train(network(), tmp_path / "plain")
    with convoy.torch.enabled("cpu", route=route):
        got = train(network(), tmp_path / "captured")
        counts = _switch._current.statistics.networks()
    captured = sum(count for (_, how, _), count in counts.items() if how == "graph")
    assert captured >= STEPS - 2, counts
    assert len(got) == STEPS
    torch.testing.assert_close(torch.tensor(got), torch.tensor(wanted), rtol=1e-3, atol=1e-4)


def test_lightning(route, tmp_path):
    lightning = pytest.importorskip("lightning", reason="no Lightning")

    class Module(lightning.LightningModule):
        def __init__(self, net):
            super().__init__()
            self.net, self.losses = net, []

        def training_step(self, batch, at):
            loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.losses.append(float(loss.detach()))
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)

    def train(net, folder):
        module, off = Module(net), dict(logger=False, enable_checkpointing=False)
        off.update(enable_progress_bar=False, enable_model_summary=False)
        trainer = lightning.Trainer(
            max_epochs=1, accelerator="cpu", devices=1, default_root_dir=folder, **off
        )
        trainer.fit(module, DataLoader(data(), 4))
        return module.losses

    check(train, route, tmp_path)


def test_accelerate(route, tmp_path):
    accelerate = pytest.importorskip("accelerate", reason="no accelerate")

    def train(net, folder):
        accelerator, losses = accelerate.Accelerator(cpu=True), []
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        net, optimizer, loader = accelerator.prepare(net, optimizer, DataLoader(data(), 4))
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            accelerator.backward(loss)
            optimizer.step()
            losses.append(float(loss.detach()))
        return losses

    check(train, route, tmp_path)


def test_trainer_of_transformers(route, tmp_path):
    transformers = pytest.importorskip("transformers", reason="no transformers")
    pytest.importorskip("accelerate", reason="no accelerate, which the trainer needs")

    class Model(nn.Module):
        """Its own loss, as models for this trainer have."""

        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, x, labels):
            logits = self.net(x)
            return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}

    class Losses(transformers.TrainerCallback):
        def __init__(self):
            self.found = []

        def on_log(self, args, state, control, logs=None, **_):
            self.found += [logs["loss"]] if "loss" in logs else []

    def train(net, folder):
        there = data().tensors
        rows = [{"x": x, "labels": y} for x, y in zip(*there)]
        how = transformers.TrainingArguments(
            output_dir=str(folder),
            per_device_train_batch_size=4,
            num_train_epochs=1,
            logging_steps=1,
            learning_rate=0.01,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            max_grad_norm=0.0,
        )
        losses = Losses()
        transformers.Trainer(
            model=Model(net), args=how, train_dataset=rows, callbacks=[losses]
        ).train()
        return losses.found

    check(train, route, tmp_path)
