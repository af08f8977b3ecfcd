"""Operators that compute each element by itself: a row each, the text of a program.

`{name}` stands for the operator's argument of that name, a tensor or a number. Where PyTorch's
formula has a choice, comparisons are its own, so that NaN takes the same side.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, Dict, List

import torch

from .emitter import Emitter, broadcast
from .errors import Unsupported
from .programs import literal
from .table import OPERATORS, Emit, operator
from .values import Value

_SIGMOID_GRADIENT = "let s = sigmoid({self}); y = {grad_output} * (s * (1 + {self} * (1 - s)))"
_TANH_INNER = "let t = tanh(0.7978845608028654 * ({self} + 0.044715 * {self} * {self} * {self}))"
_ELU_RESULT = (
    "y = {self_or_result} <= 0 ? {grad_output} * {input_scale} * "
    "({self_or_result} + {alpha} * {scale}) : {grad_output} * {scale}"
)
_ELU_OPERAND = (
    "y = {self_or_result} <= 0 ? {grad_output} * {input_scale} * {alpha} * {scale} * "
    "exp({self_or_result} * {input_scale}) : {grad_output} * {scale}"
)
_GELU = "y = 0.5 * {self} * (1 + erf({self} * 0.70710678))"
_GELU_GRADIENT = (
    "y = {grad_output} * (0.5 * (1 + erf({self} * 0.70710678)) + "
    "{self} * 0.3989422804014327 * exp(-0.5 * {self} * {self}))"
)
_GELU_TANH = _TANH_INNER + "; y = 0.5 * {self} * (1 + t)"
_GELU_TANH_GRADIENT = (
    _TANH_INNER + "; y = {grad_output} * (0.5 * (1 + t) + 0.5 * {self} * (1 - t * t) * "
    "0.7978845608028654 * (1 + 0.134145 * {self} * {self}))"
)

def _logarithm(of: str) -> str:
    """Defines l = log(1 + exp(-|of|)). Of 1 + e, which has few digits of a small e, the logarithm
    is taken as 2 atanh(e / (2 + e)), by a polynomial that is 5e-9 off."""
    return (
        f"let e = exp(-abs({of})); let s = e / (2 + e); let q = s * s; "
        "let l = s * (2 + q * (0.6666641 + q * (0.40021791 + q * (0.27998173 + q * 0.2802764))))"
    )


# From 0 to the tangent of an eighth of pi an odd polynomial, 2e-8 off; the rest is brought there.
_ATAN = (
    "let a = abs({self}); let b = a > 1 ? 1 / a : a; "
    "let c = b > 0.41421356 ? (b - 1) / (b + 1) : b; let z = c * c; "
    "let p = c + c * z * (-0.33332938 + z * (0.19977361 + z * (-0.13874449 + z * 0.08044466))); "
    "let q = b > 0.41421356 ? 0.7853981633974483 + p : p; "
    "let r = a > 1 ? 1.5707963267948966 - q : q; y = {self} < 0 ? -r : r"
)

#: What gives float32.
_FLOATS: Dict[str, str] = {
    "add.Tensor": "y = {self} + {other} * {alpha}",
    "add.Scalar": "y = {self} + {other} * {alpha}",
    "sub.Tensor": "y = {self} - {other} * {alpha}",
    "sub.Scalar": "y = {self} - {other} * {alpha}",
    "rsub.Tensor": "y = {other} - {self} * {alpha}",
    "rsub.Scalar": "y = {other} - {self} * {alpha}",
    "mul.Tensor": "y = {self} * {other}",
    "mul.Scalar": "y = {self} * {other}",
    "div.Tensor": "y = {self} / {other}",
    "div.Scalar": "y = {self} / {other}",
    "neg.default": "y = -{self}",
    "abs.default": "y = abs({self})",
    "sign.default": "y = {self} > 0 ? 1 : {self} < 0 ? -1 : {self} * 0",
    "sgn.default": "y = {self} > 0 ? 1 : {self} < 0 ? -1 : {self} * 0",
    "exp.default": "y = exp({self})",
    "exp2.default": "y = exp({self} * 0.6931471805599453)",
    "log.default": "y = log({self})",
    "log1p.default": (  # Kahan's: what rounding takes from 1 + x is given back
        "let u = 1 + {self}; y = u == 1 ? {self} : u - 1 == u ? log(u) : "
        "log(u) * ({self} / (u - 1))"
    ),
    "expm1.default": (
        "let u = exp({self}); let d = u - 1; "
        "y = u == 1 ? {self} : d == -1 ? -1 : d == u ? u : d * ({self} / log(u))"
    ),
    "log2.default": "y = log({self}) * 1.4426950408889634",
    "log10.default": "y = log({self}) * 0.4342944819032518",
    "sqrt.default": "y = sqrt({self})",
    "rsqrt.default": "y = rsqrt({self})",
    "reciprocal.default": "y = 1 / {self}",
    "square.default": "y = {self} * {self}",
    "floor.default": "y = floor({self})",
    "ceil.default": "y = -floor(-{self})",
    "trunc.default": "y = {self} < 0 ? -floor(-{self}) : floor({self})",
    "erf.default": "y = erf({self})",
    "atan.default": _ATAN,
    "erfc.default": "y = 1 - erf({self})",
    "tanh.default": "y = tanh({self})",
    "tanh_backward.default": "y = {grad_output} * (1 - {output} * {output})",
    "sigmoid.default": "y = sigmoid({self})",
    "sigmoid_backward.default": "y = {grad_output} * (1 - {output}) * {output}",
    "relu.default": "y = max({self}, 0)",
    "relu6.default": "y = min(max({self}, 0), 6)",
    "threshold.default": "y = {self} <= {threshold} ? {value} : {self}",
    "threshold_backward.default": "y = {self} <= {threshold} ? 0 : {grad_output}",
    "leaky_relu.default": "y = {self} > 0 ? {self} : {self} * {negative_slope}",
    "leaky_relu_backward.default": (
        "y = {self} > 0 ? {grad_output} : {grad_output} * {negative_slope}"
    ),
    "elu.default": (
        "y = {self} <= 0 ? (exp({self} * {input_scale}) - 1) * {alpha} * {scale} : {self} * {scale}"
    ),
    "hardtanh.default": "y = min(max({self}, {min_val}), {max_val})",
    "hardtanh_backward.default": (
        "y = {self} <= {min_val} ? 0 : {self} >= {max_val} ? 0 : {grad_output}"
    ),
    "hardswish.default": "y = {self} * min(max({self} + 3, 0), 6) / 6",
    "hardswish_backward.default": (
        "y = {self} <= -3 ? 0 : {self} < 3 ? {grad_output} * ({self} / 3 + 0.5) : {grad_output}"
    ),
    "hardsigmoid.default": "y = min(max({self} + 3, 0), 6) / 6",
    "hardsigmoid_backward.default": ("y = {self} <= -3 ? 0 : {self} >= 3 ? 0 : {grad_output} / 6"),
    "silu.default": "y = {self} * sigmoid({self})",
    "silu_backward.default": _SIGMOID_GRADIENT,
    "mish.default": _logarithm("{self}") + "; y = {self} * tanh(max({self}, 0) + l)",
    "mish_backward.default": (
        _logarithm("{self}") + "; let t = tanh(max({self}, 0) + l); "
        "y = {grad_output} * (t + {self} * sigmoid({self}) * (1 - t * t))"
    ),
    "softplus.default": (
        "let z = {self} * {beta}; " + _logarithm("z") + "; "
        "y = z > {threshold} ? {self} : (max(z, 0) + l) / {beta}"
    ),
    "softplus_backward.default": (
        "let z = {self} * {beta}; y = z > {threshold} ? {grad_output} : {grad_output} * sigmoid(z)"
    ),
    "log_sigmoid_backward.default": "y = {grad_output} * sigmoid(-{self})",
    "hardshrink.default": "y = {self} < -{lambd} ? {self} : {self} <= {lambd} ? 0 : {self}",
    "hardshrink_backward.default": (
        "y = {self} < -{lambd} ? {grad_out} : {self} <= {lambd} ? 0 : {grad_out}"
    ),
    "softshrink.default": (
        "y = {self} > {lambd} ? {self} - {lambd} : {self} < -{lambd} ? {self} + {lambd} : "
        "{self} * 0"
    ),
    "softshrink_backward.default": (
        "y = {self} < -{lambd} ? {grad_output} : {self} <= {lambd} ? 0 : {grad_output}"
    ),
    "logaddexp.default": (
        _logarithm("({self} - {other})") + "; "
        "y = {self} == {other} ? {self} + 0.6931471805599453 : max({self}, {other}) + l"
    ),
    "_prelu_kernel.default": "y = {self} > 0 ? {self} : {weight} * {self}",
    "minimum.default": "y = min({self}, {other})",
    "maximum.default": "y = max({self}, {other})",
    "clamp_min.default": "y = max({self}, {min})",
    "clamp_min.Tensor": "y = max({self}, {min})",
    "clamp_max.default": "y = min({self}, {max})",
    "clamp_max.Tensor": "y = min({self}, {max})",
    "where.self": "y = {condition} ? {self} : {other}",
    "where.ScalarOther": "y = {condition} ? {self} : {other}",
    "where.ScalarSelf": "y = {condition} ? {self} : {other}",
    "masked_fill.Scalar": "y = {mask} ? {value} : {self}",
    "masked_fill.Tensor": "y = {mask} ? {value} : {self}",
    "addcmul.default": "y = {self} + {value} * {tensor1} * {tensor2}",
    "addcdiv.default": "y = {self} + {value} * {tensor1} / {tensor2}",
    "lerp.Scalar": "y = {self} + {weight} * ({end} - {self})",
    "lerp.Tensor": "y = {self} + {weight} * ({end} - {self})",
    "native_dropout_backward.default": "y = {grad_output} * {mask} * {scale}",
}

#: What gives truth values, which are 0 and 1.
_TRUTHS: Dict[str, str] = {
    "isnan.default": "y = {self} != {self}",
    "logical_not.default": "y = {self} == 0",
    "bitwise_not.default": "y = {self} == 0",
    "logical_and.default": "y = ({self} != 0) * ({other} != 0)",
    "logical_or.default": "y = max({self} != 0, {other} != 0)",
    "logical_xor.default": "y = ({self} != 0) != ({other} != 0)",
    "bitwise_and.Tensor": "y = {self} * {other}",
    "bitwise_or.Tensor": "y = max({self}, {other})",
    "bitwise_xor.Tensor": "y = {self} != {other}",
}
for _name, _sign in dict(eq="==", ne="!=", lt="<", le="<=", gt=">", ge=">=").items():
    _TRUTHS[f"{_name}.Tensor"] = _TRUTHS[f"{_name}.Scalar"] = f"y = {{self}} {_sign} {{other}}"

#: Of these a truth value on both sides is what is meant; of integers they are something else.
_OF_BITS = re.compile(r"bitwise_")

_PLACE = re.compile(r"\{(\w+)\}")


def filled_in(text: str, arguments: SimpleNamespace) -> Any:
    """The program's text, and its operands in the order in which it reads them."""
    operands: List[Value] = []
    names: Dict[str, str] = {}

    def place(match: Any) -> str:
        name = match[1]
        value = getattr(arguments, name)
        if not isinstance(value, Value):
            if value is None:
                raise Unsupported(f"without {name}")
            return literal(value)
        if name not in names:
            names[name] = f"x{len(operands)}"
            operands.append(value)
        return names[name]

    return _PLACE.sub(place, text), operands


