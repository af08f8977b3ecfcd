/* Legality, extents, overflow and relabelling of a convolution: the only place that knows them. */
#include "problem/conv/conv.h"

#include <string.h>

typedef long long ll; /* for printing */

/* The geometry of one spatial axis as the public call states it. */
typedef struct axis {
  int64_t in, filter, stride, begin, end, dilation, extra; /* extra: output padding */
} axis;

static const char *const axis_names[] = {"z", "h", "w"};

/* ------------------------------------------------------------------------------ legality */

static convoy_status check_axis_fields(const convoy_conv *conv, int i) {
  const char *name = axis_names[3 - conv->rank + i];
  const struct {
    const char *what;
    int64_t value, least;
  } fields[] = {{"stride", conv->stride[i], 1},
                {"dilation", conv->dilation[i], 1},
                {"pad_begin", conv->pad_begin[i], 0},
                {"pad_end", conv->pad_end[i], 0},
                {"output_padding", conv->output_padding[i], 0}};
  for (size_t f = 0; f < CVY_COUNT(fields); f++)
    if (fields[f].value < fields[f].least || fields[f].value > INT32_MAX)
      return cvy_fail(CONVOY_ERR_ARGUMENT, "%s of axis %s is %lld, legal are %lld to %d",
                      fields[f].what, name, (ll)fields[f].value, (ll)fields[f].least, INT32_MAX);
  int64_t extra = conv->output_padding[i];
  if (extra && !conv->transposed)
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "output_padding of axis %s is %lld, but the convolution is not transposed",
                    name, (ll)extra);
  if (extra && extra >= conv->stride[i] && extra >= conv->dilation[i])
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "output_padding of axis %s is %lld, not smaller than stride %lld or dilation "
                    "%lld",
                    name, (ll)extra, (ll)conv->stride[i], (ll)conv->dilation[i]);
  return CONVOY_OK;
}

static convoy_status check_conv(const convoy_conv *given, convoy_conv *conv) {
  *conv = (convoy_conv)CONVOY_CONV_INIT(2);
  if (!cvy_struct_in(conv, sizeof *conv, given, sizeof *conv))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "convoy_conv.struct_size is %u, at least %zu are needed",
                    given->struct_size, sizeof *conv);
  if (conv->rank < 1 || conv->rank > CONVOY_MAX_RANK)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "rank is %d, legal are 1 to %d", conv->rank,
                    CONVOY_MAX_RANK);
  if (conv->dtype != CONVOY_FLOAT32)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "dtype is %d, convolutions are CONVOY_FLOAT32 (%d)",
                    conv->dtype, CONVOY_FLOAT32);
  if (conv->transposed != 0 && conv->transposed != 1)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "transposed is %d, legal are 0 and 1", conv->transposed);
  if (conv->groups < 1)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "groups is %lld, at least 1 is needed", (ll)conv->groups);
  for (int i = 0; i < conv->rank; i++) {
    convoy_status status = check_axis_fields(conv, i);
    if (status) return status;
  }
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------- extents */

/* Extent of the filter with its gaps, the padded input, or -1 if it does not fit int64_t. */
static int64_t reach(const axis *a) {
  int64_t gaps;
  if (__builtin_mul_overflow(a->filter - 1, a->dilation, &gaps)) return -1;
  return __builtin_add_overflow(gaps, 1, &gaps) ? -1 : gaps;
}

/* o = floor((i + p - reach) / stride) + 1. The sign is tested before dividing: C rounds towards
 * zero, which would give 1 output for a filter one larger than the padded input at stride 2. */
static convoy_status extent_forward(const axis *a, const char *name, int64_t *out) {
  int64_t padded, filter = reach(a);
  if (filter < 0 || __builtin_add_overflow(a->in, a->begin + a->end, &padded))
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "axis %s overflows: input %lld, padding %lld and %lld, filter %lld, dilation "
                    "%lld",
                    name, (ll)a->in, (ll)a->begin, (ll)a->end, (ll)a->filter, (ll)a->dilation);
  if (filter > padded)
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "filter of axis %s reaches over %lld (%lld with dilation %lld), the padded "
                    "input has %lld (%lld with padding %lld and %lld)",
                    name, (ll)filter, (ll)a->filter, (ll)a->dilation, (ll)padded, (ll)a->in,
                    (ll)a->begin, (ll)a->end);
  *out = (padded - filter) / a->stride + 1;
  return CONVOY_OK;
}

