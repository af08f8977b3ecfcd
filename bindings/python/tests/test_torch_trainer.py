"""What happens when Ultralytics is imported, with a package in its place that has the one class
that matters: what was said of Convoy stands, and workers are as many as were asked for.
"""

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="no PyTorch")

import convoy
from ready import Ready

TRAINER = """
class Arguments:
    workers = 0
class BaseTrainer:
    def __init__(self, workers):
        self.args = Arguments()
        self.check_resume(workers)
        self.seen = self.args.workers
        self.args.workers = 0  # as on any device "cpu"
    def check_resume(self, workers):
        self.args.workers = workers
"""

SHOW = """
from ultralytics.engine.trainer import BaseTrainer
import convoy.torch
now = convoy.torch._switch._current
print(now and now.settings[:2], BaseTrainer(5).args.workers, BaseTrainer(5).seen)
"""


@pytest.fixture
def package(tmp_path):
    """The folder of the stand-in, and of the scripts."""
    (tmp_path / "ultralytics" / "engine").mkdir(parents=True)
    (tmp_path / "ultralytics" / "__init__.py").touch()
    (tmp_path / "ultralytics" / "engine" / "__init__.py").touch()
    (tmp_path / "ultralytics" / "engine" / "trainer.py").write_text(TRAINER)
    return tmp_path


@pytest.fixture(scope="module")
def ready():
    made = Ready()
    yield made
    made.close()


@pytest.fixture
def shown(ready, package):
    """What a program prints, and then SHOW."""

    def show(text, *runner):
        script = package / "script.py"
        script.write_text(text + SHOW)
        paths = str(Path(convoy.__file__).parents[1]), str(package)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CONVOY_DEVICE": "cpu"}
        environment["CONVOY_ROUTE"] = "measured"
        done = ready.run([*runner, script], environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return show


RUNNER = "-m", "convoy", "run"
ENABLE = "import convoy.torch; convoy.torch.enable('cpu', route='convoy')\n"
DISABLE = "import convoy.torch; convoy.torch.disable()\n"
IMPORT = "import convoy.ultralytics\n"
LATER = "from ultralytics.engine import trainer\n" + IMPORT

BY_DEFAULT = "(None, 'measured') 5 5"
AS_ENABLED = "('cpu', 'convoy') 5 5"


@pytest.mark.parametrize(
    "text, runner, wanted",
    [
        (IMPORT, (), BY_DEFAULT),
        (LATER, (), BY_DEFAULT),
        ("", RUNNER, BY_DEFAULT),
        (IMPORT, RUNNER, BY_DEFAULT),
        (LATER, RUNNER, BY_DEFAULT),
        (ENABLE + IMPORT, (), AS_ENABLED),
        (ENABLE, RUNNER, AS_ENABLED),
        (ENABLE + IMPORT, RUNNER, AS_ENABLED),
        (DISABLE + IMPORT, (), "None 5 5"),
        (DISABLE, RUNNER, "None 5 5"),
        (DISABLE + IMPORT, RUNNER, "None 5 5"),
    ],
)
def test_import_of_ultralytics(shown, text, runner, wanted):
    assert shown(text, *runner) == wanted


def test_without_convoy_there_are_no_workers(shown):
    """The stand-in does what makes the tests above mean something."""
    assert shown("") == "None 0 5"


def test_the_trainer_is_patched_once(shown):
    text = """
import convoy.ultralytics
from convoy._workers import _keep_workers
from ultralytics.engine import trainer
before = vars(trainer.BaseTrainer).copy()
_keep_workers(trainer)
assert vars(trainer.BaseTrainer) == before
"""
    assert shown(text, *RUNNER) == BY_DEFAULT
