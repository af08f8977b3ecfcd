"""Turns of one process through Convoy and through PyTorch alone, without capturing and measuring
anew as enable() would."""

from convoy.torch import _kernels, _switch


def current():
    """What convoy.torch.enable() has made; None: nothing."""
    return _switch._current


def use(session):
    """Convoy from now on, or with None PyTorch alone."""
    _kernels.use(session)
    _switch._current = session
