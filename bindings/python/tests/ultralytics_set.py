"""A small set: coloured rectangles and ellipses on noise, with their boxes; for other tasks with
their outlines, two key points or turned boxes, or sorted into folders."""

from pathlib import Path

import cv2
import numpy

IMAGES = 20
CLASSES = ("rectangle", "ellipse")


def _outline(x, y, w, h, size):
    corners = (
        (x - w / 2, y - h / 2),
        (x + w / 2, y - h / 2),
        (x + w / 2, y + h / 2),
        (x - w / 2, y + h / 2),
    )
    return " ".join(f"{min(max(each / size, 0), 1):.6f}" for corner in corners for each in corner)


def _box(x, y, w, h, size):
    return f"{x / size:.6f} {y / size:.6f} {w / size:.6f} {h / size:.6f}"


def _points(x, y, w, h, size):
    return (
        _box(x, y, w, h, size)
        + f" {x / size:.6f} {y / size:.6f} 2 {(x - w / 4) / size:.6f} {y / size:.6f} 2"
    )


#: What stands behind the class in a label, by task.
_LABELS = {"detect": _box, "segment": _outline, "obb": _outline, "pose": _points, "classify": _box}


def _draw(generator, size, task):
    image = generator.integers(0, 90, (size, size, 3)).astype(numpy.uint8)
    lines = []
    for _ in range(generator.integers(1, 5)):
        kind = int(generator.integers(len(CLASSES)))
        w, h = generator.integers(size // 8, size // 2, 2)
        x, y = generator.integers(w // 2, size - w // 2), generator.integers(h // 2, size - h // 2)
        colour = [int(value) for value in generator.integers(120, 255, 3)]
        if kind:
            cv2.ellipse(image, (int(x), int(y)), (int(w // 2), int(h // 2)), 0, 0, 360, colour, -1)
        else:
            corners = (int(x - w // 2), int(y - h // 2)), (int(x + w // 2), int(y + h // 2))
            cv2.rectangle(image, *corners, colour, -1)
        lines.append(f"{kind} {_LABELS[task](x, y, w, h, size)}")
    return image, lines


def make(folder, size, task="detect"):
    """Writes images, labels and set.yaml; of the task classify, folders of images."""
    folder, generator = Path(folder), numpy.random.default_rng(11)
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
    for index in range(IMAGES):
        image, lines = _draw(generator, size, task)
        cv2.imwrite(str(folder / "images" / f"{index:02}.png"), image)
        (folder / "labels" / f"{index:02}.txt").write_text("\n".join(lines) + "\n")
        for part in ("train", "val") if task == "classify" else ():
            sorted_ = folder / "classes" / part / CLASSES[index % len(CLASSES)]
            sorted_.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(sorted_ / f"{index:02}.png"), image)
    names = ", ".join(CLASSES)
    points = "kpt_shape: [2, 3]\n" if task == "pose" else ""
    (folder / "set.yaml").write_text(
        f"path: {folder}\ntrain: images\nval: images\nnames: [{names}]\n{points}"
    )
