/* Helpers of the core tests; assertions end the test. */
#include "core/open.h"

#include <string.h>

#include "common/cmocka.h"

enum { MOST = 64 };

convoy_context *open_verified(const char *device, convoy_verify verify, convoy_switch failover) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = device;
  options.failover = (int32_t)failover;
  options.tune = CONVOY_NO;
  options.verify = (int32_t)verify;
  options.threads = 1;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

convoy_context *open_named(const char *device, convoy_switch failover) {
  return open_verified(device, CONVOY_VERIFY_OFF, failover);
}

convoy_program *program_of(const char *text) {
  convoy_program *program = NULL;
  if (convoy_program_parse(text, &program)) fail_msg("%s: %s", text, convoy_last_error());
  return program;
}

convoy_status apply_to(convoy_context *context, const convoy_program *program,
                       convoy_tensor *const *operands, convoy_run *run) {
  const convoy_tensor *in[12];
  int inputs = 0;
  for (; convoy_program_input(program, inputs); inputs++) in[inputs] = operands[inputs];
  return convoy_apply(context, program, in, operands + inputs, run);
}

convoy_health health_of(convoy_context *context) {
  convoy_health health = {.struct_size = sizeof(health)};
  assert_int_equal(convoy_get_health(context, &health), CONVOY_OK);
  return health;
}

convoy_tensor *tensor_of(convoy_context *context, const int64_t *shape, const float *values) {
  convoy_tensor *tensor = NULL;
  assert_int_equal(convoy_tensor_new(context, 3, shape, &tensor), CONVOY_OK);
  int64_t count = shape[0] * shape[1] * shape[2];
  if (values) assert_int_equal(convoy_tensor_write(tensor, values, count), CONVOY_OK);
  return tensor;
}

const char *description_of(convoy_context *context) {
  static char text[CONVOY_DESCRIPTION_TEXT];
  assert_int_equal(convoy_context_describe(context, text, sizeof(text)), CONVOY_OK);
  return text;
}

void check_says(const char *text, const char *word) {
  if (!strstr(text, word)) fail_msg("'%s' lacks '%s'", text, word);
}

void check_values(const float *values, const float *wanted, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (!(values[i] == wanted[i])) {
      fail_msg("element %lld is %g, not %g", (long long)i, (double)values[i], (double)wanted[i]);
    }
  }
}

void check_tensor(convoy_tensor *tensor, const float *wanted) {
  float values[MOST];
  int64_t shape[CONVOY_MAX_DIMS], count = 1;
  int32_t dims;
  assert_int_equal(convoy_tensor_shape(tensor, shape, &dims), CONVOY_OK);
  for (int i = 0; i < CONVOY_MAX_DIMS; i++) count *= shape[i];
  assert_true(count <= MOST);
  assert_int_equal(convoy_tensor_read(tensor, values, count), CONVOY_OK);
  check_values(values, wanted, count);
}
