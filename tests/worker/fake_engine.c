/* An engine in ordinary memory, in place of convoy-ocl.so: the worker, the ring and the lane are
 * tested without a driver, and with every misbehaviour a driver is known for.
 *
 * FAKE_ENGINE=<what>:<n>, read when a device is opened: at its n-th command the engine does `what`.
 *   fail    the command fails later: wait reports it, as a device does
 *   refuse  the command returns an error
 *   kill, segv, abort, exit   the process ends that way
 *   hang    the command never returns
 *   traced  a process of its own making holds it, as a debugger does, until it ends
 *   stop    the process is stopped, and carries the command out once it is continued
 *   slow    from this command on, every wait takes 600 ms
 *   steps   from this command on, every wait takes 2 s and shows progress every 200 ms
 *   spin    the command uses the processor and never returns
 *   compile, wait   it compiles for ever: using the processor, or not
 *   build   it compiles for 1.5 s, using the processor
 * A program that is only to be built is a command too.
 * FAKE_ENGINE=list:0 or open:0: listing or opening never returns. FAKE_GPU: the device is a GPU.
 * FAKE_DEATHS=<list or open>:<file>: as many processes are killed there as the file has bytes left.
 * FAKE_BUILD_ID: the build it claims to be of. A job computes out[i] = 2 a[i] + b[i]. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "base/build_id.h"

enum { ARRAYS = 256, MOST_BYTES = 256 << 20 };

typedef struct array {
  uint64_t id;
  int64_t bytes;
  char *memory;
} array;

struct cvy_device {
  cvy_facts facts;
  array arrays[ARRAYS];
  int64_t bytes, peak;
  uint64_t ticket, fault;
  char action[16];
  uint64_t when, commands;
};

static _Thread_local char sentence[256];
static _Thread_local const cvy_engine_observer *observer;

static convoy_status fail(convoy_status status, const char *text, uint64_t number) {
  snprintf(sentence, sizeof sentence, "%s %llu", text, (unsigned long long)number);
  return status;
}

/* -------------------------------------------------------------------- misbehaviour */

static bool is_now(const cvy_device *device, const char *action) {
  return device->commands == device->when && strcmp(device->action, action) == 0;
}

static void spin(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end) continue;
}

static void compile(const cvy_device *device) {
  if (!is_now(device, "compile") && !is_now(device, "wait") && !is_now(device, "build")) return;
  const cvy_phase before = observer->phase(observer->user, CVY_PHASE_COMPILING);
  while (is_now(device, "compile")) spin(1);
  while (is_now(device, "wait")) pause();
  spin(1.5);
  observer->phase(observer->user, before);
}

/* The tracer ends when nobody is left to hold. */
static void be_traced(void) {
  int ready[2], status;
  char byte;
  const pid_t self = getpid();
  if (pipe(ready) != 0) return;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* where the system asks for that */
  const pid_t tracer = fork();
  if (tracer == 0) {
    if (ptrace(PTRACE_SEIZE, self, NULL, NULL) != 0) _exit(1);
    ptrace(PTRACE_INTERRUPT, self, NULL, NULL);
    close(ready[0]);
    close(ready[1]);
    while (waitpid(self, &status, __WALL) == self && !WIFSIGNALED(status)) continue;
    _exit(0);
  }
  close(ready[1]);
  if (read(ready[0], &byte, 1) < 0) return; /* returns when the tracer is there, or has failed */
  close(ready[0]);
}

static void misbehave(const cvy_device *device) {
  if (is_now(device, "kill")) raise(SIGKILL);
  if (is_now(device, "segv")) signal(SIGSEGV, SIG_DFL), raise(SIGSEGV);
  if (is_now(device, "abort")) signal(SIGABRT, SIG_DFL), abort();
  if (is_now(device, "exit")) _exit(7);
  while (is_now(device, "hang")) pause();
  if (is_now(device, "traced")) be_traced();
  if (is_now(device, "stop")) raise(SIGSTOP);
  while (is_now(device, "spin")) spin(1);
  compile(device);
}

/* Counts a command. True if it is to be carried out. */
static bool begin(cvy_device *device, uint64_t *ticket, convoy_status *status) {
  *status = CONVOY_OK;
  ++device->commands;
  ++device->ticket;
  misbehave(device);
  if (ticket && !is_now(device, "refuse")) *ticket = device->ticket;
  if (device->fault) return false;
  if (is_now(device, "fail") || is_now(device, "refuse")) device->fault = device->ticket;
  if (is_now(device, "refuse"))
    *status = fail(CONVOY_ERR_MEMORY, "fake refusal of command", device->commands);
  return !device->fault;
}

static convoy_status broken(cvy_device *device, const char *text, uint64_t id) {
  device->fault = device->ticket;
  return fail(CONVOY_ERR_DEVICE, text, id);
}

/* --------------------------------------------------------------------------- arrays */

static array *find(cvy_device *device, uint64_t id) {
  for (int i = 0; i < ARRAYS; ++i)
    if (device->arrays[i].id == id) return &device->arrays[i];
  return NULL;
}

