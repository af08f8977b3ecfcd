/* The programs that compositions are made of. */
#include "nn/programs.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A name of program/named.h, or a text. */
static const char *const texts[CVY_NN_PROGRAMS] = {
    [CVY_NN_STATISTICS] = "statistics",
    [CVY_NN_NORMALISE_NUMBERS] = "normalise_numbers",
    [CVY_NN_NORMALISE] = "normalise",
    [CVY_NN_RUNNING] =
        ("input running_mean, running_variance, mean, variance, keep, share, unbiased;"
         "running_mean = keep * running_mean + share * mean;"
         "running_variance = keep * running_variance + unbiased * variance"),
    [CVY_NN_ROW_STATISTICS] = "mean = mean over h w of x; variance = variance over h w of x",
    [CVY_NN_ROW_DEVIATION] = "deviation = rsqrt(variance + epsilon)",
    [CVY_NN_NORMALISE_ROWS] = "normalise_rows",

    [CVY_NN_MAXIMUM] = "channel_maximum",
    [CVY_NN_EXPONENTIALS] = "exponentials",
    [CVY_NN_SOFTMAX] = "y = exp(x - m) / s",
    [CVY_NN_LOG_SOFTMAX] = "input x, m, s; y = x - m - log(s)",

    [CVY_NN_LABELS] = ("input logits, m, label; total = sum over c of exp(logits - m);"
                       "own = sum over c of index(c) == label ? logits - m : 0"),
    [CVY_NN_LABELS_WEIGHTED] =
        ("input logits, m, label, weight; total = sum over c of exp(logits - m);"
         "own = sum over c of index(c) == label ? logits - m : 0;"
         "weight_own = sum over c of index(c) == label ? weight : 0"),
    [CVY_NN_LABELS_SMOOTHED] = ("input logits, m, label; total = sum over c of exp(logits - m);"
                                "own = sum over c of index(c) == label ? logits - m : 0;"
                                "all = sum over c of logits - m"),
    [CVY_NN_LABELS_BOTH] = ("input logits, m, label, weight; total = sum over c of exp(logits - m);"
                            "own = sum over c of index(c) == label ? logits - m : 0;"
                            "weight_own = sum over c of index(c) == label ? weight : 0;"
                            "all = sum over c of weight * (logits - m)"),
    [CVY_NN_CROSS_ENTROPY] =
        ("input label, total, own, weight_own, all, weights, ignored, classes, keep, share;"
         "let l = log(total);"
         "let value = keep * (weight_own * (l - own)) + share * (weights * l - all);"
         "let known = label < classes ? (0 <= label ? value : nan) : nan;"
         "loss = label == ignored ? 0 : known; counted = label == ignored ? 0 : weight_own"),
    [CVY_NN_TOTALS] = ("input loss, counted; total = sum over n c z h w of loss;"
                       "count = sum over n c z h w of counted"),
    [CVY_NN_QUOTIENT] = "input total, count; loss = total / count",
    [CVY_NN_TOTAL] = "total",

    [CVY_NN_DROPOUT] = "dropout",

    [CVY_NN_SGD] = "sgd_decay",
    [CVY_NN_MOMENTUM] = "momentum_decay",
    [CVY_NN_NESTEROV] = "nesterov_decay",
    [CVY_NN_SGD_NUMBERS] = "input step, rest; gain = step == 0 ? 1 : rest; step = step + 1",
    [CVY_NN_ADAM] = "adam",
    [CVY_NN_ADAMW] = "adamw",
    /* 1 - beta^t is -expm1(t log beta), and with u = tanh(-t log(beta) / 2) that is 2 u / (1 + u),
       where nothing cancels. */
    [CVY_NN_ADAM_NUMBERS] = ("input step, rate, half1, half2, decay; let t = step + 1;"
                             "let u1 = tanh(t * half1); let u2 = tanh(t * half2); step = t;"
                             "size = rate / (2 * u1 / (1 + u1)); root = rsqrt(2 * u2 / (1 + u2));"
                             "keep = 1 - rate * decay"),
    [CVY_NN_AVERAGE] = "moving_average",
    [CVY_NN_SQUARES] = "square_total",
    [CVY_NN_ADD_UP] = "s = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11",
    [CVY_NN_ROOT] = "y = sqrt(x)",
    [CVY_NN_CLIP_FACTOR] = "input norm, most; factor = min(most / (norm + 0.000001), 1)",
    [CVY_NN_SCALE] = "scale",
};

/* Of one element. */
static const struct {
  cvy_nn_program first;
  const char *before, *value;
} losses[] = {
    /* -log sigmoid(x) = log(1 + e) + max(-x, 0), the logarithm as that of softplus
     * (program/named.c); what cancels is left out. */
    {CVY_NN_BCE,
     "input logits, target, weight, positive; let e = exp(-abs(logits)); let s = e / (2 + e);"
     "let q = s * s; let log1 = s * (2 + q * (0.6666641 + q * (0.40021791 + q * (0.27998173 +"
     "q * 0.2802764))));",
     "weight * ((1 - target) * max(logits, 0) + positive * target * max(-logits, 0) +"
     "((positive - 1) * target + 1) * log1)"},
    {CVY_NN_SQUARED_ERROR, "input x, target; let d = x - target;", "d * d"},
    {CVY_NN_SMOOTH_L1, "input x, target, beta; let d = x - target; let a = abs(d);",
     "a < beta ? 0.5 * d * d / beta : a - 0.5 * beta"},
    {CVY_NN_L1, "input x, target;", "abs(x - target)"},
};

static const char *const reductions[CVY_NN_REDUCTIONS] = {
    [CVY_NN_MEAN] = "mean over n c z h w of ",
    [CVY_NN_SUM] = "sum over n c z h w of ",
    [CVY_NN_EACH] = "",
};

static convoy_program programs[CVY_NN_PROGRAMS];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void parse(cvy_nn_program which, const char *text) {
  convoy_program *to = &programs[which];
  cvy_reduction_parse(text, &to->program, &to->how, &to->names);
}

static void make(void) {
  char text[1024];
  for (int i = 0; i < CVY_NN_PROGRAMS; i++)
    if (texts[i]) parse(i, strchr(texts[i], '=') ? texts[i] : cvy_program_text_of(texts[i]));
  for (size_t i = 0; i < CVY_COUNT(losses); i++) {
    for (int how = 0; how < CVY_NN_REDUCTIONS; how++) {
      snprintf(text, sizeof text, "%s loss = %s%s", losses[i].before, reductions[how],
               losses[i].value);
      parse(losses[i].first + how, text);
    }
  }
}

const convoy_program *cvy_nn_program_of(cvy_nn_program which) {
  pthread_once(&made, make);
  return &programs[which];
}
