/* Trains a convolution, batch norm and SiLU to do what another such layer does. Nothing leaves the
 * device but the loss: what is no convolution is a program. The same as batch_norm.py.
 *
 *   cc batch_norm.c $(pkg-config --cflags --libs convoy) -o batch_norm */
#include <convoy/convoy.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 100, N = 8, C = 3, K = 16, SIDE = 16, MOST = N * K * SIDE * SIDE };

static const int64_t x_shape[] = {N, C, SIDE, SIDE}, w_shape[] = {K, C, 3, 3},
                     y_shape[] = {N, K, SIDE, SIDE}, per_channel[] = {1, K, 1, 1}, one[] = {1};

/* What is no convolution. Inputs are in the order in which they are listed or first read. */
enum { STATISTICS, SCALE, NORMALISE, LOSS, LOSS_GRADIENT, SUMS, BACKWARD, UPDATE, PROGRAMS };
static const char *const texts[PROGRAMS] = {
    [STATISTICS] = "mean = mean over n z h w of x; variance = variance over n z h w of x",
    [SCALE] =
        "input variance, gamma; deviation = rsqrt(variance + 1e-5); scale = gamma * deviation",
    [NORMALISE] =
        "input x, mean, scale, beta;"
        "let t = (x - mean) * scale + beta; y = t * sigmoid(t)",
    [LOSS] = "loss = mean over n c z h w of (y - wanted) * (y - wanted)",
    [LOSS_GRADIENT] = "input y, wanted, count; dy = 2 * (y - wanted) / count",
    [SUMS] =
        "input x, dy, mean, deviation, gamma, beta;"
        "let h = (x - mean) * deviation; let t = h * gamma + beta; let s = sigmoid(t);"
        "let d = dy * (s * (1 + t * (1 - s)));"
        "d_beta = sum over n z h w of d; d_gamma = sum over n z h w of d * h",
    [BACKWARD] =
        "input x, dy, mean, deviation, gamma, beta, scale, d_beta, d_gamma, positions;"
        "let h = (x - mean) * deviation; let t = h * gamma + beta; let s = sigmoid(t);"
        "let d = dy * (s * (1 + t * (1 - s)));"
        "dx = (d - (d_beta + h * d_gamma) / positions) * scale",
    [UPDATE] = "input v, g, w; v = 0.9 * v + g; w = w - 0.1 * v",
};

/* A value that is trained, with its gradient and momentum. */
typedef struct parameter {
  convoy_tensor *value, *gradient, *momentum;
} parameter;

typedef struct layer {
  parameter w, gamma, beta;
  convoy_tensor *z, *mean, *variance, *deviation, *scale, *y;
} layer;

static convoy_context *context;
static convoy_program *programs[PROGRAMS];
static convoy_tensor *tensors[64];
static int tensor_count;

static void must(convoy_status status) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", convoy_status_name(status), convoy_last_error());
  exit(1);
}

/* Numbers from `low` to `high`; all the same if these are. */
static convoy_tensor *tensor(int32_t dims, const int64_t *shape, float low, float high) {
  static uint32_t next = 1;
  static float values[MOST];
  convoy_tensor *made;
  int64_t count = 1;
  for (int32_t i = 0; i < dims; i++) count *= shape[i];
  for (int64_t i = 0; i < count; i++) {
    next = next * 1664525u + 1013904223u;
    values[i] = low + (high - low) * (float)(next >> 8) * 0x1p-24f;
  }
  must(convoy_tensor_new(context, dims, shape, &made));
  must(convoy_tensor_write(made, values, count));
  tensors[tensor_count++] = made;
  return made;
}

static parameter new_parameter(const int64_t *shape, float low, float high) {
  return (parameter){tensor(4, shape, low, high), tensor(4, shape, 0, 0), tensor(4, shape, 0, 0)};
}