/* o = (i - 1) stride - p + reach + output_padding */
static convoy_status extent_transposed(const axis *a, const char *name, int64_t *out) {
  int64_t spread, filter = reach(a);
  if (filter < 0 || __builtin_mul_overflow(a->in - 1, a->stride, &spread) ||
      __builtin_add_overflow(spread, filter + a->extra - a->begin - a->end, &spread))
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "axis %s overflows: input %lld, stride %lld, filter %lld, dilation %lld", name,
                    (ll)a->in, (ll)a->stride, (ll)a->filter, (ll)a->dilation);
  if (spread < 1)
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "output of axis %s would have %lld: input %lld, stride %lld, filter %lld with "
                    "dilation %lld, padding %lld and %lld, output padding %lld",
                    name, (ll)spread, (ll)a->in, (ll)a->stride, (ll)a->filter, (ll)a->dilation,
                    (ll)a->begin, (ll)a->end, (ll)a->extra);
  *out = spread;
  return CONVOY_OK;
}

static axis axis_of(const convoy_conv *conv, const int64_t *x_shape, const int64_t *w_shape,
                    int i) {
  return (axis){x_shape[2 + i],   w_shape[2 + i],    conv->stride[i],        conv->pad_begin[i],
                conv->pad_end[i], conv->dilation[i], conv->output_padding[i]};
}

static convoy_status check_extents(const char *array, const int64_t *shape, int dims, int first) {
  for (int i = 0; i < dims; i++)
    if (shape[i] < (i < first ? 0 : 1))
      return cvy_fail(CONVOY_ERR_SHAPE, "extent %d of %s is %lld, at least %d is needed", i, array,
                      (ll)shape[i], i < first ? 0 : 1);
  return CONVOY_OK;
}

static convoy_status check_channels(const convoy_conv *conv, const int64_t *x_shape,
                                    const int64_t *w_shape, int64_t *y_channels) {
  int64_t c = x_shape[1], groups = conv->groups;
  /* w is [K][C/groups]... or, transposed, [C][K/groups]...: the first extent is divided by the
   * groups, the second belongs to one group. */
  int64_t full = w_shape[0], per_group = w_shape[1], c_of_w, k;
  if (full % groups || c % groups)
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "groups %lld do not divide the %lld channels of x and the first extent %lld of "
                    "w",
                    (ll)groups, (ll)c, (ll)full);
  if (__builtin_mul_overflow(per_group, groups, &c_of_w))
    return cvy_fail(CONVOY_ERR_SHAPE, "%lld channels per group times %lld groups overflow",
                    (ll)per_group, (ll)groups);
  k = full;
  if (conv->transposed) {
    k = c_of_w;
    c_of_w = full;
  }
  if (c_of_w != c)
    return cvy_fail(CONVOY_ERR_SHAPE,
                    "x has %lld channels, but w is for %lld (first extents %lld and %lld, groups "
                    "%lld%s)",
                    (ll)c, (ll)c_of_w, (ll)w_shape[0], (ll)w_shape[1], (ll)groups,
                    conv->transposed ? ", transposed" : "");
  *y_channels = k;
  return CONVOY_OK;
}

/* Bytes of an array must fit int64_t, each extent int32_t (kernels count axes with 32 bits). */
static convoy_status check_bytes(const char *array, const int64_t *shape, int dims) {
  int64_t bytes = sizeof(float);
  for (int i = 0; i < dims; i++) {
    if (shape[i] > INT32_MAX)
      return cvy_fail(CONVOY_ERR_SHAPE, "extent %d of %s is %lld, the largest legal is %d", i,
                      array, (ll)shape[i], INT32_MAX);
    /* N = 0 must not hide an overflow of the rest, so 0 counts as 1. */
    if (__builtin_mul_overflow(bytes, shape[i] ? shape[i] : 1, &bytes))
      return cvy_fail(CONVOY_ERR_SHAPE, "the byte count of %s overflows at extent %d, %lld", array,
                      i, (ll)shape[i]);
  }
  return CONVOY_OK;
}