def emit_text(e: Emitter, text: str, arguments: SimpleNamespace, dtype: Any = None) -> Value:
    """A program with one result, of the operands' common shape."""
    code, operands = filled_in(text, arguments)
    every = [each for each in vars(arguments).values() if isinstance(each, Value)]
    return e.elementwise(code, operands, broadcast(*every), dtype)


def _check_floats(name: str, arguments: SimpleNamespace) -> None:
    """What PyTorch computes in another type is not float32's."""
    values = [each for each in vars(arguments).values() if isinstance(each, Value)]
    types = {each.dtype for each in values if each.dtype is not torch.bool}
    if torch.float32 not in types or torch.float64 in types:
        raise Unsupported(f"{name} of " + ", ".join(sorted(map(str, types)) or ["truth values"]))


def _floats(name: str, text: str) -> Emit:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        _check_floats(name, a)
        return emit_text(e, text, a)

    return emit


def _truths(name: str, text: str) -> Emit:
    def emit(e: Emitter, a: SimpleNamespace) -> Value:
        values = [each for each in vars(a).values() if isinstance(each, Value)]
        if _OF_BITS.match(name) and any(each.dtype is not torch.bool for each in values):
            raise Unsupported(f"{name} of integers")
        return emit_text(e, text, a, torch.bool)

    return emit


