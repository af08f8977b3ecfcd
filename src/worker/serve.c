/* The command loop: takes commands from the ring in order, hands them to the engine, and says how
 * far it has come. It waits for the device only when the library wants a command done, so that the
 * device always has work queued. What it is busy with and each sign of progress go into shared
 * memory at once. */
#include "worker/serve.h"

#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "worker/server.h"

/* ------------------------------------------------------------------------- greeting */

#define GREETING_SECONDS 3600.0 /* the end of the library ends the wait at once */

static convoy_status check_hello(cvy_wire_hello *hello, int fd) {
  convoy_status status = cvy_wire_check_hello(hello, CVY_WIRE_HELLO);
  if (status) return status;
  if (strcmp(hello->build_id, cvy_build_id) != 0)
    return cvy_fail(CONVOY_ERR_DEVICE, "worker is of build %s, the library of build %s",
                    cvy_build_id, hello->build_id);
  if (fd >= 0 && hello->frame.bytes == (int64_t)sizeof(cvy_wire)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "ring of %lld bytes with descriptor %d, %zu bytes expected",
                  (long long)hello->frame.bytes, fd, sizeof(cvy_wire));
}

static convoy_status answer(int socket, convoy_status status) {
  cvy_wire_hello hello = {.frame = {.magic = CVY_WIRE_MAGIC, .message = CVY_WIRE_ANSWER},
                          .process = cvy_process_id(),
                          .status = (int32_t)status};
  cvy_text_copy(hello.build_id, sizeof hello.build_id, cvy_build_id);
  if (status) cvy_text_copy(hello.sentence, sizeof hello.sentence, cvy_last_error());
  convoy_status sent = cvy_pass_send(socket, &hello, sizeof hello, -1);
  return status ? status : sent;
}

convoy_status cvy_serve_greet(int socket, cvy_shared *ring, int *client) {
  cvy_wire_hello hello;
  int fd;
  convoy_status status = cvy_pass_receive(socket, &hello, sizeof hello, &fd, GREETING_SECONDS);
  if (status) return status;
  *client = hello.process;
  *ring = (cvy_shared){NULL, 0, fd};
  status = check_hello(&hello, fd);
  if (!status) status = cvy_shared_map(fd, sizeof(cvy_wire), ring);
  cvy_shared_close_fd(ring);
  return answer(socket, status);
}

/* ------------------------------------------------------------------------- progress */

static cvy_phase set_phase(cvy_server *server, cvy_phase phase) {
  return (cvy_phase)atomic_exchange(&server->wire->phase, phase);
}

/* The engine's own word. */
static cvy_phase note_phase(void *user, cvy_phase phase) {
  cvy_server *server = user;
  if (phase == CVY_PHASE_COMPILING) atomic_fetch_add(&server->wire->compiles, 1);
  return set_phase(server, phase);
}

/* Rings for who waits: a look at the device may find done what was asked for a moment ago, and
 * nothing else would tell. */
static void complete(cvy_server *server, uint64_t number) {
  cvy_wire *wire = server->wire;
  uint64_t before = server->completed;
  if (number > before) server->completed = number;
  atomic_store(&wire->completed, server->completed);
  uint64_t wanted = atomic_load(&wire->wanted);
  if (before < wanted && wanted <= server->completed) cvy_doorbell_ring(&wire->progress);
}

static int32_t step_of(const cvy_server *server, uint64_t engine_ticket) {
  const cvy_backend *engine = server->module->engine;
  return engine->plan_step ? engine->plan_step(server->device, engine_ticket) : -1;
}

/* The engine's tickets up to `ticket` are good. */
static void note_progress(void *user, uint64_t ticket) {
  cvy_server *server = user;
  if (server->device) atomic_store(&server->wire->step, step_of(server, ticket + 1));
  uint64_t done = server->completed;
  while (done < server->taken && server->engine_tickets[(done + 1) % CVY_SERVER_WINDOW] <= ticket)
    done++;
  if (!server->faulted) complete(server, done);
  atomic_fetch_add(&server->wire->pulse, 1);
}

static void note_first_run(void *user) {
  cvy_server *server = user;
  atomic_store(&server->wire->first_run, server->taken + 1);
}

/* --------------------------------------------------------------------------- faults */

/* The first command whose engine ticket reaches `engine_fault`: the one that failed. */
static uint64_t failed_command(const cvy_server *server, uint64_t engine_fault, uint64_t last) {
  for (uint64_t n = server->completed + 1; n < last; n++)
    if (server->engine_tickets[n % CVY_SERVER_WINDOW] >= engine_fault) return n;
  return last;
}

static void publish_fault(cvy_server *server, uint64_t number, int32_t step, convoy_status status,
                          const char *sentence) {
  cvy_wire *wire = server->wire;
  complete(server, number - 1);
  server->faulted = true;
  wire->fault_status = (int32_t)status;
  wire->fault_step = step;
  cvy_text_copy(wire->fault_sentence, sizeof wire->fault_sentence, sentence);
  atomic_store(&wire->fault, number);
  cvy_doorbell_ring(&wire->progress);
}

