"""A context: one opened device and everything done on it."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import (
    _apply,
    _graph,
    _host,
    _log,
    _matmul,
    _move,
    _nn,
    _optimizers,
    _pool,
    _queue,
    _resample,
)
from ._arrays import dtype_like, seen
from ._conv import Geometry, Padding, PerAxis, Shape, direction_of, epilogue_struct, layout
from ._errors import argument_error, check
from ._handle import Handle
from ._hooks import EventHook, event_function
from ._keywords import keywords
from ._lib import DESCRIPTION_TEXT, DeviceStruct, HealthStruct, PlanStruct
from ._load import library
from ._memory import shared_array
from ._options import Options, options_struct
from ._program import Program
from ._records import Device, Health, Peak, Plan, Run, values_of
from ._release import release
from ._single import Single
from ._tensor import Tensor, move, over_memory
from ._values import c_text, finite, flag, integer, unsigned

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = Union[np.ndarray, Tensor, Any]


def _operations(*operands: Any) -> Any:
    """The module that computes with these: tensors are enqueued, everything else is an array."""
    return _queue if any(isinstance(operand, Tensor) for operand in operands) else _host


class Context(Single):
    """A device, opened. Use as `with convoy.open() as context:`, or close() it.

    May be used from any thread; its operations are carried out in the order of their calls. After
    a fork the child may use it too and computes on the CPU.

    Operations take arrays (anything numpy sees memory of) and return arrays when they are computed,
    or take tensors and return tensors at once. Array letters, all float32 in C order, with up to
    three spatial axes:

        x [N][C][Z][H][W]   w [K][C/groups][T][R][S]   y [N][K][OZ][OH][OW]   bias [K]
        transposed=True:    w [C][K/groups][T][R][S]

    Keywords of every operation: stride, padding, dilation, groups, transposed, output_padding. One
    int serves all spatial axes; else one entry per axis, outermost first; an entry of padding may
    be a pair (begin, end), and padding "same" or "valid" is PyTorch's. `run`, a convoy.Run, is
    filled with how the call was carried out; with tensors the call then waits. `out` receives the
    result and is returned.
    """

    _instead = "it is an open device; any thread may use this one, or open another"

    @keywords(Options)
    def __init__(self, device: Optional[str] = None, **options: Unpack[Options]) -> None:
        opened = ctypes.c_void_p()
        check(library.convoy_open(options_struct(device, **options), ctypes.byref(opened)))
        assert opened.value is not None
        self._handle = Handle(opened.value)
        self._event_functions: List[Any] = []
        self._stream: Optional[int] = None  # of another library's, once it has been set
        # Runs when the context is collected, and before the interpreter goes.
        self._finalizer = weakref.finalize(self, release, self._handle.close)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<convoy.Context, closed>"
        return f"<convoy.Context: {self.description}>"

    def close(self) -> None:
        """Waits for calls in other threads and for what was enqueued, then gives the device back.
        Closing twice is allowed."""
        self._handle.close()
        self._finalizer.detach()

    @property
    def closed(self) -> bool:
        return self._handle.closed

    @property
    def device(self) -> Device:
        """The device the context runs on now; after a failover the CPU engine."""
        struct = DeviceStruct()
        with self._handle as handle:
            check(library.convoy_context_device(handle, struct))
        return Device(**values_of(Device, struct))

    @property
    def description(self) -> str:
        """One line: the device the context runs on and why it is that one; where it is the CPU
        engine in place of another, of which, for how long and why."""
        text = ctypes.create_string_buffer(DESCRIPTION_TEXT)
        with self._handle as handle:
            check(library.convoy_context_describe(handle, text, DESCRIPTION_TEXT))
        return text.value.decode("utf-8", "replace")

    # ------------------------------------------------------------------------- operations

    @keywords(Geometry)
    def forward(
        self,
        x: Array,
        w: Array,
        bias: Optional[Array] = None,
        *,
        activation: Optional[str] = None,
        slope: float = 0.01,
        out: Optional[Array] = None,
        run: Optional[Run] = None,
        **geometry: Unpack[Geometry],
    ) -> Array:
        """y[n][k][o] = act(bias[k] + sum over c, f of x[n][c][o stride - padding + f dilation]
        w[k][c][f]), x outside counting as 0 (cross-correlation, as in PyTorch).

        activation: None, "relu" (max(v, 0)) or "leaky_relu" (slope v for v < 0).
        Returns y [N][K][OZ][OH][OW].
        """
        epilogue = epilogue_struct(activation, slope)
        operations = _operations(x, w, bias, out)
        return operations.forward(self, x, w, bias, epilogue, out, run, geometry)

    @keywords(Geometry)
    def backward_data(
        self,
        dy: Array,
        w: Array,
        x_shape: Shape,
        *,
        out: Optional[Array] = None,
        accumulate: bool = False,
        run: Optional[Run] = None,
        **geometry: Unpack[Geometry],
    ) -> Array:
        """Gradient of x: the transpose of forward in x, applied to dy [N][K][OZ][OH][OW].

        accumulate: adds to what `out` holds. Returns dx of shape x_shape.
        """
        operations, add = _operations(dy, w, out), flag(accumulate, "accumulate")
        return operations.backward_data(self, dy, w, x_shape, out, add, run, geometry)

    @keywords(Geometry)
    def backward_weights(
        self,
        x: Array,
        dy: Array,
        w_shape: Shape,
        *,
        out: Optional[Array] = None,
        accumulate: bool = False,
        run: Optional[Run] = None,
        **geometry: Unpack[Geometry],
    ) -> Array:
        """Gradient of w: the transpose of forward in w, applied to dy [N][K][OZ][OH][OW].

        accumulate: adds to what `out` holds. Returns dw of shape w_shape.
        """
        operations, add = _operations(x, dy, out), flag(accumulate, "accumulate")
        return operations.backward_weights(self, x, dy, w_shape, out, add, run, geometry)

    @keywords()
    def backward_bias(
        self,
        dy: Array,
        *,
        out: Optional[Array] = None,
        accumulate: bool = False,
        run: Optional[Run] = None,
    ) -> Array:
        """Gradient of the bias: the sum of dy [N][K][OZ][OH][OW] over n and positions.

        accumulate: adds to what `out` holds. Returns db [K].
        """
        add = flag(accumulate, "accumulate")
        return _operations(dy, out).backward_bias(self, dy, out, add, run)

    # -------------------------------------------------------------------------- programs

    @keywords()
    def apply(
        self,
        program: Program,
        *inputs: Any,
        out: Any = None,
        run: Optional[Run] = None,
    ) -> Any:
        """Carries out a program: context.apply(program, a, b) in the order of program.inputs, or
        context.apply(program, {"b": b, "a": a}).

        Inputs are tensors, or arrays (float32, int32, uint8), and numbers among either. An input
        has along each axis the results' extent, or 1 and is then the same for all places: of 1
        extent it is [c], of 2 [n][c], of 3 [n][c][w], of 4 [n][c][h][w], of 5 [n][c][z][h][w].

        out: what receives the result; of a program with several a sequence with None for those to
        be made, or a mapping by name. It may be an input. Returns the result, or a tuple of them:
        tensors, or arrays where the inputs are. A result that is made has the largest extents of
        the inputs, and 1 along the axes that a reduction goes over.
        """
        return _apply.apply(self, program, inputs, out, run)

    @keywords()
    def relu(self, x: Array, *, out: Optional[Array] = None, run: Optional[Run] = None) -> Array:
        """max(x, 0); a NaN stays."""
        return self.apply(_apply.named("relu"), x, out=out, run=run)

    @keywords()
    def silu(self, x: Array, *, out: Optional[Array] = None, run: Optional[Run] = None) -> Array:
        """x / (1 + exp(-x))."""
        return self.apply(_apply.named("silu"), x, out=out, run=run)

    @keywords()
    def sigmoid(self, x: Array, *, out: Optional[Array] = None, run: Optional[Run] = None) -> Array:
        """1 / (1 + exp(-x))."""
        return self.apply(_apply.named("sigmoid"), x, out=out, run=run)

    @keywords()
    def add(
        self, a: Array, b: Array, *, out: Optional[Array] = None, run: Optional[Run] = None
    ) -> Array:
        """a + b, repeated along axes where one has extent 1 as apply() does."""
        return self.apply(_apply.named("add"), a, b, out=out, run=run)

    @keywords()
    def multiply(
        self, a: Array, b: Array, *, out: Optional[Array] = None, run: Optional[Run] = None
    ) -> Array:
        """a * b, likewise."""
        return self.apply(_apply.named("multiply"), a, b, out=out, run=run)

    @keywords()
    def seed(self, seed: int) -> None:
        """Begins a new sequence of random numbers, the same for the same seed on every device."""
        with self._handle as handle:
            check(library.convoy_seed(handle, unsigned(seed, "seed")))

    # ------------------------------------------------------------------- matrix products

    @keywords()
    def matmul(
        self,
        a: Array,
        b: Array,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        sum_batch: bool = False,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """a [m][k] times b [k][n], each with or without a batch in front, of which one may be 1.

        transpose_a, transpose_b: a lies as [k][m], b as [n][k]. sum_batch: the sum of the products.
        A linear layer with weights w [out][in] is y = matmul(x, w, transpose_b=True), its gradients
        dx = matmul(dy, w) and dw = matmul(dy, x, transpose_a=True), of a batch with sum_batch.
        """
        flags = _matmul.flags_of(transpose_a, transpose_b, sum_batch)
        return _matmul.matmul(self, a, b, flags, out, run)

    # ---------------------------------------------------------------------------- pooling

    @keywords()
    def max_pool(
        self,
        x: Array,
        extent: PerAxis,
        *,
        stride: Optional[PerAxis] = None,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        ceil_mode: bool = False,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """The maximum of each window of `extent` elements per spatial axis. stride: None is the
        extent. ceil_mode: the last window may reach beyond the padding."""
        window = _pool.Window(extent, stride, padding, dilation, False, ceil_mode)
        return _pool.forward(self, "max_pool", x, window, out, run)

    @keywords()
    def max_pool_backward(
        self,
        x: Array,
        dy: Array,
        extent: PerAxis,
        *,
        stride: Optional[PerAxis] = None,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        ceil_mode: bool = False,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """Its gradient of x: dy where a window's maximum is, found again in x. Of equal ones it is
        the first."""
        window = _pool.Window(extent, stride, padding, dilation, False, ceil_mode)
        return _pool.max_backward(self, x, dy, window, out, run)

    @keywords()
    def average_pool(
        self,
        x: Array,
        extent: PerAxis,
        *,
        stride: Optional[PerAxis] = None,
        padding: Padding = 0,
        count_padding: bool = False,
        ceil_mode: bool = False,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """The mean of each window, whose divisor is the window's part in x, with count_padding in x
        and the padding. Over whole maps it is a Program, "y = mean over h w of x"."""
        window = _pool.Window(extent, stride, padding, 1, count_padding, ceil_mode)
        return _pool.forward(self, "average_pool", x, window, out, run)

    @keywords()
    def average_pool_backward(
        self,
        dy: Array,
        x_shape: Shape,
        extent: PerAxis,
        *,
        stride: Optional[PerAxis] = None,
        padding: Padding = 0,
        count_padding: bool = False,
        ceil_mode: bool = False,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """Its gradient of x, whose extents are x_shape."""
        window = _pool.Window(extent, stride, padding, 1, count_padding, ceil_mode)
        return _pool.average_backward(self, dy, x_shape, window, out, run)

    # ----------------------------------------------------------------------------- moves

    @keywords()
    def permute(
        self,
        x: Array,
        axes: Sequence[int],
        *,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """x with its axes in another order: the result's axis a is x's axis axes[a].

        Here and in the other moves x may be int32 or uint8, too; results are float32."""
        return _move.permute(self, x, axes, out, run)

    @keywords()
    def slice(
        self, x: Array, slices: Any, *, out: Optional[Tensor] = None, run: Optional[Run] = None
    ) -> Array:
        """x[slices], for a slice or a tuple of them, such as numpy.s_[:, 1:-1, ::-2]. Of indices
        there are none, so that each axis stays."""
        return _move.slice_(self, x, slices, out, run)

    @keywords()
    def pad(
        self,
        x: Array,
        padding: Any,
        *,
        mode: str = "constant",
        value: float = 0.0,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """x with something around it: `padding` is a number for both sides of all axes, or for
        each axis a number or a pair (begin, end). Negative ones cut off. mode: "constant", value.
        """
        return _move.pad(self, x, padding, mode, value, out, run)

    @keywords()
    def strided(
        self,
        x: Array,
        shape: Shape,
        strides: Sequence[int],
        *,
        offset: int = 0,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """The elements of x, in the order of memory, from number `offset` on and `strides` apart
        along each axis, of which there are up to 8; of more than 5 `out` receives them, whatever
        its extents. Strides may be negative or 0."""
        return _move.strided(self, x, shape, strides, offset, out, run)

    @keywords()
    def concatenate(
        self,
        parts: Sequence[Array],
        axis: int = 0,
        *,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """The parts side by side along an axis. Of more than 12 the groups are, then those."""
        return _move.concatenate(self, parts, axis, out, run)

    # ------------------------------------------------------------------------ resampling

    @keywords()
    def resample(
        self,
        x: Array,
        extents: Optional[PerAxis] = None,
        *,
        mode: str = "nearest",
        scale: Optional[Any] = None,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """x with other spatial extents, as torch.nn.functional.interpolate makes them. mode:
        "nearest", "nearest_exact", "linear", or "linear_aligned" (align_corners), for 1 to 3 axes.

        scale: one number, or one for each axis, that positions are found by instead of the ratio of
        the extents, which without `extents` follow from it."""
        return _resample.forward(self, x, extents, mode, scale, out, run)

    @keywords()
    def resample_backward(
        self,
        dy: Array,
        x_shape: Shape,
        *,
        mode: str = "nearest",
        scale: Optional[Any] = None,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Array:
        """Its gradient of x, whose extents are x_shape."""
        return _resample.backward(self, dy, x_shape, mode, scale, out, run)

    # ------------------------------------------------- layers, losses, optimizers: tensors only

    @keywords()
    def batch_norm(
        self,
        x: Tensor,
        gamma: Optional[Tensor] = None,
        beta: Optional[Tensor] = None,
        running_mean: Optional[Tensor] = None,
        running_variance: Optional[Tensor] = None,
        *,
        training: bool = True,
        momentum: float = 0.1,
        epsilon: float = 1e-5,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """Normalises x [n][c]... per channel, by the batch's mean and variance, which running_mean
        and running_variance take a share of, or with training=False by these. PyTorch's."""
        numbers = training, momentum, epsilon
        running = running_mean, running_variance
        return _nn.batch_norm(self, x, (gamma, beta), running, numbers, out, run)

    @keywords()
    def layer_norm(
        self,
        x: Tensor,
        gamma: Optional[Tensor] = None,
        beta: Optional[Tensor] = None,
        *,
        axes: int = 1,
        epsilon: float = 1e-5,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """Normalises over the last `axes` extents, whose elements gamma and beta have one for."""
        parts, affine = (axes, "axes"), (gamma, beta)
        return _nn.normalise(self, "layer_norm", parts, x, affine, epsilon, out, run)

    @keywords()
    def group_norm(
        self,
        x: Tensor,
        groups: int,
        gamma: Optional[Tensor] = None,
        beta: Optional[Tensor] = None,
        *,
        epsilon: float = 1e-5,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """Normalises over each group of an image's channels; gamma and beta are per channel."""
        parts, affine = (groups, "groups"), (gamma, beta)
        return _nn.normalise(self, "group_norm", parts, x, affine, epsilon, out, run)

    @keywords()
    def softmax(
        self,
        x: Tensor,
        axis: int,
        *,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """exp(x) along an axis, divided by its sum there; axis -1 is the last."""
        return _nn.softmax(self, "softmax", x, axis, out, run)

    @keywords()
    def log_softmax(
        self,
        x: Tensor,
        axis: int,
        *,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """The logarithm of softmax()."""
        return _nn.softmax(self, "log_softmax", x, axis, out, run)

    @keywords()
    def cross_entropy(
        self,
        logits: Tensor,
        labels: Tensor,
        weight: Optional[Tensor] = None,
        *,
        reduction: str = "mean",
        ignored: int = -100,
        smoothing: float = 0.0,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """Of logits [n][c]... and int32 labels [n]...; weight [c]. PyTorch's, its ignore_index
        being `ignored`, its label_smoothing `smoothing`. reduction: "mean", "sum" or "none"."""
        operands, numbers = (logits, labels, weight), (ignored, smoothing)
        return _nn.cross_entropy(self, operands, reduction, numbers, out, run)

    @keywords()
    def bce_with_logits(
        self,
        logits: Tensor,
        target: Tensor,
        weight: Optional[Tensor] = None,
        positive: Optional[Tensor] = None,
        *,
        reduction: str = "mean",
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """Binary cross entropy of sigmoid(logits). positive: the weight of targets of 1, PyTorch's
        pos_weight; both weights are repeated along axes where they have extent 1."""
        operands = (
            (logits, "logits"),
            (target, "target"),
            (weight, "weight"),
            (positive, "positive"),
        )
        return _nn.element_loss(self, "bce_with_logits", (), operands, reduction, out, run)

    @keywords()
    def mse(
        self,
        x: Tensor,
        target: Tensor,
        *,
        reduction: str = "mean",
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """(x - target) squared."""
        operands = (x, "x"), (target, "target")
        return _nn.element_loss(self, "mse", (), operands, reduction, out, run)

    @keywords()
    def smooth_l1(
        self,
        x: Tensor,
        target: Tensor,
        *,
        beta: float = 1.0,
        reduction: str = "mean",
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """|x - target|, and within beta of 0 a parabola."""
        operands, numbers = ((x, "x"), (target, "target")), (finite(beta, "beta"),)
        return _nn.element_loss(self, "smooth_l1", numbers, operands, reduction, out, run)

    @keywords()
    def dropout(
        self, x: Tensor, p: float, *, out: Optional[Tensor] = None, run: Optional[Run] = None
    ) -> Tensor:
        """0 with probability p, else x / (1 - p)."""
        return _nn.dropout(self, x, p, out, run)

    @keywords()
    def sgd(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        rate: Union[Tensor, float],
        *,
        momentum: float = 0.0,
        velocities: Optional[Sequence[Tensor]] = None,
        dampening: float = 0.0,
        nesterov: bool = False,
        decay: float = 0.0,
        step: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> None:
        """A step of gradient descent, PyTorch's SGD: new values for all parameters, and for the
        velocities, which momentum needs. rate, and step, which dampening needs, are tensors of one
        number; a rate that is a number stays the same in all runs of a graph."""
        lists, numbers = (parameters, gradients, velocities), (momentum, dampening, nesterov, decay)
        _optimizers.sgd(self, lists, rate, step, numbers, run)

    @keywords()
    def adam(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        first: Sequence[Tensor],
        second: Sequence[Tensor],
        rate: Union[Tensor, float],
        step: Tensor,
        *,
        betas: Tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        decay: float = 0.0,
        run: Optional[Run] = None,
    ) -> None:
        """A step of Adam: new values for all parameters, their first and second moments, and step,
        a tensor of one number, 0 at first."""
        lists, numbers = (parameters, gradients, first, second), (betas, epsilon, decay)
        _optimizers.adam(self, "adam", lists, rate, step, numbers, run)

    @keywords()
    def adamw(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        first: Sequence[Tensor],
        second: Sequence[Tensor],
        rate: Union[Tensor, float],
        step: Tensor,
        *,
        betas: Tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        decay: float = 0.0,
        run: Optional[Run] = None,
    ) -> None:
        """The same with weights that decay by themselves: by rate times decay."""
        lists, numbers = (parameters, gradients, first, second), (betas, epsilon, decay)
        _optimizers.adam(self, "adamw", lists, rate, step, numbers, run)

    @keywords()
    def moving_average(
        self,
        averages: Sequence[Tensor],
        parameters: Sequence[Tensor],
        share: Union[Tensor, float],
        *,
        run: Optional[Run] = None,
    ) -> None:
        """average + share (parameter - average) for each average: a decay of 1 - share."""
        _optimizers.moving_average(self, averages, parameters, share, run)

    @keywords()
    def gradient_norm(
        self,
        gradients: Sequence[Tensor],
        *,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """The square root of the sum of all elements' squares: one number."""
        return _optimizers.clip(self, gradients, None, out, run)

    @keywords()
    def clip_gradients(
        self,
        gradients: Sequence[Tensor],
        most: float,
        *,
        out: Optional[Tensor] = None,
        run: Optional[Run] = None,
    ) -> Tensor:
        """Scales them so that their norm is at most `most`; returns the norm that they had."""
        if most is None:
            raise argument_error("most is None, not a number")
        return _optimizers.clip(self, gradients, most, out, run)

    # ---------------------------------------------------------------------------- graphs

    @keywords()
    def capture(self, function: Callable[[], Any]) -> _graph.Graph:
        """Calls the function once, with its operations on tensors noted instead of carried out, and
        returns their graph, whose run() carries them out; also as a decorator:

            @context.capture
            def step():
                y = context.forward(x, w)
                loss = context.apply(LOSS, y, target)
                (dw,) = context.gradients(loss, [w])
                context.apply(SGD, w, dw, rate, out=w)
                return loss

            for batch in batches:
                x.write(batch)
                loss = step.run()

        Tensors from outside are read by each run as they are then; those that are written, and
        what the function returns, get new values. Local ones are internal: their memory is used
        again within the run. Nothing can be read meanwhile, and operations on arrays are refused.
        A number among a program's inputs stays what it is now; for one that changes, a learning
        rate, take a tensor of one element.
        """
        return _graph.capture(self, function)

    def cut(self) -> None:
        """While operations are captured: what follows is the next stage of the graph, which
        Graph.run_stage() carries out by a call of its own, as a backward pass whose gradient
        somebody else makes. Stages are planned together."""
        _graph.cut(self)

    @keywords()
    def gradients(
        self,
        y: Tensor,
        of: Sequence[Tensor],
        *,
        dy: Optional[Tensor] = None,
        out: Optional[Sequence[Tensor]] = None,
    ) -> List[Tensor]:
        """While operations are captured: the derivatives of the sum of y times dy with respect to
        these tensors, each with its tensor's shape. dy: None is 1, where y is a single number."""
        return _graph.gradients(self, y, of, dy, out)

    # ---------------------------------------------------------------------------- memory

    @keywords()
    def tensor(self, source: Any, dtype: Any = None) -> Tensor:
        """A tensor with a copy of an array, or of zeros when `source` is a tuple: its shape.

        dtype: float32, int32 or uint8. Zeros are float32 without it, an array must be of it.
        """
        if isinstance(source, tuple):
            return Tensor(self, source, np.float32 if dtype is None else dtype)
        array = seen(source, "source")
        tensor = Tensor(self, array.shape, dtype_like(array) if dtype is None else dtype)
        tensor.write(array)
        return tensor

    @keywords()
    def wrap(self, array: Any) -> Tensor:
        """A tensor whose values are those of another library's array on this card, without a copy.

        Whatever has __dlpack__, as arrays of PyTorch, CuPy and JAX have: dense, float32, int32 or
        uint8, of 1 to 5 extents, beginning at a multiple of 64 bytes. The context is one of cuda:N
        or hip:N that was opened with isolation "caller" or "none". Operations write into the array
        and are put into the context's stream (set_stream), where its library goes on with it; the
        tensor holds the array until it is dropped. Graphs that were captured with such tensors read
        and write their arrays in each run. Nothing is kept from which values could be computed
        anew: a device that fails is the call's error.
        """
        return over_memory(self, array, self._stream_of_arrays())

    @keywords()
    def rewrap(self, tensor: Tensor, array: Any) -> None:
        """From now on a tensor that wrap() made is over another array of its extents and type, and
        so are the graphs that read or write it."""
        move(self, tensor, array, self._stream_of_arrays())

    def _stream_of_arrays(self) -> int:
        if self._stream is None:
            raise argument_error("set_stream comes first: the stream in which the array is used")
        return self._stream

    @keywords()
    def set_stream(self, stream: int) -> None:
        """From now on operations go into this stream of another library's, as a number:
        torch.cuda.current_stream().cuda_stream, cupy.cuda.get_current_stream().ptr; 0 is the
        driver's default stream. For contexts that wrap() is for."""
        number = unsigned(stream, "stream")
        with self._handle as handle:
            check(library.convoy_set_stream(handle, number))
        self._stream = number

    @keywords()
    def shared_zeros(self, shape: Shape) -> np.ndarray:
        """An array of zeros that a worker process reads and writes without a copy in between.
        Children made by fork() share it; they do not get a copy on write."""
        return shared_array(self._handle, shape)

    # ------------------------------------------------------------------------- execution

    def sync(self) -> None:
        """Waits until everything enqueued is done. (Ctrl-C takes effect when the wait is over;
        interrupt() from another thread ends it.)"""
        with self._handle as handle:
            check(library.convoy_sync(handle))

    def interrupt(self) -> None:
        """Makes the running or next wait for this context raise Interrupted, once."""
        with self._handle as handle:
            library.convoy_interrupt(handle)

    @keywords()
    def mark_step(self, step: int) -> None:
        """Tells the number of the training step that begins; reports of faults name it."""
        with self._handle as handle:
            check(library.convoy_mark_step(handle, integer(step, "step")))

    def algorithms(self) -> List[str]:
        """Names of the device's algorithms, preferred first."""
        names: List[str] = []
        with self._handle as handle:
            while True:
                name = library.convoy_algorithm_name(handle, len(names))
                if name is None:
                    return names
                names.append(name.decode())

    @keywords()
    def set_algorithm(self, name: Optional[str]) -> None:
        """From now on runs only this algorithm; None lets the context choose again."""
        with self._handle as handle:
            check(library.convoy_set_algorithm(handle, c_text(name, "algorithm")))

    @keywords(Geometry)
    def plan(
        self,
        direction: Union[str, int],
        x_shape: Shape,
        w_shape: Shape,
        *,
        algorithm: Optional[str] = None,
        **geometry: Unpack[Geometry],
    ) -> Plan:
        """What would run, or whether the named algorithm takes the problem. Computes nothing.

        direction: "forward", "backward_data", "backward_weights" or "backward_bias".
        """
        at = layout(x_shape, w_shape, geometry)
        struct = PlanStruct()
        name = c_text(algorithm, "algorithm")
        problem = at.conv, direction_of(direction), at.x_extents, at.w_extents
        with self._handle as handle:
            check(library.convoy_plan_problem(handle, name, *problem, struct))
        return Plan(**values_of(Plan, struct))

    @keywords(Geometry)
    def prepare(
        self,
        direction: Union[str, int],
        x_shape: Shape,
        w_shape: Shape,
        **geometry: Unpack[Geometry],
    ) -> None:
        """Says that a problem will come soon: its programs are compiled in the background."""
        at = layout(x_shape, w_shape, geometry)
        with self._handle as handle:
            check(
                library.convoy_prepare(
                    handle, at.conv, direction_of(direction), at.x_extents, at.w_extents
                )
            )

    def measure_peak(self) -> Peak:
        """Measures the device, about a second: GFLOP/s of fused multiply-adds, GB/s of copying."""
        gflops, bandwidth = ctypes.c_double(), ctypes.c_double()
        with self._handle as handle:
            check(library.convoy_measure_peak(handle, gflops, bandwidth))
        return Peak(gflops.value, bandwidth.value)

    # ---------------------------------------------------------------------------- health

    def health(self) -> Health:
        """Counters since the context was opened."""
        struct = HealthStruct()
        with self._handle as handle:
            check(library.convoy_get_health(handle, struct))
        return Health(**values_of(Health, struct))

    @keywords()
    def on_event(self, hook: Optional[EventHook]) -> None:
        """Calls `hook(event)` for every downgrade, fault and failover, on the thread of a call of
        this context; the hook may use Convoy but not close the context. None stops it."""
        function = event_function(hook)
        # Another thread may still be about to call the one replaced, so all are kept.
        self._event_functions.append(function)
        with self._handle as handle:
            check(library.convoy_set_event_callback(handle, function, None))


@keywords(Options)
def open(
    device: Optional[str] = None, *, verbose: bool = False, **options: Unpack[Options]
) -> Context:
    """Opens a device: "auto" (a GPU if there is one, else the CPU engine), "cpu", "ocl", "ocl:1" or
    part of a device's name. A name that no device ever bore on this machine raises NotFoundError; a
    device that is gone or does not open is computed for by the CPU, unless `require_device`.

    verbose: one line on stderr says which device it is, and why. Other keywords are the options of
    _options.py; what is left out comes from the environment, else the default.
    """
    wanted = flag(verbose, "verbose")
    context = Context(device, **options)
    if wanted:
        _log.say(f"computing on {context.description}")
    return context
