#include "nn/formulas.h"

#include <math.h>

#define EPSILON 0.125

/* x is [N][C][W]; rows for layer norm are the last extent, groups for group norm two channels. */
enum { N = 2, C = 4, W = 3, GROUP = 2, IGNORED = 1 };
#define KEEP 0.75 /* 1 - smoothing */

static int at(int n, int c, int w) {
  return (n * C + c) * W + w;
}

/* -------------------------------------------------------------------------------- normalisation */

/* Mean and variance of the elements that are `same` as this one. */
static void statistics(const double *x, bool (*same)(int, int), int of, double *mean,
                       double *variance) {
  int count = 0;
  *mean = *variance = 0.0;
  for (int i = 0; i < N * C * W; i++)
    if (same(of, i)) *mean += x[i], count++;
  *mean /= count;
  for (int i = 0; i < N * C * W; i++)
    if (same(of, i)) *variance += (x[i] - *mean) * (x[i] - *mean) / count;
}

static bool same_channel(int i, int k) {
  return i / W % C == k / W % C;
}

static bool same_row(int i, int k) {
  return i / W == k / W;
}

static bool same_group(int i, int k) {
  return i / (GROUP * W) == k / (GROUP * W);
}

static void normalise(const double *const *in, bool (*same)(int, int), int (*weight_of)(int),
                      double *y) {
  for (int i = 0; i < N * C * W; i++) {
    double mean, variance;
    statistics(in[0], same, i, &mean, &variance);
    int k = weight_of(i);
    y[i] = (in[0][i] - mean) / sqrt(variance + EPSILON) * in[1][k] + in[2][k];
  }
}

static int channel_of(int i) {
  return i / W % C;
}

static int column_of(int i) {
  return i % W;
}

static void batch_norm(const double *const *in, double *y) {
  normalise(in, same_channel, channel_of, y);
}

static void layer_norm(const double *const *in, double *y) {
  normalise(in, same_row, column_of, y);
}

static void group_norm(const double *const *in, double *y) {
  normalise(in, same_group, channel_of, y);
}

static void evaluation(const double *const *in, double *y) { /* x gamma beta mean variance */
  for (int i = 0; i < N * C * W; i++) {
    int c = channel_of(i);
    y[i] = (in[0][i] - in[3][c]) / sqrt(in[4][c] * in[4][c] + EPSILON) * in[1][c] + in[2][c];
  }
}

static convoy_status call_batch_norm(convoy_context *context, convoy_tensor *const *in,
                                     convoy_tensor *out) {
  convoy_batch_norm_options options = CONVOY_BATCH_NORM_INIT;
  options.epsilon = EPSILON;
  return convoy_batch_norm(context, &options, in[0], in[1], in[2], NULL, NULL, out, NULL);
}

/* The variance is the square of what is given: not negative. */
static convoy_status call_evaluation(convoy_context *context, convoy_tensor *const *in,
                                     convoy_tensor *out) {
  convoy_batch_norm_options options = CONVOY_BATCH_NORM_INIT;
  const int64_t channels = C;
  convoy_tensor *variance;
  options.epsilon = EPSILON;
  options.evaluate = 1;
  convoy_status status = convoy_tensor_new(context, 1, &channels, &variance);
  if (!status) status = convoy_multiply(context, in[4], in[4], variance, NULL);
  if (!status)
    status = convoy_batch_norm(context, &options, in[0], in[1], in[2], in[3], variance, out, NULL);
  convoy_tensor_free(variance);
  return status;
}

static convoy_status call_layer_norm(convoy_context *context, convoy_tensor *const *in,
                                     convoy_tensor *out) {
  return convoy_layer_norm(context, 1, EPSILON, in[0], in[1], in[2], out, NULL);
}

static convoy_status call_group_norm(convoy_context *context, convoy_tensor *const *in,
                                     convoy_tensor *out) {
  return convoy_group_norm(context, C / GROUP, EPSILON, in[0], in[1], in[2], out, NULL);
}

/* ------------------------------------------------------------------------ softmax, cross entropy
 */

static double log_sum(const double *x, int n, int w) {
  double sum = 0.0;
  for (int c = 0; c < C; c++) sum += exp(x[at(n, c, w)]);
  return log(sum);
}

static void log_softmax(const double *const *in, double *y) {
  for (int i = 0; i < N * C * W; i++) y[i] = in[0][i] - log_sum(in[0], i / (C * W), i % W);
}

static void softmax(const double *const *in, double *y) {
  log_softmax(in, y);
  for (int i = 0; i < N * C * W; i++) y[i] = exp(y[i]);
}

