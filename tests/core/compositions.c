#include "core/compositions.h"

#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"

static const struct {
  int32_t dims;
  int64_t shape[3];
} extents[SET] = {
    [X] = {3, {4, 6, 5}}, [Y] = {3, {4, 6, 5}},  [GAMMA] = {1, {6}}, [BETA] = {1, {6}},
    [MEAN] = {1, {6}},    [VARIANCE] = {1, {6}}, [W0] = {2, {3, 4}}, [W1] = {1, {7}},
    [G0] = {2, {3, 4}},   [G1] = {1, {7}},       [M0] = {2, {3, 4}}, [M1] = {1, {7}},
    [V0] = {2, {3, 4}},   [V1] = {1, {7}},       [RATE] = {1, {1}},  [STEP] = {1, {1}},
    [LOSS] = {1, {1}},
};

static int64_t count_of(int which) {
  int64_t count = 1;
  for (int32_t i = 0; i < extents[which].dims; i++) count *= extents[which].shape[i];
  return count;
}

void set_make(convoy_context *context, set *s) {
  const int64_t labels[] = {4, 5};
  int32_t classes[20];
  float values[SET_VALUES];
  test_random random = {5};
  s->context = context;
  for (int i = 0; i < SET; i++) {
    int64_t count = count_of(i);
    for (int64_t k = 0; k < count; k++) values[k] = (float)test_between(&random, 1, 64) / 32;
    assert_int_equal(convoy_tensor_new(context, extents[i].dims, extents[i].shape, &s->tensor[i]),
                     CONVOY_OK);
    assert_int_equal(convoy_tensor_write(s->tensor[i], values, count), CONVOY_OK);
  }
  for (int k = 0; k < 20; k++) classes[k] = k % 6;
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_INT32, 2, labels, &s->labels),
                   CONVOY_OK);
  assert_int_equal(convoy_tensor_write(s->labels, classes, 20), CONVOY_OK);
}

void set_free(set *s) {
  for (int i = 0; i < SET; i++) convoy_tensor_free(s->tensor[i]);
  convoy_tensor_free(s->labels);
}

void set_read(const set *s, float values[SET_VALUES]) {
  memset(values, 0, SET_VALUES * sizeof(float));
  for (int i = 0; i < SET; i++) {
    assert_int_equal(convoy_tensor_read(s->tensor[i], values, count_of(i)), CONVOY_OK);
    values += count_of(i);
  }
}

/* ------------------------------------------------------------------------------------ the calls */

static convoy_status batch_norm(const set *s) {
  convoy_tensor *const *t = s->tensor;
  return convoy_batch_norm(s->context, NULL, t[X], t[GAMMA], t[BETA], t[MEAN], t[VARIANCE], t[X],
                           NULL);
}

static convoy_status layer_norm(const set *s) {
  return convoy_layer_norm(s->context, 2, 1e-5, s->tensor[X], NULL, NULL, s->tensor[Y], NULL);
}

static convoy_status group_norm(const set *s) {
  convoy_tensor *const *t = s->tensor;
  return convoy_group_norm(s->context, 3, 1e-5, t[X], t[GAMMA], t[BETA], t[X], NULL);
}

static convoy_status softmax(const set *s) {
  return convoy_softmax(s->context, 1, s->tensor[X], s->tensor[X], NULL);
}

static convoy_status cross_entropy(const set *s) {
  convoy_cross_entropy_options options = CONVOY_CROSS_ENTROPY_INIT;
  options.smoothing = 0.25;
  return convoy_cross_entropy(s->context, &options, s->tensor[X], s->labels, s->tensor[GAMMA],
                              s->tensor[LOSS], NULL);
}

static convoy_status bce(const set *s) {
  return convoy_bce_with_logits(s->context, CONVOY_REDUCE_MEAN, s->tensor[X], s->tensor[Y], NULL,
                                NULL, s->tensor[LOSS], NULL);
}

static convoy_status dropout(const set *s) {
  return convoy_dropout(s->context, 0.5, s->tensor[X], s->tensor[Y], NULL);
}

static convoy_status sgd(const set *s) {
  convoy_sgd_options options = CONVOY_SGD_INIT;
  convoy_tensor *const *t = s->tensor;
  options.momentum = 0.75;
  options.dampening = 0.5;
  return convoy_sgd(s->context, &options, 2, t + W0, t + G0, t + V0, t[RATE], t[STEP], NULL);
}

static convoy_status adam(const set *s) {
  convoy_tensor *const *t = s->tensor;
  return convoy_adam(s->context, NULL, 2, t + W0, t + G0, t + M0, t + V0, t[RATE], t[STEP], NULL);
}

static convoy_status adamw(const set *s) {
  convoy_tensor *const *t = s->tensor;
  return convoy_adamw(s->context, NULL, 2, t + W0, t + G0, t + M0, t + V0, t[RATE], t[STEP], NULL);
}

static convoy_status average(const set *s) {
  convoy_tensor *const *t = s->tensor;
  return convoy_moving_average(s->context, t[RATE], 2, t + W0, t + M0, NULL);
}

static convoy_status clip(const set *s) {
  convoy_tensor *const *t = s->tensor;
  return convoy_clip_gradients(s->context, 0.5, 2, t + G0, t[LOSS], NULL);
}

const composition compositions[COMPOSITIONS] = {
    {"batch_norm", batch_norm},
    {"layer_norm", layer_norm},
    {"group_norm", group_norm},
    {"softmax", softmax},
    {"cross_entropy", cross_entropy},
    {"bce_with_logits", bce},
    {"dropout", dropout},
    {"sgd", sgd},
    {"adam", adam},
    {"adamw", adamw},
    {"moving_average", average},
    {"clip_gradients", clip},
};
