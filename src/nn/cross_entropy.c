/* Cross entropy of logits: sums over the classes of each place, its loss, and what all come to. */
#include "api_check.h"
#include "nn/composition.h"

typedef struct labelled {
  const convoy_cross_entropy_options *options;
  const convoy_tensor *logits, *labels, *weight;
  convoy_tensor *loss;
  int64_t n, classes, places; /* the logits are [n][classes][places] */
} labelled;

static convoy_status check_options(const convoy_cross_entropy_options *options) {
  convoy_status status = cvy_check_struct("options", options, sizeof *options, false);
  if (status) return status;
  if ((unsigned)options->reduction >= CONVOY_REDUCTIONS)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "reduction is %d, legal are 0 to %d",
                    (int)options->reduction, CONVOY_REDUCTIONS - 1);
  if (options->smoothing >= 0.0 && options->smoothing <= 1.0) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "smoothing is %g, legal are 0 to 1", options->smoothing);
}

/* ---------------------------------------------------------------------------------- extents */

/* The logits' without c, or with 1 there. */
static bool are_labels(const convoy_tensor *labels, const convoy_tensor *logits) {
  bool with = labels->dims == logits->dims && labels->shape[1] == 1;
  if (!with && labels->dims != logits->dims - 1) return false;
  if (labels->shape[0] != logits->shape[0]) return false;
  for (int32_t i = 2; i < logits->dims; i++)
    if (labels->shape[with ? i : i - 1] != logits->shape[i]) return false;
  return true;
}

static bool check_tensors(cvy_composition *c, const labelled *of) {
  const convoy_tensor *logits = of->logits;
  bool each = of->options->reduction == CONVOY_REDUCE_NONE;
  if (!cvy_compose_check_like(c, "logits", logits, logits)) return false;
  if (logits->dims < 2)
    return cvy_composition_fail(c, CONVOY_ERR_SHAPE, "logits have 1 extent, not [n][c]...");
  if (of->labels->dtype == CONVOY_FLOAT32)
    return cvy_composition_fail(c, CONVOY_ERR_ARGUMENT, "labels are float32, not int32 or uint8");
  if (!are_labels(of->labels, logits))
    return cvy_composition_fail(c, CONVOY_ERR_SHAPE,
                                "%lld labels, or with other extents, for %lld places of logits",
                                (long long)of->labels->count, (long long)(of->n * of->places));
  if (of->weight &&
      !cvy_composition_check(c, cvy_check_shape("weight", of->weight, 1, &of->classes)))
    return false;
  if (!each) return cvy_compose_check_number(c, "loss", of->loss);
  return cvy_composition_check(
      c, cvy_check_shape("loss", of->loss, of->labels->dims, of->labels->shape));
}

/* ------------------------------------------------------------------------------------- the loss */

/* One element for each place, whatever it was made with: to be one of the results' extents. */
static cvy_view per_place(const labelled *of, const convoy_tensor *tensor) {
  return cvy_view_as(tensor, of->n, 1, of->places, 1);
}

static cvy_view new_per_place(cvy_composition *c, const labelled *of) {
  const int64_t shape[] = {of->n, 1, of->places, 1};
  return cvy_view_of(cvy_compose_new(c, 4, shape));
}

/* What a place's loss is made of. */
typedef struct class_sums {
  cvy_view label, total, own, weight_own, all, weights;
} class_sums;

/* The sum of the classes' weights. */
static cvy_view sum_weights(cvy_composition *c, const labelled *of) {
  const int64_t one = 1;
  if (!of->weight) return cvy_view_of(cvy_compose_number(c, (double)of->classes));
  cvy_view sum = cvy_view_of(cvy_compose_new(c, 1, &one));
  cvy_compose(c, CVY_NN_TOTAL, (const cvy_view[]){cvy_view_of(of->weight), sum});
  return sum;
}

