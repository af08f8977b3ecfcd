"""All files of the table, read."""

from . import (  # noqa: F401
    convolutions,
    elementwise,
    filters,
    indexing,
    moves,
    norms,
    pools,
    products,
    randoms,
    reductions,
    resampling,
)
from .table import OPERATORS, Emit, bound, name_of

__all__ = ["OPERATORS", "Emit", "bound", "name_of"]
