/* The fake device: a queue of commands over arrays in memory. */
#include "core/fake_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/commands.h"

fake_script fake;
fake_counts fake_seen;

/* At the end of this file. */
static cvy_backend fake_backend;
#define WITHOUT_PLANS \
  ~(CVY_COMMAND_BIT(CVY_ADOPT) | CVY_COMMAND_BIT(CVY_PREPARE) | CVY_COMMAND_BIT(CVY_PLAN_RUN))

void fake_reset(void) {
  fake_backend.commands = WITHOUT_PLANS;
  fake = (fake_script){.fail_status = CONVOY_ERR_DEVICE, .failures = 1};
  fake_seen = (fake_counts){0};
}

/* ----------------------------------------------------------------------------- algorithms */

static bool takes_stride_1(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  (void)facts;
  if (!fake.refuses_all && problem->conv.stride[2] == 1) return true;
  cvy_text_add(reason, "stride %lld is not 1", (long long)problem->conv.stride[2]);
  return false;
}

static bool takes_all(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  (void)problem;
  (void)facts;
  if (fake.refuses_all) cvy_text_add(reason, "the script says so");
  return !fake.refuses_all;
}

static int64_t tile_bytes(const cvy_problem *problem, const cvy_facts *facts,
                          const cvy_params *params) {
  (void)problem;
  (void)facts;
  return 1000 * (int64_t)params->value[0];
}

static void tile_defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  (void)problem;
  (void)facts;
  out->value[0] = 16;
  out->value[1] = 2;
}

static bool tile_valid(const cvy_params *params, const cvy_problem *problem,
                       const cvy_facts *facts) {
  (void)problem;
  (void)facts;
  return params->value[0] * params->value[1] <= 64;
}

static bool tile_pays(const cvy_problem *problem, const cvy_facts *facts) {
  (void)problem;
  (void)facts;
  return !fake.tiles_are_slow;
}

static const cvy_param tile_params[] = {{"TILE", {8, 16, 32}}, {"WORK", {1, 2, 4}}, {NULL, {0}}};

static const cvy_algorithm tiled = {.name = "fake.tiled",
                                    .operations = 7,
                                    .accepts = takes_stride_1,
                                    .workspace = tile_bytes,
                                    .params = tile_params,
                                    .defaults = tile_defaults,
                                    .valid = tile_valid,
                                    .pays = tile_pays};
static const cvy_algorithm direct = {
    .name = "fake.direct", .operations = UINT64_MAX, .accepts = takes_all, .conservative = true};
static const cvy_algorithm *const algorithms[] = {&tiled, &direct, NULL};

/* --------------------------------------------------------------------------------- device */

static fake_array *find(cvy_device *device, uint64_t id) {
  fake_array *each = device->arrays;
  while (each && each->id != id) each = each->next;
  return each;
}

static void add_array(cvy_device *device, uint64_t id, int64_t bytes) {
  fake_array *made = calloc(1, sizeof(*made));
  if (!made || find(device, id)) abort();
  float *values = malloc((size_t)bytes);
  *made = (fake_array){device->arrays, id, bytes, values, calloc(1, sizeof(int)), values};
  if (!values || !made->shares) abort();
  *made->shares = 1;
  for (int64_t i = 0; i < bytes / 4; i++) made->values[i] = NAN; /* contents are undefined */
  device->arrays = made;
  fake_seen.arrays++;
}

static void add_part(cvy_device *device, const cvy_command *c) {
  const fake_array *of = find(device, c->part_of.of);
  int64_t at = c->part_of.at, bytes = c->part_of.bytes;
  fake_array *made = calloc(1, sizeof(*made));
  if (!made || !of || at + bytes > of->bytes || at % CVY_PLACE_ALIGN) abort();
  *made = (fake_array){device->arrays,      c->part_of.array, bytes,
                       of->values + at / 4, of->shares,       of->whole};
  ++*made->shares;
  device->arrays = made;
  fake_seen.arrays++;
}

