"""Matrix products: flags from keywords, and the extents of what is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

from ._arrays import as_input
from ._errors import argument_error
from ._host import call
from ._lib import MATMUL_SUM, MATMUL_TRANSPOSE_A, MATMUL_TRANSPOSE_B
from ._load import library
from ._records import Run
from ._tensor import Tensor, tensor_pointer
from ._values import flag

if TYPE_CHECKING:
    from ._context import Context


def flags_of(transpose_a: Any, transpose_b: Any, sum_batch: Any) -> int:
    """The flags of convoy_matmul."""
    return (
        flag(transpose_a, "transpose_a") * MATMUL_TRANSPOSE_A
        | flag(transpose_b, "transpose_b") * MATMUL_TRANSPOSE_B
        | flag(sum_batch, "sum_batch") * MATMUL_SUM
    )


def _result_shape(a: Sequence[int], b: Sequence[int], flags: int) -> Tuple[int, ...]:
    """Extents of the result; what does not fit is the library's to refuse."""
    if len(a) < 2 or len(b) < 2:
        return (1, 1)
    rows = a[-1] if flags & MATMUL_TRANSPOSE_A else a[-2]
    columns = b[-2] if flags & MATMUL_TRANSPOSE_B else b[-1]
    if flags & MATMUL_SUM or (len(a) == 2 and len(b) == 2):
        return (rows, columns)
    batches = [shape[0] for shape in (a, b) if len(shape) > 2]
    return (next((batch for batch in batches if batch != 1), 1), rows, columns)


def matmul(context: Context, a: Any, b: Any, flags: int, out: Any, run: Optional[Run]) -> Any:
    """Context.matmul()."""
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        if out is not None:
            raise argument_error("out is for tensors; of arrays a new one is returned")
        left, right = context.tensor(as_input(a, "a")), context.tensor(as_input(b, "b"))
        return matmul(context, left, right, flags, None, run).read()
    pointers = tensor_pointer(a, context, "a"), tensor_pointer(b, context, "b")
    y = Tensor(context, _result_shape(a.shape, b.shape, flags)) if out is None else out
    call(context, library.convoy_matmul, run, flags, *pointers, tensor_pointer(y, context, "out"))
    return y