static convoy_status output_shape(const convoy_conv *conv, const int64_t *x_shape,
                                  const int64_t *w_shape, int64_t *y_shape) {
  int dims = conv->rank + 2;
  int64_t y[CONVOY_MAX_DIMS] = {x_shape[0], 0};
  convoy_status status = check_extents("x", x_shape, dims, 1);
  if (!status) status = check_extents("w", w_shape, dims, 0);
  if (!status) status = check_bytes("x", x_shape, dims);
  if (!status) status = check_bytes("w", w_shape, dims);
  if (!status) status = check_channels(conv, x_shape, w_shape, &y[1]);
  for (int i = 0; i < conv->rank && !status; i++) {
    axis a = axis_of(conv, x_shape, w_shape, i);
    const char *name = axis_names[3 - conv->rank + i];
    status = conv->transposed ? extent_transposed(&a, name, &y[2 + i])
                              : extent_forward(&a, name, &y[2 + i]);
  }
  if (!status) status = check_bytes("y", y, dims);
  if (!status) memcpy(y_shape, y, (size_t)dims * sizeof *y);
  return status;
}

convoy_status cvy_output_shape(const convoy_conv *conv, const int64_t *x_shape,
                               const int64_t *w_shape, int64_t *y_shape) {
  convoy_conv checked;
  convoy_status status = check_conv(conv, &checked);
  return status ? status : output_shape(&checked, x_shape, w_shape, y_shape);
}

/* ------------------------------------------------------------------------------ relabelling */

/* The axes of a call are the last of a problem's three; what is missing in front gets `missing`. */
static void fill_axes(int64_t to[3], const int64_t *from, int rank, int64_t missing) {
  for (int i = 0; i < 3; i++) to[i] = i < 3 - rank ? missing : from[i - (3 - rank)];
}

/* The problem's "in" is the array convolved over: x, or for a transposed convolution y. */
static void fill_geometry(const convoy_conv *conv, const int64_t *x_shape, const int64_t *w_shape,
                          const int64_t *y_shape, cvy_problem *p) {
  const int64_t *in = conv->transposed ? y_shape : x_shape;
  const int64_t *out = conv->transposed ? x_shape : y_shape;
  p->conv.rank = conv->rank;
  p->conv.transposed = conv->transposed;
  p->conv.n = x_shape[0];
  p->conv.c = in[1];
  p->conv.k = out[1];
  p->conv.groups = conv->groups;
  fill_axes(p->conv.in, in + 2, conv->rank, 1);
  fill_axes(p->conv.filter, w_shape + 2, conv->rank, 1);
  fill_axes(p->conv.out, out + 2, conv->rank, 1);
  fill_axes(p->conv.stride, conv->stride, conv->rank, 1);
  fill_axes(p->conv.dilation, conv->dilation, conv->rank, 1);
  fill_axes(p->conv.pad, conv->pad_begin, conv->rank, 0);
  fill_axes(p->conv.pad_end, conv->pad_end, conv->rank, 0);
}

static const convoy_direction transposed_direction[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = CONVOY_BACKWARD_DATA,
    [CONVOY_BACKWARD_DATA] = CONVOY_FORWARD,
    [CONVOY_BACKWARD_WEIGHTS] = CONVOY_BACKWARD_WEIGHTS,
    [CONVOY_BACKWARD_BIAS] = CONVOY_BACKWARD_BIAS,
};

static convoy_status fill_beta(float beta, cvy_problem *p) {
  if (beta != 0.0f && beta != 1.0f)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "beta is %g, legal are 0 and 1", (double)beta);
  p->accumulate = beta == 1.0f;
  return CONVOY_OK;
}

static convoy_status fill_epilogue(bool has_bias, const convoy_epilogue *given, cvy_problem *p) {
  p->conv.has_bias = has_bias;
  if (!given) return CONVOY_OK;
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  if (!cvy_struct_in(&epilogue, sizeof epilogue, given, sizeof epilogue))
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "convoy_epilogue.struct_size is %u, at least %zu are needed",
                    given->struct_size, sizeof epilogue);
  if (epilogue.activation < CONVOY_IDENTITY || epilogue.activation > CONVOY_LEAKY_RELU)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "activation is %d, legal are %d to %d",
                    epilogue.activation, CONVOY_IDENTITY, CONVOY_LEAKY_RELU);
  p->conv.activation = epilogue.activation;
  p->conv.slope = epilogue.activation == CONVOY_LEAKY_RELU ? epilogue.slope : 0.0f;
  return CONVOY_OK;
}

