/* Programs compiled against an older header must keep working: fields never move, constants never
 * change. New fields go to the end of a struct and to the end of this table. */
#include "common/cmocka.h"
#include "convoy/convoy.h"

typedef struct place {
  const char *field;
  size_t offset, frozen;
} place;

#define PLACE(type, field, frozen) \
  { #type "." #field, offsetof(type, field), frozen }

static const place places[] = {
    PLACE(convoy_options, struct_size, 0),
    PLACE(convoy_options, isolation, 4),
    PLACE(convoy_options, failover, 8),
    PLACE(convoy_options, tune, 12),
    PLACE(convoy_options, threads, 16),
    PLACE(convoy_options, reserved, 20),
    PLACE(convoy_options, workspace_limit, 24),
    PLACE(convoy_options, device, 32),
    PLACE(convoy_options, algorithm, 40),
    PLACE(convoy_options, device_wait_budget, 48),
    PLACE(convoy_options, history_limit, 56),
    PLACE(convoy_options, verify, 64),
    PLACE(convoy_options, nan_watch, 68),
    PLACE(convoy_options, winograd, 72),
    PLACE(convoy_options, reserved2, 76),
    PLACE(convoy_options, team, 80),
    PLACE(convoy_options, require_device, 88),
    PLACE(convoy_options, reserved3, 92),
    PLACE(convoy_options, memory_limit, 96),
    PLACE(convoy_device_info, struct_size, 0),
    PLACE(convoy_device_info, type, 4),
    PLACE(convoy_device_info, simulator, 8),
    PLACE(convoy_device_info, compute_units, 12),
    PLACE(convoy_device_info, clock_mhz, 16),
    PLACE(convoy_device_info, reserved, 20),
    PLACE(convoy_device_info, memory_bytes, 24),
    PLACE(convoy_device_info, max_allocation_bytes, 32),
    PLACE(convoy_device_info, local_memory_bytes, 40),
    PLACE(convoy_device_info, id, 48),
    PLACE(convoy_device_info, name, 64),
    PLACE(convoy_device_info, platform, 192),
    PLACE(convoy_device_info, driver, 320),
    PLACE(convoy_conv, struct_size, 0),
    PLACE(convoy_conv, rank, 4),
    PLACE(convoy_conv, dtype, 8),
    PLACE(convoy_conv, transposed, 12),
    PLACE(convoy_conv, groups, 16),
    PLACE(convoy_conv, stride, 24),
    PLACE(convoy_conv, pad_begin, 48),
    PLACE(convoy_conv, pad_end, 72),
    PLACE(convoy_conv, dilation, 96),
    PLACE(convoy_conv, output_padding, 120),
    PLACE(convoy_epilogue, struct_size, 0),
    PLACE(convoy_epilogue, activation, 4),
    PLACE(convoy_epilogue, slope, 8),
    PLACE(convoy_epilogue, reserved, 12),
    PLACE(convoy_window, struct_size, 0),
    PLACE(convoy_window, rank, 4),
    PLACE(convoy_window, count_padding, 8),
    PLACE(convoy_window, ceil_mode, 12),
    PLACE(convoy_window, extent, 16),
    PLACE(convoy_window, stride, 40),
    PLACE(convoy_window, pad_begin, 64),
    PLACE(convoy_window, pad_end, 88),
    PLACE(convoy_window, dilation, 112),
    PLACE(convoy_run, struct_size, 0),
    PLACE(convoy_run, attempts, 4),
    PLACE(convoy_run, first_fault, 8),
    PLACE(convoy_run, reserved, 12),
    PLACE(convoy_run, milliseconds, 16),
    PLACE(convoy_run, workspace_bytes, 24),
    PLACE(convoy_run, device, 32),
    PLACE(convoy_run, algorithm, 48),
    PLACE(convoy_run, parameters, 80),
    PLACE(convoy_run, fault, 208),
    PLACE(convoy_plan, struct_size, 0),
    PLACE(convoy_plan, accepted, 4),
    PLACE(convoy_plan, workspace_bytes, 8),
    PLACE(convoy_plan, algorithm, 16),
    PLACE(convoy_plan, parameters, 48),
    PLACE(convoy_plan, reason, 176),
    PLACE(convoy_plan, error_growth, 368),
    PLACE(convoy_plan, error_reach, 376),
    PLACE(convoy_graph_plan, struct_size, 0),
    PLACE(convoy_graph_plan, captured, 4),
    PLACE(convoy_graph_plan, operations, 8),
    PLACE(convoy_graph_plan, reserved, 12),
    PLACE(convoy_graph_plan, flops, 16),
    PLACE(convoy_graph_plan, bytes, 24),
    PLACE(convoy_graph_plan, read_bytes, 32),
    PLACE(convoy_graph_plan, written_bytes, 40),
    PLACE(convoy_graph_plan, internal_bytes, 48),
    PLACE(convoy_health, struct_size, 0),
    PLACE(convoy_health, worker_pid, 4),
    PLACE(convoy_health, operations, 8),
    PLACE(convoy_health, device_operations, 16),
    PLACE(convoy_health, faults, 24),
    PLACE(convoy_health, failovers, 32),
    PLACE(convoy_health, downgrades, 40),
    PLACE(convoy_health, device_bytes, 48),
    PLACE(convoy_health, device_bytes_peak, 56),
    PLACE(convoy_health, device_bytes_held, 64),
    PLACE(convoy_health, host_bytes, 72),
    PLACE(convoy_health, programs_compiled, 80),
    PLACE(convoy_health, programs_cached, 88),
    PLACE(convoy_health, workers_abandoned, 96),
    PLACE(convoy_health, deadlines_missed, 104),
    PLACE(convoy_health, wrong_results, 112),
    PLACE(convoy_health, verified, 120),
    PLACE(convoy_health, verify_nanoseconds, 128),
    PLACE(convoy_health, history_bytes, 136),
    PLACE(convoy_health, retired_bytes, 144),
    PLACE(convoy_health, cpu_stalls, 152),
    PLACE(convoy_health, fallback_seconds, 160),
    PLACE(convoy_event, struct_size, 0),
    PLACE(convoy_event, kind, 4),
    PLACE(convoy_event, status, 8),
    PLACE(convoy_event, reserved, 12),
    PLACE(convoy_event, device, 16),
    PLACE(convoy_event, algorithm, 32),
    PLACE(convoy_event, message, 64),
    PLACE(convoy_tuned, struct_size, 0),
    PLACE(convoy_tuned, tried, 4),
    PLACE(convoy_tuned, failed, 8),
    PLACE(convoy_tuned, kept, 12),
    PLACE(convoy_tuned, untuned_ms, 16),
    PLACE(convoy_tuned, milliseconds, 24),
    PLACE(convoy_tuned, algorithm, 32),
    PLACE(convoy_tuned, parameters, 64),
    PLACE(convoy_tuned, reason, 192),
};

/* Sizes may grow only. */
static const struct {
  const char *type;
  size_t size, least;
} sizes[] = {
    {"convoy_options", sizeof(convoy_options), 48},
    {"convoy_device_info", sizeof(convoy_device_info), 448},
    {"convoy_conv", sizeof(convoy_conv), 144},
    {"convoy_epilogue", sizeof(convoy_epilogue), 16},
    {"convoy_window", sizeof(convoy_window), 136},
    {"convoy_run", sizeof(convoy_run), 464},
    {"convoy_plan", sizeof(convoy_plan), 368},
    {"convoy_graph_plan", sizeof(convoy_graph_plan), 56},
    {"convoy_tuned", sizeof(convoy_tuned), 384},
    {"convoy_health", sizeof(convoy_health), 104},
    {"convoy_event", sizeof(convoy_event), 320},
};

#define CONSTANT(name, frozen) \
  { #name, name, frozen }

static const struct {
  const char *name;
  int value, frozen;
} constants[] = {
    CONSTANT(CONVOY_OK, 0),
    CONSTANT(CONVOY_ERR_ARGUMENT, 1),
    CONSTANT(CONVOY_ERR_SHAPE, 2),
    CONSTANT(CONVOY_ERR_MEMORY, 3),
    CONSTANT(CONVOY_ERR_DEVICE, 4),
    CONSTANT(CONVOY_ERR_UNSUPPORTED, 5),
    CONSTANT(CONVOY_ERR_IO, 6),
    CONSTANT(CONVOY_ERR_NOT_FOUND, 7),
    CONSTANT(CONVOY_ERR_INTERRUPTED, 8),
    CONSTANT(CONVOY_ERR_DEADLINE, 9),
    CONSTANT(CONVOY_ERR_WRONG, 10),
    CONSTANT(CONVOY_LOG_OFF, 0),
    CONSTANT(CONVOY_LOG_ERROR, 1),
    CONSTANT(CONVOY_LOG_WARNING, 2),
    CONSTANT(CONVOY_LOG_INFO, 3),
    CONSTANT(CONVOY_LOG_DEBUG, 4),
    CONSTANT(CONVOY_DEFAULT, 0),
    CONSTANT(CONVOY_ON, 1),
    CONSTANT(CONVOY_NO, 2),
    CONSTANT(CONVOY_VERIFY_DEFAULT, 0),
    CONSTANT(CONVOY_VERIFY_SAMPLE, 1),
    CONSTANT(CONVOY_VERIFY_ALL, 2),
    CONSTANT(CONVOY_VERIFY_OFF, 3),
    CONSTANT(CONVOY_ISOLATION_DEFAULT, 0),
    CONSTANT(CONVOY_ISOLATION_PROCESS, 1),
    CONSTANT(CONVOY_ISOLATION_NONE, 2),
    CONSTANT(CONVOY_DEVICE_CPU_ENGINE, 0),
    CONSTANT(CONVOY_DEVICE_GPU, 1),
    CONSTANT(CONVOY_DEVICE_CPU, 2),
    CONSTANT(CONVOY_DEVICE_ACCELERATOR, 3),
    CONSTANT(CONVOY_FLOAT32, 0),
    CONSTANT(CONVOY_INT32, 1),
    CONSTANT(CONVOY_UINT8, 2),
    CONSTANT(CONVOY_FORWARD, 0),
    CONSTANT(CONVOY_BACKWARD_DATA, 1),
    CONSTANT(CONVOY_BACKWARD_WEIGHTS, 2),
    CONSTANT(CONVOY_BACKWARD_BIAS, 3),
    CONSTANT(CONVOY_IDENTITY, 0),
    CONSTANT(CONVOY_RELU, 1),
    CONSTANT(CONVOY_LEAKY_RELU, 2),
    CONSTANT(CONVOY_EVENT_DOWNGRADE, 0),
    CONSTANT(CONVOY_EVENT_FAULT, 1),
    CONSTANT(CONVOY_EVENT_FAILOVER, 2),
    CONSTANT(CONVOY_EVENT_NONFINITE, 3),
    CONSTANT(CONVOY_MAX_RANK, 3),
    CONSTANT(CONVOY_MAX_DIMS, 5),
    CONSTANT(CONVOY_DIRECTIONS, 4),
    CONSTANT(CONVOY_DTYPES, 3),
    CONSTANT(CONVOY_PROBLEM_TEXT, 384),
    CONSTANT(CONVOY_PROGRAM_TEXT, 16384),
};

static void fields_stay_where_they_are(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    if (places[i].offset != places[i].frozen)
      fail_msg("%s moved from %zu to %zu", places[i].field, places[i].frozen, places[i].offset);
}

static void structs_do_not_shrink(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    if (sizes[i].size < sizes[i].least)
      fail_msg("%s shrank from %zu to %zu", sizes[i].type, sizes[i].least, sizes[i].size);
}

static void constants_keep_their_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
    if (constants[i].value != constants[i].frozen)
      fail_msg("%s is %d, it was %d", constants[i].name, constants[i].value, constants[i].frozen);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_stay_where_they_are),
      cmocka_unit_test(structs_do_not_shrink),
      cmocka_unit_test(constants_keep_their_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