static void remove_array(cvy_device *device, uint64_t id) {
  fake_array **link = &device->arrays;
  while (*link && (*link)->id != id) link = &(*link)->next;
  fake_array *gone = *link;
  if (!gone) return;
  *link = gone->next;
  if (--*gone->shares == 0) {
    free(gone->whole);
    free(gone->shares);
  }
  free(gone);
  fake_seen.arrays--;
}

float *fake_values_of(cvy_device *device, uint64_t id) {
  fake_array *found = id ? find(device, id) : NULL;
  if (id && !found) abort(); /* core used an array that is not there */
  return found ? found->values : NULL;
}

static int32_t row_for(const cvy_problem *problem) {
  const cvy_algorithm *const *rows = cvy_backend_cpu.algorithms;
  int32_t first = -1;
  for (int32_t row = 0; rows[row]; row++) {
    if (!cvy_algorithm_does(rows[row], problem)) continue;
    if (strcmp(rows[row]->name, "cpu.direct") == 0) return row;
    if (first < 0) first = row;
  }
  return first;
}

void fake_run_job(cvy_device *device, cvy_job *host) {
  bool honest = fake.honest_calls && !device->in_plan;
  bool lies = fake.lie && !honest && (!fake.lie_rows || fake.lie_rows >> host->algorithm & 1);
  host->algorithm = row_for(&host->problem);
  memset(&host->params, 0, sizeof(host->params));
  bool writes = !lies || fake.lie != FAKE_UNWRITTEN;
  if (writes && command_run(&cvy_backend_cpu, device->cpu, host, NULL)) abort();
  if (lies) fake_lies(host);
  fake_seen.runs++;
}

static void run_job(cvy_device *device, const cvy_job *job) {
  cvy_job host = *job;
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++)
    host.in[i].host = fake_values_of(device, job->in[i].id);
  for (int32_t i = 0; i < CVY_MAX_OUTPUTS; i++)
    host.out[i].host = fake_values_of(device, job->out[i].id);
  fake_run_job(device, &host);
  if (fake.on_run) fake.on_run(job);
}

static void carry_out(cvy_device *device, const fake_command *queued) {
  const cvy_command *c = &queued->given;
  size_t bytes = (size_t)c->transfer.bytes;
  if (c->kind == CVY_ALLOCATE) add_array(device, c->allocate.array, c->allocate.bytes);
  if (c->kind == CVY_PART_OF) add_part(device, c);
  if (c->kind == CVY_WRITE) memcpy(fake_values_of(device, c->transfer.array), c->memory, bytes);
  if (c->kind == CVY_COPY)
    memcpy(fake_values_of(device, c->copy.to), fake_values_of(device, c->copy.from),
           (size_t)c->copy.bytes);
  if (c->kind == CVY_ZERO) memset(fake_values_of(device, c->zero.array), 0, (size_t)c->zero.bytes);
  if (c->kind == CVY_READ) memcpy(c->memory, fake_values_of(device, c->transfer.array), bytes);
  if (c->kind == CVY_RUN) run_job(device, &queued->job);
}

/* Whether the script wants the command that comes now to fail. */
bool fake_failing(void) {
  int64_t number = ++fake_seen.commands;
  return fake.fail_at && number >= fake.fail_at && number < fake.fail_at + fake.failures;
}

static bool too_much(const cvy_device *device, const fake_command *c) {
  int64_t bytes = c->given.kind == CVY_ALLOCATE ? c->given.allocate.bytes : 0;
  if (c->given.kind == CVY_RUN && algorithms[c->job.algorithm]->workspace) {
    bytes = tile_bytes(&c->job.problem, &device->facts, &c->job.params);
  }
  for (const fake_array *each = device->arrays; each; each = each->next)
    if (each->values == each->whole) bytes += each->bytes;
  return fake.capacity && bytes > fake.capacity;
}

static void fail_at(cvy_device *device, const fake_command *c) {
  device->fault = c->ticket;
  device->dead = fake.dies;
  fake_seen.deaths += fake.dies;
}

