/* The CPU engine as a backend: it has one device, works on host memory, and a job is done on
 * return. */
#include <stdlib.h>
#include <string.h>

#include "base/build_config.h"
#include "cpu/host.h"
#include "cpu/peak.h"
#include "cpu/row.h"
#include "cpu/threads/choice.h"
#include "cpu/threads/denormals.h"
#include "cpu/threads/limits.h"
#if CONVOY_HAVE_OPENBLAS
#include "cpu/blas/gemm.h"
#endif

#define ALIGNMENT 4096
/* Parts of loops and BLAS calls take milliseconds, on overloaded machines seconds. */
#define STALL_SECONDS 60
#define LONGEST_STALL 86400

struct cvy_device {
  cvy_facts facts;
  cvy_threads *threads;
  cvy_watchdog *watchdog; /* NULL with CONVOY_CPU_STALL=0 */
  const cvy_simd *simd;
  void *workspace; /* grows to the largest need and is kept: nothing is allocated per step */
  int64_t workspace_bytes;
};

/* ------------------------------------------------------------------------------------ facts */

static void fill_facts(const cvy_open_options *options, int32_t threads, cvy_facts *out) {
  int64_t memory = cvy_host_memory();
  *out = (cvy_facts){.max_work_group = 1,
                     .preferred_multiple = 1,
                     .max_allocation_bytes = memory,
                     .workspace_limit = options->workspace_limit};
  convoy_device_info *info = &out->info;
  info->struct_size = sizeof *info;
  info->type = CONVOY_DEVICE_CPU_ENGINE;
  info->compute_units = threads;
  info->clock_mhz = cvy_host_mhz();
  info->memory_bytes = memory;
  info->max_allocation_bytes = memory;
  cvy_text_copy(info->id, sizeof info->id, "cpu");
  cvy_host_name(info->name, sizeof info->name);
  cvy_text_copy(info->platform, sizeof info->platform, cvy_simd_best()->name);
#if CONVOY_HAVE_OPENBLAS
  cvy_text_copy(info->driver, sizeof info->driver, cvy_gemm_config());
#else
  cvy_text_copy(info->driver, sizeof info->driver, "built without BLAS");
#endif
}

static convoy_status list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count) {
  int32_t threads = options->threads > 0 ? options->threads : cvy_cpu_allowed();
  *count = 1;
  if (capacity > 0) fill_facts(options, threads < CVY_MAX_THREADS ? threads : CVY_MAX_THREADS, out);
  return CONVOY_OK;
}

static const cvy_facts *facts(const cvy_device *device) {
  return &device->facts;
}

/* ----------------------------------------------------------------------------- open and close */

static void close_device(cvy_device *device) {
  if (!device) return;
  cvy_threads_close(device->threads);
  cvy_watchdog_close(device->watchdog);
  free(device->workspace);
  free(device);
}

static convoy_status open_watchdog(cvy_device *device) {
  double seconds = STALL_SECONDS;
  if (!cvy_env_seconds("CONVOY_CPU_STALL", LONGEST_STALL, &seconds)) return CONVOY_ERR_ARGUMENT;
  if (seconds == 0) return CONVOY_OK;
  convoy_status status =
      cvy_watchdog_open(cvy_threads_count(device->threads), seconds, &device->watchdog);
  if (status == CONVOY_OK) cvy_threads_set_watchdog(device->threads, device->watchdog);
  return status;
}

static convoy_status open_device(int32_t index, const cvy_open_options *options, cvy_device **out) {
  if (index != 0)
    return cvy_fail(CONVOY_ERR_NOT_FOUND, "cpu: there is no device %d, only 0", (int)index);
  cvy_device *device = calloc(1, sizeof *device);
  if (!device) return cvy_fail(CONVOY_ERR_MEMORY, "cpu: no memory for a device");
  convoy_status status = cvy_threads_open(options->threads, &device->threads);
  if (status == CONVOY_OK) cvy_threads_lend(device->threads, options->team);
  if (status == CONVOY_OK) status = open_watchdog(device);
  if (status) {
    close_device(device);
    return status;
  }
  device->simd = cvy_simd_best();
  fill_facts(options, cvy_threads_count(device->threads), &device->facts);
  *out = device;
  return CONVOY_OK;
}