static char *range(cvy_device *device, uint64_t id, int64_t offset, int64_t bytes) {
  array *found = id ? find(device, id) : NULL;
  if (!found || bytes > found->bytes || offset > found->bytes - bytes) return NULL;
  return found->memory + offset;
}

/* Those below are carried out unless the script says otherwise; each returns what `broken` makes of
 * a number that it does not know. */
static convoy_status allocate(cvy_device *device, const cvy_command *c) {
  uint64_t id = c->allocate.array;
  int64_t bytes = c->allocate.bytes;
  array *empty = find(device, 0);
  if (id == 0 || find(device, id) || !empty || bytes > MOST_BYTES)
    return broken(device, "cannot allocate array", id);
  *empty = (array){id, bytes, malloc((size_t)bytes)};
  memset(empty->memory, 0xff, (size_t)bytes);
  device->bytes += bytes;
  if (device->bytes > device->peak) device->peak = device->bytes;
  return CONVOY_OK;
}

static convoy_status release(cvy_device *device, const cvy_command *c) {
  array *found = c->release.array ? find(device, c->release.array) : NULL;
  if (!found) return CONVOY_OK;
  device->bytes -= found->bytes;
  free(found->memory);
  *found = (array){0};
  return CONVOY_OK;
}

static convoy_status transfer(cvy_device *device, const cvy_command *c) {
  char *there = range(device, c->transfer.array, c->transfer.at, c->transfer.bytes);
  if (!there) return broken(device, "cannot transfer array", c->transfer.array);
  bool out = c->kind == CVY_READ;
  memcpy(out ? c->memory : there, out ? there : c->memory, (size_t)c->transfer.bytes);
  return CONVOY_OK;
}

static convoy_status copy(cvy_device *device, const cvy_command *c) {
  char *source = range(device, c->copy.from, 0, c->copy.bytes);
  char *target = range(device, c->copy.to, 0, c->copy.bytes);
  if (!source || !target) return broken(device, "cannot copy array", c->copy.from);
  memmove(target, source, (size_t)c->copy.bytes);
  return CONVOY_OK;
}

static convoy_status zero(cvy_device *device, const cvy_command *c) {
  char *to = range(device, c->zero.array, 0, c->zero.bytes);
  if (!to) return broken(device, "cannot zero array", c->zero.array);
  memset(to, 0, (size_t)c->zero.bytes);
  return CONVOY_OK;
}

static convoy_status run(cvy_device *device, const cvy_command *c) {
  const cvy_job *job = c->job;
  array *out = find(device, job->out[0].id);
  if (!out) return broken(device, "no output", job->out[0].id);
  const float *a = (const float *)(void *)range(device, job->in[0].id, 0, out->bytes);
  const float *b = (const float *)(void *)range(device, job->in[1].id, 0, out->bytes);
  float *result = (float *)(void *)out->memory;
  if (!a) return broken(device, "no input", job->in[0].id);
  for (int64_t i = 0; i < out->bytes / 4; ++i) result[i] = 2 * a[i] + (b ? b[i] : 0);
  return CONVOY_OK;
}

typedef convoy_status act(cvy_device *device, const cvy_command *c);
static act *const acts[CVY_COMMANDS] = {[CVY_ALLOCATE] = allocate,
                                        [CVY_RELEASE] = release,
                                        [CVY_WRITE] = transfer,
                                        [CVY_READ] = transfer,
                                        [CVY_COPY] = copy,
                                        [CVY_ZERO] = zero,
                                        [CVY_RUN] = run};

static convoy_status build(cvy_device *device) {
  ++device->commands;
  misbehave(device);
  return is_now(device, "refuse") ? fail(CONVOY_ERR_DEVICE, "fake refusal of build", 1) : CONVOY_OK;
}

static convoy_status clear(cvy_device *device, bool empties) {
  device->fault = 0;
  for (int i = 0; i < ARRAYS && empties; ++i) {
    free(device->arrays[i].memory);
    device->arrays[i] = (array){0};
  }
  if (empties) device->bytes = 0;
  return CONVOY_OK;
}

static convoy_status execute(cvy_device *device, const cvy_command *c, cvy_reply *reply,
                             uint64_t *ticket) {
  convoy_status status;
  if (c->kind == CVY_BUILD) return build(device);
  if (c->kind == CVY_CLEAR) return clear(device, c->clear.empties);
  if (c->kind == CVY_PEAK) *reply = (cvy_reply){.gflops = 123.5, .gigabytes = 45.25};
  if (c->kind == CVY_PEAK || c->kind == CVY_PREPARE) return CONVOY_OK;
  if (!acts[c->kind]) return fail(CONVOY_ERR_UNSUPPORTED, "no fake command", c->kind);
  bool goes = begin(device, cvy_command_has_ticket(c->kind) ? ticket : NULL, &status);
  if (goes || c->kind == CVY_RELEASE) { /* that happens on a faulted device, too */
    const convoy_status carried_out = acts[c->kind](device, c);
    return status ? status : carried_out;
  }
  if (c->kind != CVY_READ || status) return status;
  return fail(CONVOY_ERR_DEVICE, "fake fault of command", device->fault);
}