static void step(cvy_device *device, fake_command *c) {
  uint32_t kind = c->given.kind;
  if (kind == CVY_RELEASE) {
    remove_array(device, c->given.release.array);
  } else if (kind == CVY_PLAN_DROP) {
    fake_drop_plan(device, c->given.plan_drop.plan);
  } else if (!device->fault && !device->dead) {
    device->starved = too_much(device, c);
    device->fault_step = -1;
    if (kind == CVY_PLAN_RUN) {
      if (!fake_carry_out_plan(device, c)) fail_at(device, c);
    } else if (fake_failing() || device->starved) {
      fail_at(device, c);
    } else {
      carry_out(device, c);
    }
  }
  if (kind == CVY_WRITE) free(c->given.memory);
  free(c->bases);
  free(c->taps);
}

static void drain(cvy_device *device) {
  while (device->first) {
    fake_command *c = device->first;
    device->first = c->next;
    step(device, c);
    free(c);
  }
  device->last = NULL;
}

static convoy_status fault_status(const cvy_device *device) {
  if (device->starved) return cvy_fail(CONVOY_ERR_MEMORY, "the fake device is full");
  return cvy_fail(fake.fail_status, "the script failed command %llu",
                  (unsigned long long)device->fault);
}

static convoy_status post(cvy_device *device, const cvy_command *command, uint64_t *ticket) {
  fake_command *queued = calloc(1, sizeof(*queued));
  if (!queued) abort();
  fake_seen.budget = *device->budget;
  queued->given = *command;
  queued->ticket = ++device->tickets;
  if (command->kind == CVY_RUN) memcpy(&queued->job, command->job, cvy_job_size(command->job));
  if (command->kind == CVY_PLAN_RUN) fake_note_plan(device, queued);
  if (device->last) device->last->next = queued;
  if (!device->first) device->first = queued;
  device->last = queued;
  if (ticket) *ticket = queued->ticket;
  if (!fake.refuses_at_once) return CONVOY_OK;
  drain(device);
  return device->fault && command->kind != CVY_RELEASE ? fault_status(device) : CONVOY_OK;
}

/* ------------------------------------------------------------------------------- commands */

static convoy_status pack(cvy_device *device, uint64_t id, int32_t count, const cvy_packed *parts,
                          int64_t bytes, uint64_t *ticket) {
  char *whole = calloc(1, (size_t)bytes);
  if (!whole) abort();
  for (; count--; parts++) memcpy(whole + parts->at, parts->from, (size_t)parts->bytes);
  const cvy_command c = {CVY_WRITE, .transfer = {id, 0, bytes, 0, 0}, .memory = whole};
  return post(device, &c, ticket);
}

static convoy_status write_array(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                                 uint64_t *ticket) {
  return pack(device, id, 1, &(cvy_packed){0, bytes, from}, bytes, ticket);
}

static convoy_status read_array(cvy_device *device, uint64_t id, void *to, int64_t bytes) {
  const cvy_command c = {CVY_READ, .transfer = {id, 0, bytes, 0, 0}, .memory = to};
  post(device, &c, NULL);
  drain(device);
  if (!device->fault) return CONVOY_OK;
  memset(to, 0x55, (size_t)bytes); /* what came before it failed */
  return fault_status(device);
}

static bool fetched(const cvy_device *device, uint64_t ticket) {
  return !device->first || device->first->ticket > ticket;
}

static convoy_status collect(cvy_device *device, uint64_t ticket, void *to, int64_t bytes) {
  fetched_copy **link = &device->copies;
  while (*link && (*link)->ticket != ticket) link = &(*link)->next;
  fetched_copy *found = *link;
  if (!found) abort(); /* core asked twice */
  *link = found->next;
  drain(device);
  if (to) memcpy(to, found->values, (size_t)bytes);
  free(found->values);
  free(found);
  fake_seen.copies--;
  return to && device->fault && device->fault <= ticket ? fault_status(device) : CONVOY_OK;
}