/* The variants have the operands in one order, some without some. */
static void sum_classes(cvy_composition *c, const labelled *of, class_sums *out) {
  bool weighted = of->weight, smoothed = of->options->smoothing != 0.0;
  cvy_view logits = cvy_view_as(of->logits, of->n, of->classes, of->places, 1);
  cvy_view m = new_per_place(c, of), operands[8];
  int count = 0;
  cvy_compose(c, CVY_NN_MAXIMUM, (const cvy_view[]){logits, m});
  cvy_compose_detach(c, m.tensor);
  *out = (class_sums){per_place(of, of->labels),
                      new_per_place(c, of),
                      new_per_place(c, of),
                      cvy_view_of(cvy_compose_number(c, 1.0)),
                      cvy_view_of(cvy_compose_number(c, 0.0)),
                      cvy_view_of(cvy_compose_number(c, 0.0))};
  operands[count++] = logits;
  operands[count++] = m;
  operands[count++] = out->label;
  if (weighted) operands[count++] = cvy_view_of(of->weight);
  operands[count++] = out->total;
  operands[count++] = out->own;
  if (weighted) operands[count++] = out->weight_own = new_per_place(c, of);
  if (smoothed) operands[count++] = out->all = new_per_place(c, of);
  if (smoothed) out->weights = sum_weights(c, of);
  cvy_compose(c, CVY_NN_LABELS + weighted + 2 * smoothed, operands);
}

/* The sum of all losses, and for the mean what it is divided by. */
static void reduce(cvy_composition *c, const labelled *of, cvy_view loss, cvy_view counted) {
  const int64_t one = 1;
  cvy_view result = cvy_view_of(cvy_compose_output(c, of->loss));
  if (of->options->reduction == CONVOY_REDUCE_SUM) {
    cvy_compose(c, CVY_NN_TOTAL, (const cvy_view[]){loss, result});
    return;
  }
  cvy_view total = cvy_view_of(cvy_compose_new(c, 1, &one));
  cvy_view count = cvy_view_of(cvy_compose_new(c, 1, &one));
  cvy_compose(c, CVY_NN_TOTALS, (const cvy_view[]){loss, counted, total, count});
  cvy_compose(c, CVY_NN_QUOTIENT, (const cvy_view[]){total, count, result});
}

static void cross_entropy(cvy_composition *c, const labelled *of) {
  const convoy_cross_entropy_options *options = of->options;
  bool each = options->reduction == CONVOY_REDUCE_NONE;
  double share = options->smoothing / (double)of->classes;
  class_sums s;
  if (!check_tensors(c, of)) return;
  sum_classes(c, of, &s);
  cvy_view loss = each ? per_place(of, cvy_compose_output(c, of->loss)) : new_per_place(c, of);
  cvy_view counted = new_per_place(c, of);
  cvy_compose(c, CVY_NN_CROSS_ENTROPY,
              (const cvy_view[]){s.label, s.total, s.own, s.weight_own, s.all, s.weights,
                                 cvy_view_of(cvy_compose_number(c, options->ignored)),
                                 cvy_view_of(cvy_compose_number(c, (double)of->classes)),
                                 cvy_view_of(cvy_compose_number(c, 1.0 - options->smoothing)),
                                 cvy_view_of(cvy_compose_number(c, share)), loss, counted});
  if (!each) reduce(c, of, loss, counted);
}

convoy_status convoy_cross_entropy(convoy_context *context,
                                   const convoy_cross_entropy_options *options,
                                   const convoy_tensor *logits, const convoy_tensor *labels,
                                   const convoy_tensor *weight, convoy_tensor *loss,
                                   convoy_run *run) {
  static const convoy_cross_entropy_options defaults = CONVOY_CROSS_ENTROPY_INIT;
  const cvy_pointer given[] = {{"logits", logits}, {"labels", labels}, {"loss", loss}};
  cvy_composition c;
  if (!options) options = &defaults;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = check_options(options);
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  labelled of = {options, logits, labels, weight, loss, logits->shape[0], logits->shape[1], 1};
  for (int32_t i = 2; i < logits->dims; i++) of.places *= logits->shape[i];
  cross_entropy(&c, &of);
  return cvy_composition_end(&c);
}