/* Waits until the engine has done command `number`; publishes the fault if one of them failed. */
static convoy_status engine_wait(cvy_server *server, uint64_t number) {
  uint64_t engine_fault = 0;
  uint64_t ticket = server->engine_tickets[number % CVY_SERVER_WINDOW];
  if (!server->device) return CONVOY_OK;
  convoy_status status =
      server->module->engine->wait(server->device, ticket, server->interrupt, &engine_fault);
  if (status && status != CONVOY_ERR_INTERRUPTED)
    publish_fault(server, failed_command(server, engine_fault, number),
                  step_of(server, engine_fault), status, server->module->last_error());
  return status;
}

/* Command `number` was refused on the spot. The reason may be an earlier one, which then counts. */
static void command_failed(cvy_server *server, uint64_t number, convoy_status status) {
  char sentence[256];
  cvy_text_copy(sentence, sizeof sentence, cvy_last_error());
  if (!engine_wait(server, number)) publish_fault(server, number, -1, status, sentence);
}

/* ------------------------------------------------------------------------- commands */

static void publish_usage(cvy_server *server) {
  cvy_usage usage = {0};
  if (!server->device) return;
  server->module->engine->usage(server->device, &usage);
  cvy_wire_put_usage(server->wire, &usage);
}

static void settle(cvy_server *server, uint64_t number) {
  set_phase(server, CVY_PHASE_RUNNING);
  if (!server->faulted && engine_wait(server, number) == CONVOY_ERR_INTERRUPTED) return;
  publish_usage(server);
  complete(server, number);
  cvy_doorbell_ring(&server->wire->progress);
}

/* What is void still has its programs compiled. */
static convoy_status prepare_alone(cvy_server *server, const cvy_command *command) {
  cvy_command alone = {CVY_PREPARE, .prepare = {.launches = 1}, .job = command->job};
  bool has_job = command->kind == CVY_RUN || command->kind == CVY_PLAN_JOB;
  return has_job ? cvy_server_execute(server, &alone) : CONVOY_OK;
}

static convoy_status handle(cvy_server *server, cvy_command *command, uint64_t number) {
  convoy_status status = cvy_wire_check_command(command, server->rows);
  if (status) return status;
  const cvy_wire_row *row = &cvy_wire_rows[command->kind];
  bool replies = row->flags & CVY_WIRE_REPLIES, always = row->flags & CVY_WIRE_WHILE_FAULT;
  if (!(row->flags & CVY_WIRE_NO_DEVICE) && !server->device)
    return cvy_fail(CONVOY_ERR_DEVICE, "worker has no device open");
  if (server->faulted && !always) {
    if (!replies) return CONVOY_OK;
    return cvy_fail(CONVOY_ERR_DEVICE, "device has failed: %s", server->wire->fault_sentence);
  }
  bool is_void = number <= atomic_load(&server->wire->void_to);
  if (is_void && !always && !replies) return prepare_alone(server, command);
  set_phase(server, (cvy_phase)row->phase);
  if (replies) server->wire->reply.answer = (cvy_reply){0};
  return cvy_server_execute(server, command);
}

static void reply(cvy_server *server, convoy_status status) {
  cvy_wire_reply *out = &server->wire->reply;
  out->status = (int32_t)status;
  cvy_text_copy(out->sentence, sizeof out->sentence, status ? cvy_last_error() : "");
}

static void execute(cvy_server *server, cvy_command *command, uint64_t number) {
  convoy_status status = handle(server, command, number);
  server->engine_tickets[number % CVY_SERVER_WINDOW] = server->engine_ticket;
  if (command->kind < CVY_COMMANDS && cvy_wire_rows[command->kind].flags & CVY_WIRE_REPLIES)
    reply(server, status);
  else if (status && !server->faulted)
    command_failed(server, number, status);
}

/* ------------------------------------------------------------------------------ loop */

/* Seconds between two looks at a device that works while there is nothing else to do. */
#define FIRST_PAUSE 100e-6
#define LONGEST_PAUSE 10e-3
/* A trainer's next operation comes within so long, or not soon. Being woken takes as long. */
#define LINGER_SECONDS 50e-6

static void make_room(cvy_server *server, uint64_t number) {
  uint64_t least = number - CVY_SERVER_WINDOW / 2;
  if (server->stream_is_lent)
    complete(server, least);
  else
    settle(server, least);
}

static bool drain(cvy_server *server, uint64_t posted) {
  cvy_wire *wire = server->wire;
  if (posted - server->taken > CVY_WIRE_SLOTS) return false;
  while (server->taken < posted && !atomic_load(&wire->leave)) {
    uint64_t number = server->taken + 1;
    cvy_wire_slot slot;
    cvy_wire_get_command(&wire->slots[number % CVY_WIRE_SLOTS], &slot);
    if (number - server->completed >= CVY_SERVER_WINDOW) make_room(server, number);
    execute(server, &slot.command, number);
    publish_usage(server); /* before `taken`: who waited for that sees what was compiled */
    server->taken = number;
    atomic_store(&wire->taken, number);
    if (atomic_load(&wire->wake_when) == number) cvy_doorbell_ring(&wire->progress);
  }
  return true;
}