/* What a command that failed should have brought is rubbish. */
static convoy_status fetch(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket) {
  *ticket = 0;
  if (!fake.fetches || fake_seen.copies == FAKE_COPIES) return CONVOY_OK;
  fetched_copy *made = calloc(1, sizeof(*made));
  if (!made || !(made->values = malloc((size_t)bytes))) abort();
  memset(made->values, 0x5a, (size_t)bytes);
  made->next = device->copies;
  device->copies = made;
  fake_seen.copies++;
  const cvy_command c = {CVY_READ, .transfer = {id, 0, bytes, 0, 0}, .memory = made->values};
  convoy_status status = post(device, &c, ticket);
  made->ticket = *ticket;
  if (status) collect(device, *ticket, NULL, 0); /* there is nothing to collect then */
  return status;
}

/* Compile workers call it, with a device each: only what they count is shared. */
static convoy_status build(const cvy_device *device, const cvy_job *job) {
  __atomic_fetch_add(&fake_seen.builds[job->problem.operation], 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&fake.builds_stuck, __ATOMIC_RELAXED)) usleep(1000);
  while (fake.builds_hang && !__atomic_load_n(device->interrupt, __ATOMIC_RELAXED)) usleep(1000);
  if (fake.builds_hang) return CONVOY_ERR_INTERRUPTED;
  return fake.build_status ? cvy_fail(fake.build_status, "the script fails builds") : CONVOY_OK;
}

static convoy_status begun(cvy_device *device, uint64_t ticket, const volatile int *interrupt) {
  (void)ticket;
  (void)interrupt;
  drain(device);
  return CONVOY_OK;
}

static convoy_status wait_for(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                              uint64_t *fault) {
  if (interrupt && fake.interrupts) {
    fake.interrupts = false;
    return CONVOY_ERR_INTERRUPTED;
  }
  drain(device);
  *device->budget -= fake.wait_seconds;
  if (!device->fault || device->fault > ticket) return CONVOY_OK;
  *fault = device->fault;
  return fault_status(device);
}

static convoy_status clear(cvy_device *device, cvy_reply *reply) {
  fake_seen.clears++;
  *reply = (cvy_reply){0};
  if (device->dead) return cvy_fail(CONVOY_ERR_DEVICE, "the fake device is dead");
  if (fake.empties || fake.suspensions > 0) {
    drain(device);
    while (device->arrays) remove_array(device, device->arrays->id);
    reply->emptied = true;
  }
  if (fake.suspensions > 0) {
    fake.suspensions--;
    if (!device->fault) device->fault = device->tickets + 1;
    return cvy_fail(CONVOY_ERR_DEADLINE, "the fake device is not to be had yet");
  }
  device->fault = 0;
  return CONVOY_OK;
}

static convoy_status peak(cvy_device *device, const cvy_command *command, cvy_reply *reply) {
  uint64_t fault;
  convoy_status status = post(device, command, NULL);
  if (!status) status = wait_for(device, device->tickets, NULL, &fault);
  *reply = (cvy_reply){.gflops = 100.0, .gigabytes = 50.0};
  return status;
}

static convoy_status execute(cvy_device *device, const cvy_command *command, cvy_reply *reply,
                             uint64_t *ticket) {
  if (!cvy_backend_takes(&fake_backend, command->kind)) abort();
  if (command->kind == CVY_BUILD) return build(device, command->job);
  if (command->kind == CVY_CLEAR) return clear(device, reply);
  if (command->kind == CVY_PEAK) return peak(device, command, reply);
  if (fake_plans(device, command)) return CONVOY_OK;
  return post(device, command, cvy_command_has_ticket(command->kind) ? ticket : NULL);
}

/* ------------------------------------------------------------------------ list, open, close */

