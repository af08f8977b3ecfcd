/* Public functions on the library, devices and contexts: check pointers, call core. The header is
 * their manual; operations are in api_conv.c, tensors in api_tensor.c. */
#include "api_check.h"
#include "core/build_info.h"
#include "core/contents.h"
#include "core/context.h"
#include "core/devices.h"
#include "core/faults/fault_file.h"
#include "core/operation.h"
#include "core/tune/precompile.h"
#include "core/tune/tune.h"
#include "problem/conv/conv.h"

/* ------------------------------------------------------------------------- status and log */

const char *convoy_status_name(convoy_status status) {
  return cvy_status_name(status);
}

const char *convoy_last_error(void) {
  return cvy_last_error();
}

void convoy_set_log(convoy_log_fn *fn, void *user, convoy_log_level level) {
  cvy_set_log(fn, user, level);
}

const char *convoy_version(void) {
  return cvy_version();
}

const char *convoy_build_info(void) {
  return cvy_build_info();
}

/* -------------------------------------------------------------------------------- devices */

convoy_status convoy_devices(const convoy_options *options, convoy_device_info *out,
                             int32_t capacity, int32_t *count, char *why, size_t why_size) {
  if (!count) return cvy_fail(CONVOY_ERR_ARGUMENT, "count is NULL");
  if (capacity < 0) return cvy_fail(CONVOY_ERR_ARGUMENT, "capacity is %d", (int)capacity);
  convoy_status status = cvy_check_struct("out", out, sizeof(*out), capacity == 0);
  cvy_options resolved;
  if (!status) status = cvy_stack_check("convoy_devices");
  if (!status) status = cvy_options_resolve(options, &resolved);
  if (status) return status;
  double budget = resolved.wait_budget;
  resolved.open.budget = &budget;
  cvy_survey seen;
  cvy_devices(&resolved, &seen);
  *count = seen.count;
  if (why) cvy_devices_missing(&seen, why, why_size);
  uint32_t size = capacity ? out->struct_size : 0;
  for (int32_t i = 0; i < seen.count && i < capacity; i++) {
    const convoy_device_info *info = &seen.facts[i].info;
    convoy_device_info *to = (convoy_device_info *)((char *)out + (size_t)i * size);
    to->struct_size = size;
    cvy_struct_out(to, info, sizeof(*info), sizeof(*info));
  }
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------- context */

convoy_status convoy_open(const convoy_options *options, convoy_context **out) {
  if (!out) return cvy_fail(CONVOY_ERR_ARGUMENT, "out is NULL");
  convoy_status status = cvy_stack_check("convoy_open");
  return status ? status : cvy_open(options, out);
}

void convoy_close(convoy_context *context) {
  if (context) cvy_close(context);
}

convoy_status convoy_context_device(convoy_context *context, convoy_device_info *out) {
  convoy_status status = cvy_check_struct("out", out, sizeof(*out), false);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  const convoy_device_info *info = &cvy_context_engine(context)->facts.info;
  cvy_struct_out(out, info, sizeof(*info), sizeof(*info));
  return cvy_leave(context, CONVOY_OK);
}

convoy_status convoy_context_describe(convoy_context *context, char *text, size_t size) {
  if (!text) return cvy_fail(CONVOY_ERR_ARGUMENT, "text is NULL");
  convoy_status status = cvy_enter(context);
  if (status) return status;
  cvy_context_describe(context, text, size);
  return cvy_leave(context, CONVOY_OK);
}

convoy_status convoy_sync(convoy_context *context) {
  convoy_status status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_sync(context));
}

void convoy_interrupt(convoy_context *context) {
  if (context) __atomic_store_n(&context->interrupt, 1, __ATOMIC_RELAXED);
}

convoy_status convoy_host_alloc(convoy_context *context, size_t bytes, void **out) {
  if (!out) return cvy_fail(CONVOY_ERR_ARGUMENT, "out is NULL");
  convoy_status status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_host_alloc(context, bytes, out));
}

void convoy_host_free(convoy_context *context, void *memory) {
  if (!context || !memory) return;
  cvy_lock(context); /* legal after closing */
  bool found = cvy_host_free(context, memory);
  cvy_unlock(context);
  if (found)
    cvy_pool_drop(context);
  else
    cvy_log(CONVOY_LOG_ERROR, "convoy_host_free: %p was not allocated from this context", memory);
}

