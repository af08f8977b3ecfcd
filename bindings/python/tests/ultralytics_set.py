"""A small detection set: coloured rectangles and ellipses on noise, with their boxes."""

from pathlib import Path

import cv2
import numpy

IMAGES = 20
CLASSES = ("rectangle", "ellipse")


def _draw(generator, size):
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
        lines.append(f"{kind} {x / size:.6f} {y / size:.6f} {w / size:.6f} {h / size:.6f}")
    return image, lines


def make(folder, size):
    """Writes images, labels and set.yaml."""
    folder, generator = Path(folder), numpy.random.default_rng(11)
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
    for index in range(IMAGES):
        image, lines = _draw(generator, size)
        cv2.imwrite(str(folder / "images" / f"{index:02}.png"), image)
        (folder / "labels" / f"{index:02}.txt").write_text("\n".join(lines) + "\n")
    names = ", ".join(CLASSES)
    (folder / "set.yaml").write_text(
        f"path: {folder}\ntrain: images\nval: images\nnames: [{names}]\n"
    )
