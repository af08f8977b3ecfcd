/* Any bytes as what a worker writes into shared memory: the lane never believes it blindly, ends
 * every call, and what it hands on is in range.
 *
 * The input is the greeting's answer and a list of writes, two bytes for the place and eight for
 * the value; one is carried out each time the lane looks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "fake_os.h"
#include "worker/abandoned.h"
#include "worker/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

const char cvy_build_id[] = "fuzz";
const cvy_algorithm *const cvy_ocl_algorithms[] = {NULL};

static const uint8_t *input;
static size_t input_left;
static cvy_wire *wire;

/* ---------------------------------------------------------------------------- the worker */

enum { WRITE_BYTES = 10, MOST_LOOKS = 20 };
static int looks_left;

/* Somewhere in what the worker writes, most often among the counters, which come first. */
static size_t place_of(uint16_t number) {
  const size_t begin = offsetof(cvy_wire, progress), end = offsetof(cvy_wire, slots);
  const size_t counters = offsetof(cvy_wire, fault_sentence) - begin;
  const size_t room = (number & 3) ? counters : end - begin;
  const size_t at = begin + (number >> 2) % room / 4 * 4;
  return at + 8 <= end ? at : end - 8;
}

static void act(void) {
  uint16_t number;
  if (!wire || input_left < WRITE_BYTES) return;
  memcpy(&number, input, sizeof number);
  memcpy((char *)wire + place_of(number), input + 2, 8);
  input += WRITE_BYTES;
  input_left -= WRITE_BYTES;
}

convoy_status cvy_peer_start(int32_t isolation, int *socket, cvy_peer *out) {
  (void)isolation;
  (void)socket;
  *out = (cvy_peer){.process = {2, -1}};
  return CONVOY_OK;
}

/* Shows the wire before anything is waited for. */
/* It is a process. */
void cvy_peer_answer(cvy_peer *peer) {
  (void)peer;
}
void cvy_peer_step(cvy_peer *peer, const volatile int *interrupt) {
  (void)peer;
  (void)interrupt;
}

bool cvy_peer_gone(cvy_peer *peer, cvy_wire *shared, double seconds, char *how, size_t size) {
  (void)peer;
  (void)seconds;
  wire = shared;
  cvy_text_copy(how, size, "it left");
  return atomic_load(&shared->ended) == 7;
}

bool cvy_peer_end(cvy_peer *peer, cvy_wire *shared, double seconds, double *budget) {
  (void)budget;
  (void)peer;
  (void)shared;
  (void)seconds;
  wire = NULL;
  return true;
}

void cvy_abandon(const cvy_peer *peer, const cvy_shared *ring, int64_t bytes) {
  (void)peer;
  (void)ring;
  (void)bytes;
}

void cvy_abandoned_count(int64_t *workers, int64_t *bytes) {
  *workers = *bytes = 0;
}

/* ------------------------------------------------------------------------------ looks_left */

void cvy_progress_timeout_begin(cvy_progress_timeout *out, const cvy_progress *now) {
  (void)out;
  (void)now;
  looks_left = MOST_LOOKS;
}

convoy_status cvy_progress_timeout_check(cvy_progress_timeout *of, const cvy_progress *now) {
  (void)of;
  if (now->phase < CVY_PHASE_IDLE || now->phase >= CVY_PHASES) abort();
  return --looks_left > 0 ? CONVOY_OK : cvy_fail(CONVOY_ERR_DEADLINE, "it takes too long");
}

void cvy_progress_timeout_end(cvy_progress_timeout *of) {
  (void)of;
}

static double stopped_clock(void) {
  return 1;
}

cvy_os_seam cvy_os = {.clock = stopped_clock, .clock_with_sleep = stopped_clock};

double cvy_clock(void) {
  return 1;
}

/* --------------------------------------------------------------------------------- calls */

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s (%s)\n", what, cvy_last_error());
  abort();
}

static void check(convoy_status status) {
  require(status >= CONVOY_OK && status <= CONVOY_ERR_WRONG, "a status that is none");
  require(strlen(cvy_last_error()) < 512, "a sentence without an end");
}

static void check_facts(const cvy_facts *facts) {
  const convoy_device_info *info = &facts->info;
  require(memchr(info->name, 0, sizeof info->name) && memchr(info->id, 0, sizeof info->id) &&
              memchr(info->driver, 0, sizeof info->driver) &&
              memchr(info->platform, 0, sizeof info->platform),
          "a text without an end");
  require(facts->max_work_group >= 1 && facts->local_memory_bytes >= 0, "impossible facts");
}