for _name, _text in _FLOATS.items():
    OPERATORS[_name] = _floats(_name, _text)
for _name, _text in _TRUTHS.items():
    OPERATORS[_name] = _truths(_name, _text)


@operator("elu_backward.default")
def _elu_backward(e: Emitter, a: SimpleNamespace) -> Value:
    return emit_text(e, _ELU_RESULT if a.is_result else _ELU_OPERAND, a)


@operator("gelu.default")
def _gelu(e: Emitter, a: SimpleNamespace) -> Value:
    return emit_text(e, _GELU_TANH if a.approximate == "tanh" else _GELU, a)


@operator("gelu_backward.default")
def _gelu_backward(e: Emitter, a: SimpleNamespace) -> Value:
    return emit_text(e, _GELU_TANH_GRADIENT if a.approximate == "tanh" else _GELU_GRADIENT, a)


@operator("log_sigmoid_forward.default")
def _log_sigmoid(e: Emitter, a: SimpleNamespace) -> Any:
    """The second result is for other backends' gradients."""
    y = emit_text(e, _logarithm("{self}") + "; y = min({self}, 0) - l", a)
    return y, a.self


@operator("_prelu_kernel_backward.default")
def _prelu_backward(e: Emitter, a: SimpleNamespace) -> Any:
    """Both gradients in full."""
    x = emit_text(e, "y = {self} > 0 ? {grad_output} : {weight} * {grad_output}", a)
    return x, emit_text(e, "y = {self} > 0 ? 0 : {self} * {grad_output}", a)