static void fill_facts(int32_t index, cvy_facts *out) {
  bool gpu = index == 1 && !fake.no_gpu;
  *out = (cvy_facts){.max_work_group = 256, .workspace_limit = 1};
  out->info = (convoy_device_info){.struct_size = sizeof(out->info),
                                   .type = gpu ? CONVOY_DEVICE_GPU : CONVOY_DEVICE_CPU,
                                   .simulator = index == 0 && fake.simulator,
                                   .id = "fake:0"};
  out->info.id[5] = (char)('0' + index);
  const char *one = fake.name ? fake.name : "Fake GPU One";
  cvy_text_copy(out->info.name, sizeof(out->info.name), index ? one : "Fake|Processor");
  cvy_text_copy(out->info.driver, sizeof(out->info.driver), fake.driver ? fake.driver : "1.0");
  if (fake.bus) cvy_text_copy(out->bus, sizeof(out->bus), fake.bus);
}

static convoy_status list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count) {
  (void)options;
  fake_seen.lists++;
  if (fake.list_status) return cvy_fail(fake.list_status, "the script refuses to list");
  *count = 2 - fake.gone;
  for (int32_t i = 0; i < *count && i < capacity; i++) fill_facts(i, &out[i]);
  return CONVOY_OK;
}

static convoy_status open_device(int32_t index, const cvy_open_options *options, cvy_device **out) {
  __atomic_fetch_add(&fake_seen.opens, 1, __ATOMIC_RELAXED);
  if (fake.open_status) return cvy_fail(fake.open_status, "the script refuses to open");
  cvy_device *device = calloc(1, sizeof(*device));
  if (!device || cvy_backend_cpu.open(0, options, &device->cpu)) abort();
  fill_facts(index, &device->facts);
  device->facts.memory_limit = options->memory_limit;
  device->budget = options->budget;
  device->interrupt = options->interrupt;
  *out = device;
  return CONVOY_OK;
}

static void close_device(cvy_device *device) {
  __atomic_fetch_add(&fake_seen.closes, 1, __ATOMIC_SEQ_CST);
  drain(device);
  while (device->arrays) remove_array(device, device->arrays->id);
  fake_drop_plans(device);
  cvy_backend_cpu.close(device->cpu);
  free(device);
}

static const cvy_facts *facts(const cvy_device *device) {
  return &device->facts;
}

/* ---------------------------------------------------------------------------- the other entries */

static void *host_alloc(cvy_device *device, size_t bytes) {
  (void)device;
  if (!fake.shared_memory || fake.exhausted_hosts || bytes > 1 << 20) return NULL;
  void *memory = calloc(1, bytes);
  if (!memory) abort();
  fake_seen.host_blocks++;
  return memory;
}

static void host_free(cvy_device *device, void *memory) {
  if (device) fake_seen.budget = *device->budget;
  fake_seen.host_blocks--;
  free(memory);
}

static void usage(const cvy_device *device, cvy_usage *out) {
  *out = (cvy_usage){.workers_abandoned = fake_seen.deaths};
  if (!device) return; /* the rest does not outlive its devices */
  const int64_t compiled = __atomic_load_n(&fake.compiled, __ATOMIC_RELAXED);
  *out = (cvy_usage){.programs_compiled = 3 + compiled,
                     .programs_cached = 2,
                     .process = fake.worker_gone ? 0 : 4711,
                     .host_bytes = 10};
  for (const fake_array *each = device->arrays; each; each = each->next) out->bytes += each->bytes;
}

static cvy_backend fake_backend = {.name = "fake",
                                   .algorithms = algorithms,
                                   .commands = WITHOUT_PLANS,
                                   .list = list,
                                   .open = open_device,
                                   .close = close_device,
                                   .facts = facts,
                                   .execute = execute,
                                   .write = write_array,
                                   .pack = pack,
                                   .read = read_array,
                                   .fetch = fetch,
                                   .fetched = fetched,
                                   .collect = collect,
                                   .begun = begun,
                                   .wait = wait_for,
                                   .host_alloc = host_alloc,
                                   .host_free = host_free,
                                   .usage = usage,
                                   .plan_step = fake_plan_step};

void fake_takes_plans(void) {
  fake_backend.commands |= CVY_COMMAND_BIT(CVY_PLAN_RUN);
}

const cvy_backend *const cvy_backends[] = {&cvy_backend_cpu, &fake_backend, NULL};
