/* Batch, layer and group norm: statistics, then each element by itself. */
#include "api_check.h"
#include "nn/composition.h"

/* What is normalised, and the tensors it is scaled and shifted by, which may be NULL. */
typedef struct normed {
  const convoy_tensor *x, *gamma, *beta;
  convoy_tensor *y;
  double epsilon;
} normed;

static convoy_status check_given(const normed *of) {
  const cvy_pointer given[] = {{"x", of->x}, {"y", of->y}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (status || (of->epsilon >= 0.0 && of->epsilon < 1e30)) return status;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "epsilon is %g, legal are 0 to 1e30", of->epsilon);
}

static bool check_maps(cvy_composition *c, const normed *of) {
  if (of->x->dims < 2)
    return cvy_composition_fail(c, CONVOY_ERR_SHAPE, "x has %d extent, at least [n][c] are needed",
                                (int)of->x->dims);
  return cvy_compose_check_like(c, "x", of->x, of->x) &&
         cvy_compose_check_like(c, "y", of->y, of->x);
}

/* One of the tensors that have an element for each channel. */
static bool check_channels(cvy_composition *c, const char *name, const convoy_tensor *tensor,
                           int64_t channels) {
  return !tensor || cvy_composition_check(c, cvy_check_shape(name, tensor, 1, &channels));
}

static bool check_affine(cvy_composition *c, const normed *of) {
  return check_channels(c, "gamma", of->gamma, of->x->shape[1]) &&
         check_channels(c, "beta", of->beta, of->x->shape[1]);
}

/* As it is, or the same number for all where it is NULL. */
static cvy_view view_or(cvy_composition *c, const convoy_tensor *tensor, double number) {
  return cvy_view_of(tensor ? tensor : cvy_compose_number(c, number));
}

/* ---------------------------------------------------------------------------------- batch norm */

typedef struct running {
  convoy_tensor *mean, *variance;
} running;

static convoy_status check_options(const convoy_batch_norm_options *options, running statistics) {
  convoy_status status = cvy_check_struct("options", options, sizeof *options, false);
  if (status) return status;
  if (!(options->momentum >= 0.0 && options->momentum <= 1.0))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "momentum is %g, legal are 0 to 1", options->momentum);
  if (!statistics.mean != !statistics.variance)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "one of running_mean and running_variance is NULL");
  if (options->evaluate && !statistics.mean)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "an evaluation needs running_mean and running_variance");
  return CONVOY_OK;
}

static void update(cvy_composition *c, const convoy_batch_norm_options *options, running statistics,
                   cvy_view mean, cvy_view variance, int64_t count) {
  double share = options->momentum, unbiased = share * (double)count / (double)(count - 1);
  cvy_compose(c, CVY_NN_RUNNING,
              (const cvy_view[]){cvy_view_of(statistics.mean), cvy_view_of(statistics.variance),
                                 mean, variance, cvy_view_of(cvy_compose_number(c, 1.0 - share)),
                                 cvy_view_of(cvy_compose_number(c, share)),
                                 cvy_view_of(cvy_compose_number(c, unbiased)),
                                 cvy_view_of(cvy_compose_output(c, statistics.mean)),
                                 cvy_view_of(cvy_compose_output(c, statistics.variance))});
}

/* By mean and variance, [c]. */
static void normalise(cvy_composition *c, const normed *of, cvy_view mean, cvy_view variance) {
  const int64_t channels = of->x->shape[1];
  cvy_view deviation = cvy_view_of(cvy_compose_new(c, 1, &channels));
  cvy_view scale = cvy_view_of(cvy_compose_new(c, 1, &channels));
  cvy_view epsilon = cvy_view_of(cvy_compose_number(c, of->epsilon));
  cvy_compose(c, CVY_NN_NORMALISE_NUMBERS,
              (const cvy_view[]){variance, epsilon, view_or(c, of->gamma, 1.0), deviation, scale});
  cvy_compose(c, CVY_NN_NORMALISE,
              (const cvy_view[]){cvy_view_of(of->x), mean, scale, view_or(c, of->beta, 0.0),
                                 cvy_view_of(cvy_compose_output(c, of->y))});
}

static void train(cvy_composition *c, const convoy_batch_norm_options *options, const normed *of,
                  running statistics) {
  const int64_t channels = of->x->shape[1], count = channels ? of->x->count / channels : 0;
  if (count == 0) return;
  if (count == 1) {
    cvy_composition_fail(c, CONVOY_ERR_SHAPE,
                         "a channel of x has one element, which has no variance");
    return;
  }
  cvy_view mean = cvy_view_of(cvy_compose_new(c, 1, &channels));
  cvy_view variance = cvy_view_of(cvy_compose_new(c, 1, &channels));
  cvy_compose(c, CVY_NN_STATISTICS, (const cvy_view[]){cvy_view_of(of->x), mean, variance});
  if (statistics.mean) update(c, options, statistics, mean, variance, count);
  normalise(c, of, mean, variance);
}

static void batch_norm(cvy_composition *c, const convoy_batch_norm_options *options,
                       const normed *of, running statistics) {
  const int64_t channels = of->x->shape[1];
  if (!check_maps(c, of) || !check_affine(c, of) ||
      !check_channels(c, "running_mean", statistics.mean, channels) ||
      !check_channels(c, "running_variance", statistics.variance, channels))
    return;
  if (options->evaluate)
    normalise(c, of, cvy_view_of(statistics.mean), cvy_view_of(statistics.variance));
  else
    train(c, options, of, statistics);
}