/* All 0, as far as it counts. */
static void begin(int32_t operation, cvy_problem *p) {
  memset(p, 0, CVY_PROBLEM_HEAD + sizeof p->conv);
  p->operation = operation;
}

convoy_status cvy_conv_make(const convoy_conv *conv, convoy_direction direction,
                            const int64_t *x_shape, const int64_t *w_shape, float beta,
                            bool has_bias, const convoy_epilogue *epilogue, cvy_problem *out) {
  convoy_conv checked;
  cvy_problem p;
  int64_t y_shape[CONVOY_MAX_DIMS];
  begin(0, &p);
  if ((unsigned)direction >= CONVOY_DIRECTIONS)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "direction is %d, legal are 0 to %d", (int)direction,
                    CONVOY_DIRECTIONS - 1);
  convoy_status status = check_conv(conv, &checked);
  if (!status) status = output_shape(&checked, x_shape, w_shape, y_shape);
  if (!status && direction == CONVOY_BACKWARD_BIAS)
    return cvy_conv_make_bias(conv, y_shape, beta, out);
  if (!status) status = fill_beta(beta, &p);
  if (!status) status = fill_epilogue(has_bias, epilogue, &p);
  if (status) return status;
  p.operation = (int32_t)(checked.transposed ? transposed_direction[direction] : direction);
  fill_geometry(&checked, x_shape, w_shape, y_shape, &p);
  cvy_problem_copy(out, &p);
  return CONVOY_OK;
}

convoy_status cvy_conv_make_bias(const convoy_conv *conv, const int64_t *dy_shape, float beta,
                                 cvy_problem *out) {
  convoy_conv checked;
  cvy_problem p;
  begin(CONVOY_BACKWARD_BIAS, &p);
  convoy_status status = check_conv(conv, &checked);
  if (!status) status = check_extents("dy", dy_shape, checked.rank + 2, 1);
  if (!status) status = check_bytes("dy", dy_shape, checked.rank + 2);
  if (!status) status = fill_beta(beta, &p);
  if (status) return status;
  const convoy_conv point = CONVOY_CONV_INIT(checked.rank);
  const int64_t w_shape[CONVOY_MAX_DIMS] = {dy_shape[1], 1, 1, 1, 1};
  int64_t x_shape[CONVOY_MAX_DIMS];
  memcpy(x_shape, dy_shape, (size_t)(checked.rank + 2) * sizeof *x_shape);
  x_shape[1] = 1;
  fill_geometry(&point, x_shape, w_shape, dy_shape, &p);
  cvy_problem_copy(out, &p);
  return CONVOY_OK;
}

/* ---------------------------------------------------------------------------------- and back */

/* What a transposed convolution adds to the extent that follows from its other numbers. */
static int64_t output_padding(const cvy_problem *p, int at) {
  const int64_t filter = (p->conv.filter[at] - 1) * p->conv.dilation[at] + 1;
  return p->conv.in[at] - (p->conv.out[at] - 1) * p->conv.stride[at] - filter + p->conv.pad[at] +
         p->conv.pad_end[at];
}

void cvy_conv_spell(const cvy_problem *p, convoy_conv *conv, int64_t *x_shape, int64_t *w_shape,
                    convoy_direction *direction) {
  const int64_t *x = p->conv.transposed ? p->conv.out : p->conv.in;
  *conv = (convoy_conv)CONVOY_CONV_INIT(p->conv.rank);
  conv->transposed = (int32_t)p->conv.transposed;
  conv->groups = p->conv.groups;
  x_shape[0] = p->conv.n;
  x_shape[1] = p->conv.transposed ? p->conv.k : p->conv.c;
  w_shape[0] = p->conv.k;
  w_shape[1] = p->conv.c / p->conv.groups;
  for (int i = 0, at = 3 - p->conv.rank; at < 3; i++, at++) {
    x_shape[2 + i] = x[at];
    w_shape[2 + i] = p->conv.filter[at];
    conv->stride[i] = p->conv.stride[at];
    conv->dilation[i] = p->conv.dilation[at];
    conv->pad_begin[i] = p->conv.pad[at];
    conv->pad_end[i] = p->conv.pad_end[at];
    if (p->conv.transposed) conv->output_padding[i] = output_padding(p, at);
  }
  *direction = (convoy_direction)p->operation;
  if (p->conv.transposed) *direction = transposed_direction[p->operation];
}