static void list(const cvy_open_options *options) {
  cvy_facts facts[CVY_WIRE_DEVICES];
  int32_t count = 0;
  check(cvy_backend_ocl.list(options, facts, CVY_WIRE_DEVICES, &count));
  require(count >= 0 && count <= CVY_WIRE_DEVICES, "an impossible number of devices");
  for (int32_t i = 0; i < count; i++) check_facts(&facts[i]);
}

/* Memory that the worker fills, or says it has filled: nothing on this side looks at it. */
static void read_shared(cvy_device *device) {
  const cvy_backend *lane = &cvy_backend_ocl;
  const int64_t bytes = 1 << 20;
  void *memory = lane->host_alloc(device, (size_t)bytes);
  if (memory) check(lane->read(device, 1, memory, bytes));
  lane->host_free(device, memory);
}

static convoy_status give(cvy_device *device, cvy_command command, uint64_t *ticket) {
  return cvy_backend_ocl.execute(device, &command, NULL, ticket);
}

static void use(cvy_device *device) {
  const cvy_backend *lane = &cvy_backend_ocl;
  const cvy_job job = {.in[0].id = 1, .out[0].id = 1};
  float values[25] = {0};
  uint64_t ticket = 0, fault = 0;
  cvy_usage usage;
  cvy_reply reply;
  const cvy_command run = {CVY_RUN, .job = &job};
  check_facts(lane->facts(device));
  check(give(device, (cvy_command){CVY_ALLOCATE, .allocate = {1, sizeof values}}, &ticket));
  check(lane->write(device, 1, values, sizeof values, &ticket));
  check(give(device, run, &ticket));
  check(lane->wait(device, ticket, NULL, &fault));
  check(lane->read(device, 1, values, sizeof values));
  check(lane->fetch(device, 1, sizeof values, &ticket));
  lane->fetched(device, ticket);
  read_shared(device);
  check(lane->collect(device, ticket, values, sizeof values));
  lane->usage(device, &usage);
  check(lane->execute(device, &(cvy_command){.kind = CVY_PEAK}, &reply, NULL));
  check(lane->execute(device, &(cvy_command){CVY_RECORDING, .job = &job}, &reply, NULL));
  require(reply.recording >= 0 && reply.recording < CVY_RECORDINGS, "a recording that is none");
  check(give(device, (cvy_command){CVY_RELEASE, .release = {1}}, NULL));
  check(lane->execute(device, &(cvy_command){.kind = CVY_CLEAR}, &reply, NULL));
  check(give(device, run, &ticket));
  check(lane->wait(device, ticket, NULL, &fault));
}

static cvy_wire_hello hello;

static bool receive_hello(void *bytes, size_t count) {
  require(count == sizeof hello, "a message that is no greeting is waited for");
  memcpy(bytes, &hello, count);
  return true;
}

/* A whole answer but for a byte of its frame, or none: mutations seldom keep its first bytes. */
static size_t greeting(const uint8_t *bytes, size_t count) {
  const size_t wanted = sizeof hello.status + sizeof hello.sentence;
  hello = (cvy_wire_hello){.frame = {.magic = CVY_WIRE_MAGIC, .message = CVY_WIRE_ANSWER},
                           .build_id = "fuzz"};
  const size_t given = count < wanted ? count : wanted;
  const bool plain = count == 0 || bytes[0] % 4 != 0;
  if (!plain) memcpy((char *)&hello + offsetof(cvy_wire_hello, status), bytes, given);
  if (!plain && count > 2 && bytes[0] % 8 == 4)
    ((uint8_t *)&hello.frame)[bytes[1] % sizeof hello.frame] ^= bytes[2];
  fake_receive = receive_hello;
  return plain ? count > 0 : given;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const cvy_open_options options = {.isolation = CONVOY_ISOLATION_PROCESS};
  const size_t used = greeting(bytes, count);
  cvy_device *device = NULL;
  fake_sleep = act;
  wire = NULL;
  input = bytes + used;
  input_left = count - used;
  list(&options);
  const convoy_status status = cvy_backend_ocl.open(0, &options, &device);
  check(status);
  if (status == CONVOY_OK) {
    use(device);
    cvy_backend_ocl.close(device);
  }
  fake_os_reset();
  return 0;
}
