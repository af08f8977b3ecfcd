"""A training script as Ultralytics' users write them, for the tests: it knows nothing of Convoy.

    ultralytics_train.py FOLDER SIZE OUTPUT STEPS
        [stop EPOCHS | resume CHECKPOINT | export CHECKPOINT]

Trains YOLOv8n, or the model that MODEL names, built from its yaml, on the set that
ultralytics_set.py has put into FOLDER, and writes the loss of every step to OUTPUT, one line each.
The training may be stopped early, go on from a checkpoint, or be left out: then the checkpoint is
exported, and the export's output compared.
"""

import os
import sys
from pathlib import Path

import torch
import torchvision_ops  # noqa: F401
from ultralytics import YOLO

MODEL = os.environ.get("MODEL", "yolov8n.yaml")
BATCH = 4
IMAGES = 20  # ultralytics_set.py


class Enough(Exception):
    pass


def train(folder, size, output, steps, stop, resume):
    epochs = -(-steps * BATCH // IMAGES)
    with open(output, "w") as losses:

        def after_batch(trainer):
            print(f"{float(trainer.loss.detach().sum()):.9g}", file=losses, flush=True)
            if len(Path(output).read_text().split()) == steps and steps % (IMAGES // BATCH):
                raise Enough

        def after_epoch(trainer):
            if trainer.epoch + 1 == stop:
                raise Enough

        model = YOLO(resume or MODEL)
        model.add_callback("on_train_batch_end", after_batch)
        model.add_callback("on_model_save", after_epoch)
        try:
            model.train(
                data=str(Path(folder) / ("classes" if "-cls" in MODEL else "set.yaml")),
                imgsz=size,
                epochs=epochs,
                batch=BATCH,
                device="cpu",
                workers=0,
                seed=3,
                warmup_bias_lr=0.0,
                optimizer="SGD",
                project=folder,
                name="run",
                exist_ok=True,
                resume=bool(resume),
                plots=False,
                val=False,
                verbose=False,
            )
        except Enough:
            pass


def export(checkpoint, size):
    file = YOLO(checkpoint).export(format="torchscript", imgsz=size)
    x = torch.rand(1, 3, size, size)
    model = YOLO(checkpoint).model.float().eval()
    with torch.no_grad():
        wanted, got = model(x)[0], torch.jit.load(file)(x)
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-3)


def main(folder, size, output, steps, what="", argument=""):
    torch.set_num_threads(2)
    if what == "export":
        export(argument, int(size))
        Path(output).touch()
    else:
        stop = int(argument) if what == "stop" else None
        resume = argument if what == "resume" else None
        train(folder, int(size), output, int(steps), stop, resume)


main(*sys.argv[1:])