def _slope(a: SimpleNamespace) -> Value:
    """One number, or one per channel, beside the map."""
    view = [1] * len(a.self.shape)
    if a.weight.size > 1:
        view[1] = a.weight.size
    return Value(a.weight.array, a.weight.meta.reshape(view))


@operator("prelu.default")
def _prelu(e: Emitter, a: SimpleNamespace) -> Value:
    """PyTorch 1 has it whole."""
    text = "y = x > 0 ? x : w * x"
    return e.elementwise(text, [a.self, _slope(a)], a.self.shape)


@operator("prelu_backward.default")
def _whole_prelu_backward(e: Emitter, a: SimpleNamespace) -> Any:
    slope = _slope(a)
    text = "y = x > 0 ? dy : w * dy"
    dx = e.elementwise(text, [a.self, a.grad_output, slope], a.self.shape)
    dims = [at for at, extent in enumerate(slope.shape) if extent == 1]
    (dw,) = e.reduce("s = sum over {axes} of x > 0 ? 0 : x * dy", [a.self, a.grad_output], dims)
    return dx, Value(dw.array, dw.meta.reshape(a.weight.shape))


@operator("clamp.default", "clamp.Tensor")
def _clamp(e: Emitter, a: SimpleNamespace) -> Value:
    inner = "{self}" if a.min is None else "max({self}, {min})"
    return emit_text(e, "y = " + (inner if a.max is None else "min(%s, {max})" % inner), a)


@operator("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(e: Emitter, a: SimpleNamespace) -> Value:
    _check_floats("div", a)
    texts = {
        None: "y = {self} / {other}",
        "floor": "y = floor({self} / {other})",
        "trunc": "let q = {self} / {other}; y = q < 0 ? -floor(-q) : floor(q)",
    }
    return emit_text(e, texts[a.rounding_mode], a)


_MOST_FACTORS = 16


def _power(exponent: float) -> str:
    """Products, and a root, over 1 where it is negative."""
    whole, half = divmod(abs(exponent), 1.0)
    if half not in (0.0, 0.5) or not whole <= _MOST_FACTORS:
        raise Unsupported(f"the power {exponent}")
    factors = ["{self}"] * int(whole) + ["sqrt({self})"] * (half == 0.5)
    product = " * ".join(factors) or "{self} * 0 + 1"
    if exponent == -0.5:
        return "y = rsqrt({self})"
    return f"y = {product}" if exponent >= 0 else f"y = 1 / ({product})"


@operator("pow.Tensor_Scalar")
def _pow(e: Emitter, a: SimpleNamespace) -> Value:
    _check_floats("pow", a)
    return emit_text(e, _power(float(a.exponent)), a)


@operator("_to_copy.default")
def _to_copy(e: Emitter, a: SimpleNamespace) -> Value:
    """Truth values are float32 already, and so is a byte once a program has read it."""
    dtype, value = a.dtype or a.self.dtype, a.self
    if dtype == value.dtype:
        return value
    if dtype is torch.bool:
        return e.elementwise("y = x0 != 0", [value], value.shape, torch.bool)
    if dtype is torch.float32 and value.dtype in (torch.bool, torch.uint8):
        return e.elementwise("y = x0 * 1", [value], value.shape)
    raise Unsupported(f"a conversion of {value.dtype} to {dtype}")