/* ----------------------------------------------------------------------------- algorithms */

const char *convoy_algorithm_name(convoy_context *context, int32_t index) {
  if (cvy_enter(context)) return NULL;
  const cvy_engine *engine = cvy_context_engine(context);
  const cvy_algorithm *const *row = engine->backend->algorithms;
  const char *name = NULL;
  for (int32_t at = 0; *row && !name; row++) {
    if (cvy_algorithm_serves(*row, &engine->facts) && at++ == index) name = (*row)->name;
  }
  cvy_leave(context, CONVOY_OK);
  return name;
}

convoy_status convoy_set_algorithm(convoy_context *context, const char *name) {
  convoy_status status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, cvy_force_algorithm(context, name ? name : ""));
}

static convoy_status make_problem(const convoy_conv *conv, convoy_direction direction,
                                  const int64_t *x_shape, const int64_t *w_shape,
                                  cvy_problem *problem) {
  const cvy_pointer given[] = {{"conv", conv}, {"x_shape", x_shape}, {"w_shape", w_shape}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (status) return status;
  return cvy_conv_make(conv, direction, x_shape, w_shape, 0.0f, false, NULL, problem);
}

convoy_status convoy_plan_problem(convoy_context *context, const char *name,
                                  const convoy_conv *conv, convoy_direction direction,
                                  const int64_t *x_shape, const int64_t *w_shape,
                                  convoy_plan *out) {
  cvy_problem problem;
  convoy_status status = make_problem(conv, direction, x_shape, w_shape, &problem);
  if (!status) status = cvy_check_struct("out", out, sizeof(*out), false);
  if (!status) status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_plan_problem(context, name, &problem, out));
}

convoy_status convoy_prepare(convoy_context *context, const convoy_conv *conv,
                             convoy_direction direction, const int64_t *x_shape,
                             const int64_t *w_shape) {
  cvy_problem problem;
  convoy_status status = make_problem(conv, direction, x_shape, w_shape, &problem);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  cvy_precompile_problem(context, &problem);
  return cvy_leave(context, CONVOY_OK);
}

convoy_status convoy_tune(convoy_context *context, const convoy_conv *conv,
                          convoy_direction direction, const int64_t *x_shape,
                          const int64_t *w_shape, double seconds, convoy_tuned *out) {
  cvy_problem problem;
  convoy_status status = make_problem(conv, direction, x_shape, w_shape, &problem);
  if (!status) status = cvy_check_struct("out", out, sizeof(*out), false);
  if (!status) status = cvy_enter(context);
  return status ? status : cvy_leave(context, cvy_tune(context, &problem, seconds, out));
}

/* ---------------------------------------------------------------- health, events, measuring */

convoy_status convoy_get_health(convoy_context *context, convoy_health *out) {
  convoy_status status = cvy_check_struct("out", out, CVY_FIRST_HEALTH, false);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  convoy_health health;
  cvy_health_collect(context, &health);
  cvy_struct_out(out, &health, sizeof(health), CVY_FIRST_HEALTH);
  return cvy_leave(context, CONVOY_OK);
}

convoy_status convoy_mark_step(convoy_context *context, int64_t step) {
  convoy_status status = cvy_enter(context);
  if (status) return status;
  context->step = step;
  return cvy_leave(context, CONVOY_OK);
}

convoy_status convoy_set_event_callback(convoy_context *context, convoy_event_fn *fn, void *user) {
  convoy_status status = cvy_enter(context);
  if (status) return status;
  context->event_fn = fn;
  context->event_user = user;
  return cvy_leave(context, CONVOY_OK);
}

convoy_status convoy_fault_table(const char *device, char *text, size_t size) {
  if (!text) return cvy_fail(CONVOY_ERR_ARGUMENT, "text is NULL");
  if (!size) return cvy_fail(CONVOY_ERR_ARGUMENT, "size is 0");
  return cvy_fault_table_text(device, text, size);
}

convoy_status convoy_fault_table_clear(const char *device) {
  return cvy_fault_table_clear(device);
}

convoy_status convoy_measure_peak(convoy_context *context, double *gflops,
                                  double *gigabytes_per_second) {
  convoy_status status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, cvy_measure_peak(context, gflops, gigabytes_per_second));
}
