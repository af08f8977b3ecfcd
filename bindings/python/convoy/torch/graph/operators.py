"""All files of the table, read."""

from . import convolutions, elementwise, norms, pools, products, randoms, reductions  # noqa: F401
from .table import OPERATORS, bound, name_of

__all__ = ["OPERATORS", "bound", "name_of"]
