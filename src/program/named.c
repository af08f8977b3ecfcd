/* The table of named programs. Inputs are in the order in which the text reads them, unless it
 * lists them. */
#include "program/named.h"

#include <string.h>

/* Of e = exp(-|x|): log1 is the logarithm of 1 + e, which has few digits of a small e. So it is
 * taken as 2 atanh(e / (2 + e)), by a polynomial that is 5e-9 off. */
#define LOG_OF_1_AND_E                                                                           \
  "let e = exp(-abs(x)); let s = e / (2 + e);"                                                   \
  "let q = s * s; let log1 = s * (2 + q * (0.6666641 + q * (0.40021791 + q * (0.27998173 + q * " \
  "0.2802764))));"

const cvy_named_program cvy_named_programs[] = {
    /* Activations. */
    {"relu", "", "y = max(x, 0)", "x"},
    {"relu6", "", "y = min(max(x, 0), 6)", "x"},
    {"leaky_relu", "slope", "y = x < 0 ? slope * x : x", "x"},
    {"sigmoid", "", "y = sigmoid(x)", "x"},
    {"silu", "", "y = x * sigmoid(x)", "x"},
    {"tanh", "", "y = tanh(x)", "x"},
    {"gelu", "", "y = 0.5 * x * (1 + erf(x * 0.70710678))", "x"},
    {"hardswish", "", "y = x * min(max(x + 3, 0), 6) / 6", "x"},
    {"hardsigmoid", "", "y = min(max(x + 3, 0), 6) / 6", "x"},
    {"elu", "alpha", "y = 0 < x ? x : alpha * (exp(x) - 1)", "x"},
    {"softplus", "", LOG_OF_1_AND_E "y = max(x, 0) + log1", "x"},
    {"dropout", "keep", "y = random(0) < keep ? x / keep : 0", ""},

    /* Sums and products. */
    {"add", "", "y = a + b", ""},
    {"subtract", "", "y = a - b", ""},
    {"multiply", "", "y = a * b", "a b"},
    {"divide", "", "y = a / b", "a b"},
    {"maximum", "", "y = max(a, b)", "a b"},
    {"minimum", "", "y = min(a, b)", "a b"},
    {"scale", "s", "y = a * s", ""},
    {"add_relu", "", "y = max(a + b, 0)", "a"},
    {"add_silu", "", "let t = a + b; y = t * sigmoid(t)", "a"},
    {"square", "", "y = x * x", "x"},

    /* Batch norm: a channel's numbers from its statistics, and the elementwise halves, for which
       they are one number each. */
    {"normalise_numbers", "epsilon",
     "deviation = rsqrt(variance + epsilon); scale = gamma * deviation", ""},
    {"normalise_rows", "mean deviation", "y = (x - mean) * deviation * gamma + beta", "x"},
    {"normalise", "mean scale shift", "y = (x - mean) * scale + shift", "x"},
    {"normalise_relu", "mean scale shift", "y = max((x - mean) * scale + shift, 0)", "x"},
    {"normalise_silu", "mean scale shift", "let t = (x - mean) * scale + shift; y = t * sigmoid(t)",
     "x"},
    {"normalise_relu6", "mean scale shift", "y = min(max((x - mean) * scale + shift, 0), 6)", "x"},
    {"normalise_add_relu", "mean scale shift", "y = max((x - mean) * scale + shift + a, 0)", "x"},
    {"affine", "scale shift", "y = x * scale + shift", "x"},
    {"affine_relu", "scale shift", "y = max(x * scale + shift, 0)", "x"},
    {"affine_silu", "scale shift", "let t = x * scale + shift; y = t * sigmoid(t)", "x"},

    /* Batch norm's gradient of x, behind its two sums (dy's mean and that of dy times the
       normalised x). */
    {"normalise_backward", "mean deviation scale a b",
     "dx = (dy - a - (x - mean) * deviation * b) * scale", ""},
    {"normalise_silu_backward", "mean deviation gamma beta scale a b",
     "let h = (x - mean) * deviation; let t = h * gamma + beta; let s = sigmoid(t); let d = dy * "
     "(s * (1 + t * (1 - s))); dx = (d - a - h * b) * scale",
     ""},
    {"normalise_relu_backward", "mean deviation gamma beta scale a b",
     "let h = (x - mean) * deviation; let d = h * gamma + beta <= 0 ? 0 : dy; dx = (d - a - h * b) "
     "* scale",
     ""},

    /* Losses. */
    {"bce_with_logits", "", LOG_OF_1_AND_E "y = max(x, 0) - x * target + log1", "x"},

    /* Optimizers. */
    {"sgd", "rate", "w = w - rate * g", ""},
    {"momentum", "momentum rate", "v = momentum * v + g; w = w - rate * v", ""},
    {"sgd_decay", "rate decay", "w = w - rate * (g + decay * w)", ""},
    {"momentum_decay", "momentum gain rate decay",
     "let d = g + decay * w; v = momentum * v + gain * d; w = w - rate * v", ""},
    {"nesterov_decay", "momentum gain rate decay",
     "let d = g + decay * w; v = momentum * v + gain * d; w = w - rate * (d + momentum * v)", ""},
    {"adam", "decay beta1 gain1 beta2 gain2 rate root epsilon",
     "input w, g, m, v, decay, beta1, gain1, beta2, gain2, rate, root, epsilon;"
     "let d = g + decay * w; m = beta1 * m + gain1 * d; v = beta2 * v + gain2 * d * d;"
     "w = w - rate * m / (sqrt(v) * root + epsilon)",
     ""},
    {"adamw", "keep beta1 gain1 beta2 gain2 rate root epsilon",
     "input w, g, m, v, keep, beta1, gain1, beta2, gain2, rate, root, epsilon;"
     "m = beta1 * m + gain1 * g; v = beta2 * v + gain2 * g * g;"
     "w = w * keep - rate * m / (sqrt(v) * root + epsilon)",
     ""},
    {"moving_average", "share", "a = a + share * (w - a)", ""},

    /* Reductions: batch norm's statistics, the sums of its gradient, whole tensors, maps, softmax.
     */
    {"statistics", "", "mean = mean over n z h w of x; variance = variance over n z h w of x", ""},
    {"channel_sum", "", "s = sum over n z h w of x", ""},
    {"total", "", "s = sum over n c z h w of x", ""},
    {"square_total", "", "s = sum over n c z h w of x * x", ""},
    {"map_mean", "", "y = mean over z h w of x", ""},
    {"normalise_sums", "mean deviation",
     "a = sum over n z h w of dy; b = sum over n z h w of dy * ((x - mean) * deviation)", ""},
    {"normalise_silu_sums", "mean deviation gamma beta",
     "let h = (x - mean) * deviation; let t = h * gamma + beta; let s = sigmoid(t); let d = dy * "
     "(s * (1 + t * (1 - s))); a = sum over n z h w of d; b = sum over n z h w of d * h",
     ""},
    {"normalise_relu_sums", "mean deviation gamma beta",
     "let h = (x - mean) * deviation; let d = h * gamma + beta <= 0 ? 0 : dy; a = sum over n z h w "
     "of d; b = sum over n z h w of d * h",
     ""},
    {"channel_maximum", "", "m = maximum over c of x", ""},
    {"exponentials", "", "s = sum over c of exp(x - m)", ""},
};

const int cvy_named_count = CVY_COUNT(cvy_named_programs);

const cvy_named_program *cvy_named_find(const char *name) {
  for (int i = 0; i < cvy_named_count; i++)
    if (!strcmp(cvy_named_programs[i].name, name)) return &cvy_named_programs[i];
  return NULL;
}

convoy_status cvy_named_parse(const cvy_named_program *named, cvy_program *program,
                              cvy_reduction *how, cvy_program_names *names) {
  return cvy_reduction_parse(named->text, program, how, names);
}

static bool lists(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; *at;) {
    size_t word = strcspn(at, " ");
    if (word == length && !memcmp(at, name, length)) return true;
    at += word + strspn(at + word, " ");
  }
  return false;
}

uint32_t cvy_named_inputs(const char *list, const cvy_program *program,
                          const cvy_program_names *names) {
  uint32_t bits = 0;
  for (int i = 0; i < program->inputs; i++)
    if (lists(list, names->input[i])) bits |= 1u << i;
  return bits;
}
