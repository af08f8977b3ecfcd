"""aten::convolution and aten::convolution_backward for the CPU, overridden once and for good.

PyTorch crashes where a kernel is taken back that another thread is just being sent to. So what is
turned on and off is not the kernels but the session that they look up; without one they call
PyTorch's own.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from . import _native
from ._session import Session

_library: Any = None


def override(current: Callable[[], Optional[Session]]) -> None:
    """From now on the operators go to the session that `current` returns."""
    global _library
    if _library is not None:
        return

    def convolution(*arguments: Any) -> Any:
        session = current()
        return (_native.forward if session is None else session.convolution)(*arguments)

    def convolution_backward(*arguments: Any) -> Any:
        session = current()
        return (_native.backward if session is None else session.convolution_backward)(*arguments)

    _library = torch.library.Library("aten", "IMPL")
    _library.impl("convolution", convolution, "CPU")
    _library.impl("convolution_backward", convolution_backward, "CPU")