/* -------------------------------------------------------------------------------------- jobs */

static convoy_status reserve(cvy_device *device, int64_t bytes) {
  if (bytes <= device->workspace_bytes) return CONVOY_OK;
  void *memory = NULL;
  if (posix_memalign(&memory, ALIGNMENT, (size_t)bytes) != 0)
    return cvy_fail(CONVOY_ERR_MEMORY, "cpu: no %lld bytes of workspace", (long long)bytes);
  free(device->workspace);
  device->workspace = memory;
  device->workspace_bytes = bytes;
  return CONVOY_OK;
}

static void run_empty(const cvy_job *job) {
  for (int32_t i = 0; i < cvy_problem_outputs(&job->problem); i++) {
    if (cvy_problem_zeroes(&job->problem, i))
      memset(job->out[i].host, 0, (size_t)cvy_problem_output_bytes(&job->problem, i));
  }
}

static cvy_cpu_call call_of(const cvy_device *device, const cvy_job *job) {
  cvy_cpu_call call = {.problem = &job->problem,
                       .params = &job->params,
                       .facts = &device->facts,
                       .threads = device->threads,
                       .simd = device->simd,
                       .workspace = device->workspace};
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++) call.in[i] = job->in[i].host;
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS; i++) call.out[i] = job->out[i].host;
  return call;
}

static convoy_status run(cvy_device *device, const cvy_job *job) {
  const cvy_cpu_row *row = (const cvy_cpu_row *)cvy_cpu_algorithms[job->algorithm];
  const cvy_algorithm *algorithm = &row->algorithm;
  if (cvy_problem_empty(&job->problem)) {
    run_empty(job);
    return CONVOY_OK;
  }
  int64_t bytes =
      algorithm->workspace ? algorithm->workspace(&job->problem, &device->facts, &job->params) : 0;
  convoy_status status = reserve(device, bytes);
  if (status) return status;
  cvy_watchdog_begin(device->watchdog, &job->problem, algorithm->name);
  cvy_cpu_call call = call_of(device, job);
  uint64_t mode = cvy_denormals_flush();
  row->run(&call);
  cvy_denormals_restore(mode);
  cvy_watchdog_end(device->watchdog);
  return CONVOY_OK;
}

static void usage(const cvy_device *device, cvy_usage *out) {
  *out = (cvy_usage){.host_bytes = device->workspace_bytes,
                     .stalls = cvy_watchdog_stalls(device->watchdog)};
}

static convoy_status peak(cvy_device *device, cvy_reply *reply) {
  reply->gflops = cvy_peak_gflops(device->threads, device->simd);
  return cvy_peak_copy(device->threads, &reply->gigabytes);
}

static convoy_status execute(cvy_device *device, const cvy_command *command, cvy_reply *reply,
                             uint64_t *ticket) {
  (void)ticket;
  if (command->kind == CVY_RUN) return run(device, command->job);
  if (command->kind == CVY_PEAK) return peak(device, reply);
  return cvy_fail(CONVOY_ERR_UNSUPPORTED, "cpu: no command %u", command->kind);
}

typedef struct shared_loop {
  cvy_range_task *task;
  void *arg;
} shared_loop;

static void do_part(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const shared_loop *loop = arg;
  (void)slot;
  loop->task(loop->arg, begin, end);
}

static void share(cvy_device *device, int64_t count, cvy_range_task *task, void *arg) {
  shared_loop loop = {task, arg};
  cvy_parallel_items(device->threads, count, do_part, &loop);
}

static void describe(int32_t wanted, cvy_text *words) {
  cvy_team_name(wanted, words);
#if CONVOY_HAVE_OPENBLAS
  cvy_text_add(words, "; ");
  cvy_gemm_describe(wanted > 0 ? wanted : cvy_cpu_allowed(), cvy_simd_best()->microkernel.width,
                    words);
#endif
}

const cvy_backend cvy_backend_cpu = {
    .name = "cpu",
    .host_memory = true,
    .algorithms = cvy_cpu_algorithms,
    .commands = CVY_COMMAND_BIT(CVY_RUN) | CVY_COMMAND_BIT(CVY_PEAK),
    .check = cvy_simd_check,
    .list = list,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .execute = execute,
    .usage = usage,
    .share = share,
    .team = describe,
};
