/* The table of planned programs. Their inputs are in the order in which plans have them, which
 * `convoy graph --net NAME --device cpu` prints. */
#include "cpu/program/planned.h"

const cvy_planned_program cvy_planned_programs[] = {
    /* Batch norm's results, as inputs of what follows. */
    {"mean scale shift", "",
     "input x, mean, scale, shift, a; y = a + ((x - mean) * scale + shift)"},
    {"mean scale shift", "",
     "input x, mean, scale, shift, a; let t = (x - mean) * scale + shift; y = a + t * "
     "sigmoid(t)"},
    {"mean scale shift", "", "let t = (x - mean) * scale + shift; y = 0 < t ? t : exp(t) - 1"},
    {"mean1 scale1 shift1 mean2 scale2 shift2", "",
     "input x1, mean1, scale1, shift1, x2, mean2, scale2, shift2; y = max((x2 - mean2) * "
     "scale2 + shift2 + ((x1 - mean1) * scale1 + shift1), 0)"},

    /* Its gradient's three sums, behind what follows it: nothing, ReLU, ReLU6, SiLU, ELU; dy is one
       array or the sum of up to three. */
    {"mean scale", "",
     "input x, mean, scale, dy; a = sum over n h w of -(dy * scale); b = sum over n h w of "
     "dy * (x - mean); c = sum over n h w of dy"},
    {"mean scale", "",
     "input p, q, x, mean, scale; let dy = p + q; a = sum over n h w of -(dy * scale); b = "
     "sum over n h w of dy * (x - mean); c = sum over n h w of dy"},
    {"mean scale", "",
     "input p, q, r, x, mean, scale; let dy = p + q + r; a = sum over n h w of -(dy * "
     "scale); b = sum over n h w of dy * (x - mean); c = sum over n h w of dy"},
    {"mean scale shift", "",
     "input x, mean, scale, shift, dy; let h = x - mean; let d = h * scale + shift <= 0 ? 0 "
     ": dy; a = sum over n h w of -(d * scale); b = sum over n h w of d * h; c = sum over n "
     "h w of d"},
    {"mean scale shift", "",
     "input x, mean, scale, shift, dy; let h = x - mean; let t = h * scale + shift; let d = "
     "t <= 0 ? 0 : 6 <= max(t, 0) ? 0 : dy; a = sum over n h w of -(d * scale); b = sum over "
     "n h w of d * h; c = sum over n h w of d"},
    {"mean scale shift", "",
     "input x, mean, scale, shift, dy; let h = x - mean; let t = h * scale + shift; let s = "
     "sigmoid(t); let d = dy * s + dy * t * ((1 - s) * s); a = sum over n h w of -(d * "
     "scale); b = sum over n h w of d * h; c = sum over n h w of d"},
    {"mean scale shift", "",
     "input p, q, x, mean, scale, shift; let dy = p + q; let h = x - mean; let t = h * scale "
     "+ shift; let s = sigmoid(t); let d = dy * s + dy * t * ((1 - s) * s); a = sum over n h "
     "w of -(d * scale); b = sum over n h w of d * h; c = sum over n h w of d"},
    {"mean scale shift", "",
     "input p, q, r, x, mean, scale, shift; let dy = p + q + r; let h = x - mean; let t = h "
     "* scale + shift; let s = sigmoid(t); let d = dy * s + dy * t * ((1 - s) * s); a = sum "
     "over n h w of -(d * scale); b = sum over n h w of d * h; c = sum over n h w of d"},
    {"mean scale shift", "",
     "input x, mean, scale, shift, dy; let h = x - mean; let t = h * scale + shift; let o = "
     "0 < t; let d = (o ? dy : 0) + (o ? 0 : dy) * exp(t); a = sum over n w of -(d * scale); "
     "b = sum over n w of d * h; c = sum over n w of d"},

    /* Its gradient of x behind the sums a and b, the same ones; `share` is one over the elements of
       a channel. Where channels are short, b is made of its factors. */
    {"mean a b", "share",
     "input x, mean, a, b, dy, share; let t = b * share * (x - mean); dx = dy + (t + t + a * "
     "share)"},
    {"mean a b scale", "share",
     "input x, mean, a, b, scale, dy, share; let t = b * share * (x - mean); dx = dy * scale "
     "+ (t + t + a * share)"},
    {"mean a b scale shift", "share",
     "input x, mean, a, b, scale, shift, dy, share; let h = x - mean; let t = b * share * h; "
     "dx = (h * scale + shift <= 0 ? 0 : dy) * scale + (t + t + a * share)"},
    {"mean a b scale shift", "share",
     "input x, mean, a, b, scale, shift, dy, share; let h = x - mean; let u = h * scale + "
     "shift; let t = b * share * h; dx = (u <= 0 ? 0 : 6 <= max(u, 0) ? 0 : dy) * scale + (t "
     "+ t + a * share)"},
    {"mean a b scale shift", "share",
     "input x, mean, a, b, scale, shift, dy, share; let h = x - mean; let u = h * scale + "
     "shift; let s = sigmoid(u); let t = b * share * h; dx = (dy * s + dy * u * ((1 - s) * "
     "s)) * scale + (t + t + a * share)"},
    {"mean scale shift a b", "share",
     "input p, q, x, mean, scale, shift, a, b, share; let dy = p + q; let h = x - mean; let "
     "u = h * scale + shift; let s = sigmoid(u); let t = b * share * h; dx = (dy * s + dy * "
     "u * ((1 - s) * s)) * scale + (t + t + a * share)"},
    {"b1 b2 b3 mean a", "share",
     "input b1, b2, b3, x, mean, a, dy, share; let t = b3 * b1 * -0.5 * (b2 * b2 * b2) * "
     "share * (x - mean); dx = dy + (t + t + a * share)"},
    {"b1 b2 b3 mean a scale", "share",
     "input b1, b2, b3, x, mean, a, scale, dy, share; let t = b3 * b1 * -0.5 * (b2 * b2 * "
     "b2) * share * (x - mean); dx = dy * scale + (t + t + a * share)"},
    {"b1 b2 b3 mean a scale", "share",
     "input b1, b2, b3, x, mean, a, p, q, scale, share; let t = b3 * b1 * -0.5 * (b2 * b2 * "
     "b2) * share * (x - mean); dx = (p + q) * scale + (t + t + a * share)"},
    {"b1 b2 b3 mean a scale", "share",
     "input b1, b2, b3, x, mean, a, p, q, r, scale, share; let t = b3 * b1 * -0.5 * (b2 * b2 "
     "* b2) * share * (x - mean); dx = (p + q + r) * scale + (t + t + a * share)"},
    {"b1 b2 b3 mean a scale shift", "share",
     "input b1, b2, b3, x, mean, a, scale, shift, dy, share; let h = x - mean; let t = b3 * "
     "b1 * -0.5 * (b2 * b2 * b2) * share * h; dx = (h * scale + shift <= 0 ? 0 : dy) * scale "
     "+ (t + t + a * share)"},
    {"b1 b2 b3 mean a scale shift", "share",
     "input b1, b2, b3, x, mean, a, scale, shift, dy, share; let h = x - mean; let u = h * "
     "scale + shift; let t = b3 * b1 * -0.5 * (b2 * b2 * b2) * share * h; dx = (u <= 0 ? 0 : "
     "6 <= max(u, 0) ? 0 : dy) * scale + (t + t + a * share)"},
    {"b1 b2 b3 mean a scale shift", "share",
     "input b1, b2, b3, x, mean, a, scale, shift, dy, share; let h = x - mean; let u = h * "
     "scale + shift; let s = sigmoid(u); let t = b3 * b1 * -0.5 * (b2 * b2 * b2) * share * "
     "h; dx = (dy * s + dy * u * ((1 - s) * s)) * scale + (t + t + a * share)"},
    {"b1 b2 b3 mean a scale shift", "share",
     "input b1, b2, b3, x, mean, a, p, q, scale, shift, share; let dy = p + q; let h = x - "
     "mean; let u = h * scale + shift; let s = sigmoid(u); let t = b3 * b1 * -0.5 * (b2 * b2 "
     "* b2) * share * h; dx = (dy * s + dy * u * ((1 - s) * s)) * scale + (t + t + a * "
     "share)"},
    {"mean scale shift b1 b2 b3 a", "share",
     "input p, q, r, x, mean, scale, shift, b1, b2, b3, a, share; let dy = p + q + r; let h "
     "= x - mean; let u = h * scale + shift; let s = sigmoid(u); let t = b3 * b1 * -0.5 * "
     "(b2 * b2 * b2) * share * h; dx = (dy * s + dy * u * ((1 - s) * s)) * scale + (t + t + "
     "a * share)"},
    {"b1 b2 b3 mean a scale shift", "share",
     "input b1, b2, b3, x, mean, a, scale, shift, dy, share; let h = x - mean; let u = h * "
     "scale + shift; let o = 0 < u; let t = b3 * b1 * -0.5 * (b2 * b2 * b2) * share * h; dx "
     "= ((o ? dy : 0) + (o ? 0 : dy) * exp(u)) * scale + (t + t + a * share)"},

    /* The gradient of a residual block's end, and that times the scale of its last batch norm. */
    {"mean scale shift", "",
     "input p, q, x, mean, scale, shift, a; let d = (x - mean) * scale + shift + a <= 0 ? 0 "
     ": p + q; y = d; z = d * scale"},
    {"mean1 scale1 shift1 mean2 scale2 shift2", "",
     "input p, q, x1, mean1, scale1, shift1, x2, mean2, scale2, shift2; let d = (x2 - mean2) "
     "* scale2 + shift2 + ((x1 - mean1) * scale1 + shift1) <= 0 ? 0 : p + q; y = d; z = d * "
     "scale1"},
    {"mean scale shift", "",
     "input p, q, r, x, mean, scale, shift; let dy = p + q + r; let u = (x - mean) * scale + "
     "shift; let s = sigmoid(u); let d = dy * s + dy * u * ((1 - s) * s); y = d; z = d * "
     "scale"},

    /* Gradient descent with momentum and decay, of one tensor to four. */
    {"decay momentum gain rate", "",
     "input g, decay, w, momentum, v, gain, rate; let u = momentum * v + gain * (g + decay * "
     "w); y = u; z = w - rate * u"},
    {"decay momentum gain rate", "",
     "input g, decay, w, momentum, v, gain, rate, g2, w2, v2; let u = momentum * v + gain * "
     "(g + decay * w); let u2 = momentum * v2 + gain * (g2 + decay * w2); a = u; b = w - "
     "rate * u; c = u2; d = w2 - rate * u2"},
    {"decay momentum gain rate", "",
     "input g, decay, w, momentum, v, gain, rate, g2, w2, v2, g3, w3, v3; let u = momentum * "
     "v + gain * (g + decay * w); let u2 = momentum * v2 + gain * (g2 + decay * w2); let u3 "
     "= momentum * v3 + gain * (g3 + decay * w3); a = u; b = w - rate * u; c = u2; d = w2 - "
     "rate * u2; e = u3; f = w3 - rate * u3"},
    {"decay momentum gain rate", "",
     "input g, decay, w, momentum, v, gain, rate, g2, w2, v2, g3, w3, v3, g4, w4, v4; let u = "
     "momentum * v + gain * (g + decay * w); let u2 = momentum * v2 + gain * (g2 + decay * w2); "
     "let u3 = momentum * v3 + gain * (g3 + decay * w3); let u4 = momentum * v4 + gain * (g4 + "
     "decay * w4); a = u; b = w - rate * u; c = u2; d = w2 - rate * u2; e = u3; f = w3 - rate * "
     "u3; h = u4; i = w4 - rate * u4"},

    /* Gradients that meet, and that of a product with what is given. */
    {"s", "", "input x, s; y = s * x"},
    {"", "", "y = p + q + r"},
    {"", "", "y = p + q + r + s"},

    /* The same as PyTorch's networks have it (bindings/python/convoy/torch/graph/norms.py): two
       sums, the means that are made of them, and the result where it lets the gradient through. */
    {"mean scale shift deviation", "",
     "let h = x - mean; let t = h * scale + shift; let s = sigmoid(t); let d = dy * (s * (1 "
     "+ t * (1 - s))); a = sum over n z h w of d; b = sum over n z h w of d * (h * "
     "deviation)"},
    {"mean scale shift deviation", "",
     "input p, q, x, mean, scale, shift, deviation; let h = x - mean; let t = h * scale + "
     "shift; let s = sigmoid(t); let d = (p + q) * (s * (1 + t * (1 - s))); a = sum over n z "
     "h w of d; b = sum over n z h w of d * (h * deviation)"},
    {"mean scale shift deviation", "",
     "let h = x - mean; let t = h * scale + shift; let d = t <= 0 ? 0 : 6 <= t ? 0 : dy; a = "
     "sum over n z h w of d; b = sum over n z h w of d * (h * deviation)"},
    {"mean deviation", "",
     "let d = y <= 0 ? 0 : dy; a = sum over n z h w of d; b = sum over n z h w of d * ((x - "
     "mean) * deviation)"},
    {"mean deviation", "",
     "let d = p + q; a = sum over n z h w of d; b = sum over n z h w of d * ((x - mean) * "
     "deviation)"},
    {"mean deviation", "",
     "let d = p + q + r; a = sum over n z h w of d; b = sum over n z h w of d * ((x - mean) "
     "* deviation)"},
    {"a b gamma deviation mean", "share",
     "input a, b, gamma, deviation, dy, x, mean, share; dx = (dy - a * share - (x - mean) * "
     "deviation * (b * share)) * (gamma * deviation)"},
    {"a b gamma deviation mean", "share",
     "input a, b, gamma, deviation, p, q, x, mean, share; dx = (p + q - a * share - (x - "
     "mean) * deviation * (b * share)) * (gamma * deviation)"},
    {"a b gamma deviation mean", "share",
     "input a, b, gamma, deviation, p, q, r, x, mean, share; dx = (p + q + r - a * share - "
     "(x - mean) * deviation * (b * share)) * (gamma * deviation)"},
    {"a b gamma deviation mean", "share",
     "input a, b, gamma, deviation, y, dy, x, mean, share; dx = ((y <= 0 ? 0 : dy) - a * "
     "share - (x - mean) * deviation * (b * share)) * (gamma * deviation)"},
    {"a b gamma deviation mean scale shift", "share",
     "input a, b, gamma, deviation, x, mean, scale, shift, dy, share; let h = x - mean; let "
     "t = h * scale + shift; dx = ((t <= 0 ? 0 : 6 <= t ? 0 : dy) - a * share - h * "
     "deviation * (b * share)) * (gamma * deviation)"},
    {"a b gamma deviation mean scale shift", "share",
     "input a, b, gamma, deviation, x, mean, scale, shift, dy, share; let h = x - mean; let "
     "t = h * scale + shift; let s = sigmoid(t); dx = (dy * (s * (1 + t * (1 - s))) - a * "
     "share - h * deviation * (b * share)) * (gamma * deviation)"},
    {"a b gamma deviation mean scale shift", "share",
     "input a, b, gamma, deviation, p, q, x, mean, scale, shift, share; let h = x - mean; "
     "let t = h * scale + shift; let s = sigmoid(t); dx = ((p + q) * (s * (1 + t * (1 - s))) "
     "- a * share - h * deviation * (b * share)) * (gamma * deviation)"},
    {"gamma deviation a mean b", "",
     "input gamma, deviation, dy, a, x, mean, b; dx = (dy - a - (x - mean) * deviation * b) "
     "* (gamma * deviation)"},
    {"gamma deviation a mean b", "",
     "input gamma, deviation, y, dy, a, x, mean, b; dx = ((y <= 0 ? 0 : dy) - a - (x - mean) "
     "* deviation * b) * (gamma * deviation)"},
    {"gamma deviation mean scale shift a b", "",
     "input gamma, deviation, x, mean, scale, shift, dy, a, b; let h = x - mean; let t = h * "
     "scale + shift; let s = sigmoid(t); dx = (dy * (s * (1 + t * (1 - s))) - a - h * "
     "deviation * b) * (gamma * deviation)"},
    {"a mean deviation b factor", "", "dx = (dy - a - (x - mean) * deviation * b) * factor"},
    {"mean scale shift a deviation b factor", "",
     "input x, mean, scale, shift, dy, a, deviation, b, factor; let h = x - mean; let t = h "
     "* scale + shift; let s = sigmoid(t); dx = (dy * (s * (1 + t * (1 - s))) - a - h * "
     "deviation * b) * factor"},
    {"mean scale shift a deviation b factor", "",
     "input x, mean, scale, shift, dy, a, deviation, b, factor; let h = x - mean; let t = h "
     "* scale + shift; dx = ((t <= 0 ? 0 : 6 <= t ? 0 : dy) - a - h * deviation * b) * "
     "factor"},
    {"", "", "input p, q, y; d = y <= 0 ? 0 : p + q"},
    {"mean scale shift", "",
     "input p, q, x, mean, scale, shift; let t = (x - mean) * scale + shift; let s = "
     "sigmoid(t); d = (p + q) * (s * (1 + t * (1 - s)))"},
    {"mean scale shift", "",
     "input p, q, r, x, mean, scale, shift; let t = (x - mean) * scale + shift; let s = "
     "sigmoid(t); d = (p + q + r) * (s * (1 + t * (1 - s)))"},
    {"", "", "input p, q, r, s, t; y = s + (p + q + r) + t"},
};

const int cvy_planned_count = CVY_COUNT(cvy_planned_programs);
