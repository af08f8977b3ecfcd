"""Where captured networks run: a context of their own, since nothing else may be called on one
while operations are captured there, and how PyTorch's tensors get there and back.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional, Sequence, Set

import torch

from ..._context import Context
from ..._errors import check
from ..._lib import DeviceType
from ..._load import library
from ..._release import release
from ..._tensor import Tensor as DeviceTensor
from .away import Away
from .host_memory import HostMemory
from .mirror import Batch, Mirror, Mirrored, new_tensor
from .untouched import Left
from .values import Value


_TYPES = {"float32": torch.float32, "uint8": torch.uint8, "int32": torch.int32}


def _close(contexts: List[Context]) -> None:
    for context in contexts:
        release(context.close)


class Engine:
    """For tensors of PyTorch's on the host: they are sent to where Convoy computes, and results are
    fetched. Opened when the first network is captured. Its lock is held for captures and runs.

    Networks hold it, and so do forward passes whose backward pass may come: the device is given
    back when nobody does any more."""

    where = "on the CPU"
    #: What a pass reads is PyTorch's memory, which has to be named for each pass.
    in_place = False

    def __init__(self, open_context: Callable[[], Context]) -> None:
        self.lock = threading.RLock()
        self._open = open_context
        self._contexts: List[Context] = []
        self._mirror: Any = None
        self._memory: Optional[HostMemory] = None
        self.away = Away(self.lock, self._contexts)
        #: Ids of parameters that an optimizer steps here.
        self.stepped: Set[int] = set()
        #: By id of a parameter: what a network's last backward pass has left of its gradient.
        self.left: weakref.WeakValueDictionary[int, Left] = weakref.WeakValueDictionary()
        weakref.finalize(self, _close, self._contexts)

    @property
    def context(self) -> Context:
        self._open_once()
        return self._contexts[0]

    def _open_once(self) -> None:
        with self.lock:
            if not self._contexts:
                self._contexts.append(self._open())
                self._mirror = Mirror(self._contexts[0])
                self._memory = HostMemory(self._contexts[0])

    @property
    def is_open(self) -> bool:
        return bool(self._contexts)

    @property
    def is_device(self) -> bool:
        """Whether networks run elsewhere than on the host's processor."""
        return self.context.device.type != DeviceType.CPU_ENGINE

    # ------------------------------------------------------------------------- PyTorch's side

    def draw(self, shape: Sequence[int], below: Optional[float]) -> torch.Tensor:
        """Random numbers from 0 to 1, or whether they are below a number, of PyTorch's generator.
        Engines whose runs may be recorded have them drawn so: PyTorch sees to it that they are
        others when that is replayed."""
        numbers = self.empty(shape)
        return numbers.uniform_() if below is None else numbers.bernoulli_(below)

    def has(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor is where PyTorch keeps those that run here."""
        return tensor.is_cpu

    def reason(self) -> Optional[str]:
        """Why nothing can be captured now, nor carried out as captured; None if it can."""
        return None

    @property
    def recording(self) -> bool:
        """Whether what goes to the device is recorded, to be carried out again and again."""
        return False

    @property
    def device(self) -> torch.device:
        """Where PyTorch has the tensors that run here."""
        return torch.device("cpu")

    def placed(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of the host's where PyTorch has those that run here."""
        return tensor.to(self.device)

    def empty(self, shape: Sequence[int]) -> torch.Tensor:
        """For results and the like."""
        assert self._memory is not None  # what is captured has a context
        return self._memory.empty(tuple(shape))

    def empty_like(self, tensor: DeviceTensor) -> torch.Tensor:
        """For the values of a tensor, as elements in order."""
        if str(tensor.dtype) == "float32":
            return self.empty((tensor.size,))
        return torch.empty(tensor.size, dtype=_TYPES[str(tensor.dtype)])

    def settle(self) -> None:
        """Waits for what PyTorch has enqueued."""

    # --------------------------------------------------------------------------------- tensors

    def placeholder(self, like: torch.Tensor, held: bool) -> DeviceTensor:
        """What a graph reads for one of PyTorch's; those held are the same in each step."""
        return self.mirrored(like) if held else new_tensor(self.context, like)

    def mirrored(self, of: torch.Tensor) -> Mirrored:
        """The one that has the values of a tensor that is held."""
        self._open_once()
        return self._mirror.tensor(of)

    def claim(self, values: Sequence[Value]) -> None:
        """While they are captured: these are results."""

    def home(self, made: DeviceTensor) -> DeviceTensor:
        """While it is captured: what it is to be made in, if that is PyTorch's memory."""
        return made

    def upload(self, count: int) -> DeviceTensor:
        """For values of PyTorch's that are sent in each run."""
        return DeviceTensor(self.context, (count,))

    def send(self, values: torch.Tensor, tensor: DeviceTensor) -> Any:
        """What has to be kept until runs that read it are enqueued."""
        if values.dtype is torch.bool and str(tensor.dtype) == "uint8":
            values = values.view(torch.uint8)
        tensor.write(values.to(_TYPES[str(tensor.dtype)]).numpy().reshape(tensor.shape))

    def batch(self, tensors: Sequence[DeviceTensor]) -> Any:
        return Batch(self.context, tensors)

    @contextmanager
    def running(self) -> Iterator[None]:
        """What a graph reads is written, and it is run. The values are copied for Convoy at the
        end, while a device computes."""
        try:
            yield
        finally:
            with self.context._handle as handle:
                check(library.convoy_return_lent(handle))
