"""aten::convolution and aten::convolution_backward for the CPU and for cards, overridden once and
for good.

PyTorch crashes where a kernel is taken back that another thread is just being sent to. So what is
turned on and off is not the kernels but the session that they look up; without one they call
PyTorch's own.
"""

from __future__ import annotations

import warnings
from typing import Any, List, Optional

import torch

from . import _native
from ._plainly import is_backward_left, is_plain, leave_backward
from ._platform import Cards as Platform
from ._session import Session

#: The cards that PyTorch computes on; None: it knows of none.
platform = Platform() if Platform.there() else None

_library: List[Any] = []
_here: List[Any] = [None]  # what has the two functions for tensors of the CPU; None: PyTorch
_on_cards: List[Any] = [None]  # and for tensors on cards


def _override(key: str, taken: List[Any]) -> None:
    def convolution(*arguments: Any) -> Any:
        by = None if is_plain() else taken[0]
        if by is not None:
            leave_backward(False)
        return (_native.forward if by is None else by.convolution)(*arguments)

    def convolution_backward(*arguments: Any) -> Any:
        by = None if is_backward_left() else taken[0]
        return (_native.backward if by is None else by.convolution_backward)(*arguments)

    with warnings.catch_warnings():  # some versions warn of what is meant
        warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel")
        _library[0].impl("convolution", convolution, key)
        _library[0].impl("convolution_backward", convolution_backward, key)


def use(session: Optional[Session]) -> None:
    """From now on the operators go to this session."""
    leave_backward(False)
    _here[0] = session
    _on_cards[0] = None if session is None else session.cards
    if _library or session is None:
        return
    _library.append(torch.library.Library("aten", "IMPL"))
    if platform is not None:
        _override(platform.key, _on_cards)
    if platform is None or platform.key != "CPU":
        _override("CPU", _here)
