"""Why a network, or an operator of one, is not carried out by Convoy."""

from __future__ import annotations


class Declined(Exception):
    """PyTorch runs the network as ever. The text says why, for report()."""


class Unsupported(Exception):
    """No operation of Convoy's does what this operator, with these arguments, does."""