static void cross_entropy(const double *const *in, double *loss) { /* logits weight labels */
  double total = 0.0, counted = 0.0;
  for (int n = 0; n < N; n++) {
    for (int w = 0; w < W; w++) {
      int label = (int)in[2][n * W + w];
      if (label == IGNORED) continue;
      double all = log_sum(in[0], n, w);
      counted += in[1][label];
      total += KEEP * in[1][label] * (all - in[0][at(n, label, w)]);
      for (int c = 0; c < C; c++) total += (1 - KEEP) / C * in[1][c] * (all - in[0][at(n, c, w)]);
    }
  }
  *loss = total / counted;
}

static convoy_status call_softmax(convoy_context *context, convoy_tensor *const *in,
                                  convoy_tensor *out) {
  return convoy_softmax(context, 1, in[0], out, NULL);
}

static convoy_status call_log_softmax(convoy_context *context, convoy_tensor *const *in,
                                      convoy_tensor *out) {
  return convoy_log_softmax(context, 1, in[0], out, NULL);
}

static convoy_status call_cross_entropy(convoy_context *context, convoy_tensor *const *in,
                                        convoy_tensor *out) {
  convoy_cross_entropy_options options = CONVOY_CROSS_ENTROPY_INIT;
  options.ignored = IGNORED;
  options.smoothing = 1.0 - KEEP;
  return convoy_cross_entropy(context, &options, in[0], in[2], in[1], out, NULL);
}

/* ----------------------------------------------------------------------------- other losses */

static void bce(const double *const *in, double *loss) { /* logits target weight positive */
  *loss = 0.0;
  for (int i = 0; i < N * C * W; i++) {
    double p = 1 / (1 + exp(-in[0][i])), positive = in[3][channel_of(i)];
    *loss -= in[2][i] * (positive * in[1][i] * log(p) + (1 - in[1][i]) * log(1 - p));
  }
}

static void mse(const double *const *in, double *loss) {
  *loss = 0.0;
  for (int i = 0; i < N * C * W; i++)
    *loss += (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]) / (N * C * W);
}

static void smooth_l1(const double *const *in, double *loss) {
  for (int i = 0; i < N * C * W; i++) {
    double d = fabs(in[0][i] - in[1][i]);
    loss[i] = d < 1.5 ? d * d / 3 : d - 0.75;
  }
}

static convoy_status call_bce(convoy_context *context, convoy_tensor *const *in,
                              convoy_tensor *out) {
  return convoy_bce_with_logits(context, CONVOY_REDUCE_SUM, in[0], in[1], in[2], in[3], out, NULL);
}

static convoy_status call_mse(convoy_context *context, convoy_tensor *const *in,
                              convoy_tensor *out) {
  return convoy_mse(context, CONVOY_REDUCE_MEAN, in[0], in[1], out, NULL);
}

static convoy_status call_smooth_l1(convoy_context *context, convoy_tensor *const *in,
                                    convoy_tensor *out) {
  return convoy_smooth_l1(context, CONVOY_REDUCE_NONE, 1.5, in[0], in[1], out, NULL);
}

/* ------------------------------------------------------------------------------------ the table */

#define X \
  { N, C, W }

const formula formulas[] = {
    {"batch_norm", 3, 3, {3, 1, 1, 3}, {X, {C}, {C}, X}, false, call_batch_norm, batch_norm},
    {"evaluation",
     5,
     5,
     {3, 1, 1, 1, 1, 3},
     {X, {C}, {C}, {C}, {C}, X},
     false,
     call_evaluation,
     evaluation},
    {"layer_norm", 3, 3, {3, 1, 1, 3}, {X, {W}, {W}, X}, false, call_layer_norm, layer_norm},
    {"group_norm", 3, 3, {3, 1, 1, 3}, {X, {C}, {C}, X}, false, call_group_norm, group_norm},
    {"softmax", 1, 1, {3, 3}, {X, X}, false, call_softmax, softmax},
    {"log_softmax", 1, 1, {3, 3}, {X, X}, false, call_log_softmax, log_softmax},
    {"cross_entropy",
     3,
     1,
     {3, 1, 2, 1},
     {X, {C}, {N, W}, {1}},
     true,
     call_cross_entropy,
     cross_entropy},
    {"bce", 4, 4, {3, 3, 3, 3, 1}, {X, X, X, {1, C, 1}, {1}}, false, call_bce, bce},
    {"mse", 2, 2, {3, 3, 1}, {X, X, {1}}, false, call_mse, mse},
    {"smooth_l1", 2, 2, {3, 3, 3}, {X, X, X}, false, call_smooth_l1, smooth_l1},
};
const int formula_count = sizeof formulas / sizeof formulas[0];