void cvy_conv_y_shape(const cvy_problem *p, int64_t *y_shape) {
  const int64_t *y = p->conv.transposed ? p->conv.in : p->conv.out;
  y_shape[0] = p->conv.n;
  y_shape[1] = p->conv.transposed ? p->conv.c : p->conv.k;
  for (int i = 0; i < p->conv.rank; i++) y_shape[2 + i] = y[3 - p->conv.rank + i];
}

/* ------------------------------------------------------------------------------------ counts */

cvy_conv_array cvy_conv_in(const cvy_problem *problem, int32_t i) {
  static const cvy_conv_array table[][3] = {
      [CVY_CONV_FORWARD] = {CVY_X, CVY_W, CVY_BIAS},
      [CVY_CONV_BACKWARD_DATA] = {CVY_Y, CVY_W, CVY_BIAS},
      [CVY_CONV_BACKWARD_WEIGHTS] = {CVY_X, CVY_Y},
      [CVY_CONV_BACKWARD_BIAS] = {CVY_Y},
  };
  return table[problem->operation][i];
}

cvy_conv_array cvy_conv_out(const cvy_problem *problem) {
  static const cvy_conv_array table[] = {
      [CVY_CONV_FORWARD] = CVY_Y,
      [CVY_CONV_BACKWARD_DATA] = CVY_X,
      [CVY_CONV_BACKWARD_WEIGHTS] = CVY_W,
      [CVY_CONV_BACKWARD_BIAS] = CVY_BIAS,
  };
  return table[problem->operation];
}

static int64_t volume(const int64_t extent[3]) {
  return extent[0] * extent[1] * extent[2];
}

int64_t cvy_in_volume(const cvy_problem *problem) {
  return volume(problem->conv.in);
}

int64_t cvy_filter_volume(const cvy_problem *problem) {
  return volume(problem->conv.filter);
}

int64_t cvy_out_volume(const cvy_problem *problem) {
  return volume(problem->conv.out);
}

bool cvy_conv_strided(const cvy_problem *problem) {
  const int64_t *stride = problem->conv.stride;
  return stride[0] != 1 || stride[1] != 1 || stride[2] != 1;
}

int64_t cvy_conv_image(const cvy_problem *p, cvy_conv_array array) {
  if (array == CVY_X) return p->conv.c * volume(p->conv.in);
  return array == CVY_Y ? p->conv.k * volume(p->conv.out) : 0;
}

cvy_array_view cvy_conv_view(const cvy_problem *p, cvy_conv_array array) {
  return array == CVY_X ? p->conv.x : array == CVY_Y ? p->conv.y : (cvy_array_view){0, 0};
}

int64_t cvy_conv_pitch(const cvy_problem *p, cvy_conv_array array) {
  cvy_array_view view = cvy_conv_view(p, array);
  return cvy_array_view_pitch(&view, cvy_conv_image(p, array));
}

int64_t cvy_conv_place(const cvy_problem *p, cvy_conv_array array, int64_t n, int64_t channel) {
  const int64_t *extent = array == CVY_X ? p->conv.in : p->conv.out;
  return n * cvy_conv_pitch(p, array) + channel * volume(extent);
}

int64_t cvy_conv_count(const cvy_problem *p, cvy_conv_array array) {
  const int64_t counts[] = {
      [CVY_X] = p->conv.n * p->conv.c * volume(p->conv.in),
      [CVY_W] = p->conv.k * (p->conv.c / p->conv.groups) * volume(p->conv.filter),
      [CVY_Y] = p->conv.n * p->conv.k * volume(p->conv.out),
      [CVY_BIAS] = p->operation == CONVOY_BACKWARD_DATA ? p->conv.c : p->conv.k,
  };
  return counts[array];
}