static convoy_status wait_for(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                              uint64_t *fault) {
  (void)interrupt;
  if (strcmp(device->action, "slow") == 0 && device->commands >= device->when) usleep(600000);
  if (strcmp(device->action, "steps") == 0 && device->commands >= device->when)
    for (int i = 0; i < 10; ++i) {
      usleep(200000);
      observer->progress(observer->user, 0);
    }
  if (!device->fault || device->fault > ticket) return CONVOY_OK;
  if (fault) *fault = device->fault;
  return fail(CONVOY_ERR_DEVICE, "fake fault of command", device->fault);
}

/* -------------------------------------------------------------------------- devices */

static char start[sizeof((cvy_facts *)NULL)->info.platform];

static void start_in(const char *folder) {
  snprintf(start, sizeof start, "%s", folder);
}

static cvy_facts make_facts(int32_t index, const cvy_open_options *options) {
  cvy_facts facts = {.max_work_group = 64,
                     .preferred_multiple = 1,
                     .local_memory_bytes = 32768,
                     .max_allocation_bytes = MOST_BYTES,
                     .workspace_limit = options->workspace_limit};
  facts.info = (convoy_device_info){.struct_size = sizeof facts.info, .type = CONVOY_DEVICE_CPU};
  if (getenv("FAKE_GPU")) facts.info.type = CONVOY_DEVICE_GPU;
  snprintf(facts.info.id, sizeof facts.info.id, "ocl:%d", index);
  snprintf(facts.info.name, sizeof facts.info.name, "Fake device %d", index);
  strcpy(facts.info.platform, start);
  return facts;
}

/* Does not return if that is what the script says. */
static void hang_if(const char *script) {
  const char *given = getenv("FAKE_ENGINE");
  while (given && strcmp(given, script) == 0) pause();
}

/* Takes a byte off. */
static void die_if(const char *when) {
  const char *given = getenv("FAKE_DEATHS");
  const size_t length = strlen(when);
  struct stat about;
  if (!given || strncmp(given, when, length) != 0 || given[length] != ':') return;
  if (stat(given + length + 1, &about) != 0 || about.st_size == 0) return;
  if (truncate(given + length + 1, about.st_size - 1) == 0) raise(SIGKILL);
}

static convoy_status list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count) {
  hang_if("list:0");
  die_if("list");
  *count = 2;
  for (int32_t i = 0; i < 2 && i < capacity; ++i) out[i] = make_facts(i, options);
  return CONVOY_OK;
}

static convoy_status open_device(int32_t index, const cvy_open_options *options, cvy_device **out) {
  hang_if("open:0");
  die_if("open");
  if (index > 1) return fail(CONVOY_ERR_NOT_FOUND, "no fake device", (uint64_t)index);
  cvy_device *device = calloc(1, sizeof *device);
  const char *script = getenv("FAKE_ENGINE");
  unsigned long long when = 0;
  device->facts = make_facts(index, options);
  if (script && sscanf(script, "%15[a-z]:%llu", device->action, &when) == 2) device->when = when;
  *out = device;
  return CONVOY_OK;
}

static void close_device(cvy_device *device) {
  for (int i = 0; i < ARRAYS; ++i) free(device->arrays[i].memory);
  free(device);
}

static const cvy_facts *facts_of(const cvy_device *device) {
  return &device->facts;
}

static void usage(const cvy_device *device, cvy_usage *out) {
  *out = (cvy_usage){.bytes = device->bytes,
                     .bytes_peak = device->peak,
                     .bytes_held = device->peak,
                     .programs_compiled = 3,
                     .programs_cached = 4,
                     .host_bytes = 5};
}

/* --------------------------------------------------------------------------- module */

static const cvy_algorithm row = {.name = "ocl.fake", .operations = 15};
static const cvy_algorithm *const rows[] = {&row, NULL};

static const cvy_backend engine = {
    .name = "ocl",
    .algorithms = rows,
    .list = list,
    .open = open_device,
    .close = close_device,
    .facts = facts_of,
    .execute = execute,
    .wait = wait_for,
    .usage = usage,
};

static const char *last_error(void) {
  return sentence;
}

static void set_observer(const cvy_engine_observer *new) {
  observer = new;
}

static void set_log(convoy_log_fn *fn, void *user, convoy_log_level level) {
  fn(user, level, "fake engine loaded");
}

/* What a thread has of it is how often it was visited and not left. */
static _Thread_local int visits;

static void visit(cvy_visit *out) {
  out->before[0].number = visits++;
}

static void leave(const cvy_visit *visit) {
  visits = visit->before[0].number;
}

__attribute__((visibility("default"))) const cvy_module *cvy_module_entry(void);

const cvy_module *cvy_module_entry(void) {
  static cvy_module module = {cvy_build_id, &engine,  last_error, set_log,
                              set_observer, start_in, visit,      leave};
  const char *build_id = getenv("FAKE_BUILD_ID");
  module.build_id = build_id ? build_id : cvy_build_id;
  return &module;
}