/* Nothing to do. While the device goes on, looks now and then how far it is: who asks later then
 * has his answer already. */
static bool look(cvy_server *server) {
  if (!server->device || server->faulted || server->completed == server->taken ||
      !server->module->engine->poll)
    return false;
  set_phase(server, CVY_PHASE_RUNNING);
  return server->module->engine->poll(server->device);
}

static void rest(cvy_server *server, uint32_t seen) {
  bool first = server->pause <= FIRST_PAUSE;
  double pause = -1;
  if (look(server)) {
    pause = server->pause;
    server->pause = pause < LONGEST_PAUSE ? 2 * pause : LONGEST_PAUSE;
  }
  set_phase(server, CVY_PHASE_IDLE);
  if (first && cvy_doorbell_linger(&server->wire->work, seen, LINGER_SECONDS)) return;
  cvy_doorbell_wait(&server->wire->work, seen, pause);
}

typedef enum advance { NOTHING, SOMETHING, NONSENSE } advance;

/* Does what there is to do, if there is anything. */
static advance advance_once(cvy_server *server) {
  uint64_t posted = atomic_load(&server->wire->posted);
  uint64_t wanted = atomic_load(&server->wire->wanted);
  if (posted != server->taken) {
    server->pause = FIRST_PAUSE;
    return drain(server, posted) ? SOMETHING : NONSENSE;
  }
  if (wanted <= server->completed || wanted > server->taken) return NOTHING;
  settle(server, wanted);
  return server->completed < wanted && server->interrupt ? NOTHING : SOMETHING;
}

static bool loop(cvy_server *server) {
  cvy_wire *wire = server->wire;
  while (!atomic_load(&wire->leave)) {
    uint32_t seen = cvy_doorbell_seen(&wire->work);
    advance done = advance_once(server);
    if (done == NONSENSE) return false;
    if (done == NOTHING) rest(server, seen);
  }
  return true;
}

/* ------------------------------------------------------------------------ begin and end */

static void ended(cvy_shared *ring) {
  cvy_wire *wire = ring->memory;
  atomic_store(&wire->ended, 1);
  cvy_doorbell_ring(&wire->progress);
  cvy_shared_drop(ring);
}

cvy_server *cvy_serve_begin(int socket, cvy_shared *ring, const char *module_path) {
  cvy_server *server = calloc(1, sizeof *server);
  cvy_wire *wire = ring->memory;
  if (!server) {
    ended(ring);
    return NULL;
  }
  atomic_store(&wire->step, -1);
  *server = (cvy_server){.socket = socket,
                         .module_path = module_path,
                         .ring = *ring,
                         .wire = wire,
                         .taken = wire->begin,
                         .completed = wire->begin,
                         .observer = {server, note_phase, note_progress, note_first_run}};
  return server;
}

static void end(cvy_server *server) {
  cvy_shared ring = server->ring;
  if (server->device) server->module->engine->close(server->device);
  if (server->module) server->module->set_observer(NULL);
  for (int i = 0; i < CVY_WIRE_BLOCKS; i++)
    if (server->blocks[i].memory) cvy_shared_drop(&server->blocks[i]);
  free(server);
  ended(&ring);
}

bool cvy_serve(int socket, cvy_shared *ring, const char *module_path) {
  cvy_server *server = cvy_serve_begin(socket, ring, module_path);
  if (!server) return false;
  bool good = loop(server);
  end(server);
  return good;
}

/* ------------------------------------------------------------------------- step by step */

/* The thread is somebody else's, and so is what drivers and the engine hold for it. */
static void arrive(cvy_server *server, cvy_visit *visit) {
  *visit = (cvy_visit){0};
  if (cvy_server_load(server)) return; /* the command that needs it says why */
  server->module->set_observer(&server->observer);
  server->module->visit(visit);
}

static void depart(const cvy_server *server, const cvy_visit *visit) {
  if (!server->module) return;
  server->module->leave(visit);
  server->module->set_observer(NULL);
}

void cvy_serve_step(cvy_server *server, const volatile int *interrupt) {
  cvy_visit visit;
  advance done = SOMETHING;
  server->interrupt = interrupt;
  arrive(server, &visit);
  while (done == SOMETHING && !atomic_load(&server->wire->leave)) done = advance_once(server);
  depart(server, &visit);
  server->interrupt = NULL;
  if (done == NONSENSE) atomic_store(&server->wire->ended, 1);
}

void cvy_serve_end(cvy_server *server) {
  const cvy_module *module = server->module;
  cvy_visit visit;
  arrive(server, &visit);
  end(server);
  if (module) module->leave(&visit);
}