static layer new_layer(void) {
  layer made = {.w = new_parameter(w_shape, -0.4f, 0.4f),
                .gamma = new_parameter(per_channel, 0.5f, 1.5f),
                .beta = new_parameter(per_channel, -0.5f, 0.5f),
                .z = tensor(4, y_shape, 0, 0),
                .y = tensor(4, y_shape, 0, 0)};
  convoy_tensor **const numbers[] = {&made.mean, &made.variance, &made.deviation, &made.scale};
  for (int i = 0; i < 4; i++) *numbers[i] = tensor(4, per_channel, 0, 0);
  return made;
}

/* All operands, inputs first, as the program names them. */
static void apply(int which, convoy_tensor *const *operands) {
  const convoy_tensor *inputs[12];
  int count = 0;
  for (; convoy_program_input(programs[which], count); count++) inputs[count] = operands[count];
  must(convoy_apply(context, programs[which], inputs, operands + count, NULL));
}

#define APPLY(which, ...) apply(which, (convoy_tensor *const[]){__VA_ARGS__})

static void forward(const convoy_conv *conv, const convoy_tensor *x, layer *l) {
  must(convoy_forward(context, conv, x, l->w.value, NULL, NULL, l->z, NULL));
  APPLY(STATISTICS, l->z, l->mean, l->variance);
  APPLY(SCALE, l->variance, l->gamma.value, l->deviation, l->scale);
  APPLY(NORMALISE, l->z, l->mean, l->scale, l->beta.value, l->y);
}

/* dy becomes the gradient of what the convolution gave. */
static void backward(const convoy_conv *conv, const convoy_tensor *x, layer *l, convoy_tensor *dy,
                     convoy_tensor *positions) {
  APPLY(SUMS, l->z, dy, l->mean, l->deviation, l->gamma.value, l->beta.value, l->beta.gradient,
        l->gamma.gradient);
  APPLY(BACKWARD, l->z, dy, l->mean, l->deviation, l->gamma.value, l->beta.value, l->scale,
        l->beta.gradient, l->gamma.gradient, positions, dy);
  must(convoy_backward_weights(context, conv, x, dy, 0, l->w.gradient, NULL));
}

static void update(layer *l) {
  const parameter *const all[] = {&l->w, &l->gamma, &l->beta};
  for (int i = 0; i < 3; i++) {
    convoy_tensor *v = all[i]->momentum, *w = all[i]->value;
    APPLY(UPDATE, v, all[i]->gradient, w, v, w);
  }
}

int main(void) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  conv.pad_begin[0] = conv.pad_begin[1] = conv.pad_end[0] = conv.pad_end[1] = 1;
  must(convoy_open(NULL, &context));
  for (int i = 0; i < PROGRAMS; i++) must(convoy_program_parse(texts[i], &programs[i]));

  layer teacher = new_layer(), learner = new_layer();
  convoy_tensor *x = tensor(4, x_shape, -2, 2), *dy = tensor(4, y_shape, 0, 0);
  convoy_tensor *loss = tensor(1, one, 0, 0), *count = tensor(1, one, MOST, MOST);
  convoy_tensor *positions = tensor(1, one, MOST / K, MOST / K);
  forward(&conv, x, &teacher);
  for (int step = 1; step <= STEPS; step++) {
    float value;
    forward(&conv, x, &learner);
    APPLY(LOSS, learner.y, teacher.y, loss);
    APPLY(LOSS_GRADIENT, learner.y, teacher.y, count, dy);
    backward(&conv, x, &learner, dy, positions);
    update(&learner);
    if (step != 1 && step != STEPS) continue;
    must(convoy_tensor_read(loss, &value, 1)); /* waits */
    printf("step %3d: loss %.4f\n", step, (double)value);
  }
  for (int i = 0; i < tensor_count; i++) convoy_tensor_free(tensors[i]);
  for (int i = 0; i < PROGRAMS; i++) convoy_program_free(programs[i]);
  convoy_close(context);
  return 0;
}