convoy_status convoy_batch_norm(convoy_context *context, const convoy_batch_norm_options *options,
                                const convoy_tensor *x, const convoy_tensor *gamma,
                                const convoy_tensor *beta, convoy_tensor *running_mean,
                                convoy_tensor *running_variance, convoy_tensor *y,
                                convoy_run *run) {
  static const convoy_batch_norm_options defaults = CONVOY_BATCH_NORM_INIT;
  cvy_composition c;
  const running statistics = {running_mean, running_variance};
  if (!options) options = &defaults;
  convoy_status status = check_options(options, statistics);
  const normed of = {x, gamma, beta, y, options->epsilon};
  if (!status) status = check_given(&of);
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  batch_norm(&c, options, &of, statistics);
  return cvy_composition_end(&c);
}

/* ------------------------------------------------------------------------- layer and group norm */

/* x as [n][c][h][w], where h and w are normalised; gamma and beta are [1][gamma_c][h][gamma_w]. */
typedef struct rows {
  int64_t n, c, h, w, gamma_c, gamma_w;
} rows;

static cvy_view affine_view(cvy_composition *c, const convoy_tensor *tensor, double number,
                            const rows *as) {
  if (!tensor) return cvy_view_of(cvy_compose_number(c, number));
  return cvy_view_as(tensor, 1, as->gamma_c, as->h, as->gamma_w);
}

static void normalise_rows(cvy_composition *c, const normed *of, const rows *as) {
  const int64_t kept[] = {as->n, as->c, 1, 1};
  cvy_view x = cvy_view_as(of->x, as->n, as->c, as->h, as->w);
  cvy_view mean = cvy_view_of(cvy_compose_new(c, 4, kept));
  cvy_view variance = cvy_view_of(cvy_compose_new(c, 4, kept));
  cvy_view deviation = cvy_view_of(cvy_compose_new(c, 4, kept));
  cvy_view epsilon = cvy_view_of(cvy_compose_number(c, of->epsilon));
  cvy_compose(c, CVY_NN_ROW_STATISTICS, (const cvy_view[]){x, mean, variance});
  cvy_compose(c, CVY_NN_ROW_DEVIATION, (const cvy_view[]){variance, epsilon, deviation});
  cvy_view y = cvy_view_as(cvy_compose_output(c, of->y), as->n, as->c, as->h, as->w);
  cvy_compose(c, CVY_NN_NORMALISE_ROWS,
              (const cvy_view[]){x, mean, deviation, affine_view(c, of->gamma, 1.0, as),
                                 affine_view(c, of->beta, 0.0, as), y});
}

static void layer_norm(cvy_composition *c, int32_t axes, const normed *of) {
  const convoy_tensor *x = of->x;
  const int64_t *last = x->shape + x->dims - axes;
  rows as = {.n = 1, .c = 1, .h = 1, .w = 1, .gamma_c = 1};
  if (axes < 1 || axes > x->dims) {
    cvy_composition_fail(c, CONVOY_ERR_ARGUMENT, "axes is %d, x has %d extents", (int)axes,
                         (int)x->dims);
    return;
  }
  if (!cvy_compose_check_like(c, "x", x, x) || !cvy_compose_check_like(c, "y", of->y, x)) return;
  if (of->gamma && !cvy_composition_check(c, cvy_check_shape("gamma", of->gamma, axes, last)))
    return;
  if (of->beta && !cvy_composition_check(c, cvy_check_shape("beta", of->beta, axes, last))) return;
  for (int32_t i = 0; i < x->dims - axes; i++) as.n *= x->shape[i];
  for (int32_t i = 0; i < axes; i++) as.w *= last[i];
  as.gamma_w = as.w;
  normalise_rows(c, of, &as);
}

convoy_status convoy_layer_norm(convoy_context *context, int32_t axes, double epsilon,
                                const convoy_tensor *x, const convoy_tensor *gamma,
                                const convoy_tensor *beta, convoy_tensor *y, convoy_run *run) {
  const normed of = {x, gamma, beta, y, epsilon};
  cvy_composition c;
  convoy_status status = check_given(&of);
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  layer_norm(&c, axes, &of);
  return cvy_composition_end(&c);
}

static void group_norm(cvy_composition *c, int64_t groups, const normed *of) {
  if (!check_maps(c, of) || !check_affine(c, of)) return;
  int64_t channels = of->x->shape[1];
  if (groups < 1 || channels % groups) {
    cvy_composition_fail(c, CONVOY_ERR_SHAPE, "%lld channels in %lld groups", (long long)channels,
                         (long long)groups);
    return;
  }
  rows as = {.n = of->x->shape[0], .c = groups, .h = channels / groups, .w = 1};
  for (int32_t i = 2; i < of->x->dims; i++) as.w *= of->x->shape[i];
  as.gamma_c = groups;
  as.gamma_w = 1;
  normalise_rows(c, of, &as);
}

convoy_status convoy_group_norm(convoy_context *context, int64_t groups, double epsilon,
                                const convoy_tensor *x, const convoy_tensor *gamma,
                                const convoy_tensor *beta, convoy_tensor *y, convoy_run *run) {
  const normed of = {x, gamma, beta, y, epsilon};
  cvy_composition c;
  convoy_status status = check_given(&of);
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  group_norm(&c, groups, &of);
  return cvy_composition_end(&c);
}
