/* What each command of the ring does: a call of the engine. The command has been checked. */
#include <string.h>

#include "worker/module.h"
#include "worker/server.h"

/* The engine's sentence lives in its module. */
static convoy_status relay(cvy_server *server, convoy_status status) {
  return status ? cvy_fail(status, "%s", server->module->last_error()) : CONVOY_OK;
}

convoy_status cvy_server_load(cvy_server *server) {
  if (server->module) return CONVOY_OK;
  convoy_status status = cvy_module_load(server->module_path, &server->module);
  if (status) return status;
  while (server->module->engine->algorithms[server->rows]) ++server->rows;
  server->module->set_observer(&server->observer);
  return CONVOY_OK;
}

static convoy_status list(cvy_server *server, const cvy_command *command) {
  cvy_wire_reply *reply = &server->wire->reply;
  reply->count = 0;
  convoy_status status = cvy_server_load(server);
  if (status) return status;
  return relay(server, server->module->engine->list(&command->options, server->wire->facts,
                                                    CVY_WIRE_DEVICES, &reply->count));
}

static convoy_status open_device(cvy_server *server, const cvy_command *command) {
  if (server->device) return cvy_fail(CONVOY_ERR_DEVICE, "worker has opened its device already");
  convoy_status status = cvy_server_load(server);
  if (status) return status;
  const cvy_backend *engine = server->module->engine;
  status = engine->open(command->index, &command->options, &server->device);
  if (status) return relay(server, status);
  server->wire->facts[0] = *engine->facts(server->device);
  return CONVOY_OK;
}

static convoy_status clear(cvy_server *server, const cvy_command *command) {
  bool emptied = command->count != 0;
  convoy_status status = server->module->engine->clear(server->device, &emptied);
  if (status) return relay(server, status);
  server->faulted = false;
  atomic_store(&server->wire->fault, 0);
  return CONVOY_OK;
}

static convoy_status peak(cvy_server *server, const cvy_command *command) {
  (void)command;
  cvy_wire_reply *reply = &server->wire->reply;
  double gflops = 0, gigabytes = 0;
  convoy_status status = server->module->engine->peak(server->device, &gflops, &gigabytes);
  reply->gflops = gflops;
  reply->gigabytes = gigabytes;
  return relay(server, status);
}

/* The memory for this command, which is being carried out: its descriptor. */
static convoy_status receive_memory(cvy_server *server, const cvy_command *command,
                                    cvy_shared *block) {
  const cvy_wire_frame expected = cvy_wire_memory_frame(command, server->taken + 1);
  cvy_wire_frame frame;
  *block = (cvy_shared){NULL, 0, -1};
  convoy_status status = cvy_pass_receive(server->socket, &frame, sizeof frame, &block->fd, 1.0);
  if (status) return status;
  status = cvy_wire_check_frame(&frame, &expected);
  if (!status && block->fd < 0)
    status = cvy_fail(CONVOY_ERR_IO, "block %u came without memory", command->block);
  if (status) cvy_shared_close_fd(block);
  return status;
}

static convoy_status map(cvy_server *server, const cvy_command *command) {
  cvy_shared *block = &server->blocks[command->block];
  if (block->memory) return cvy_fail(CONVOY_ERR_IO, "block %u is in use", command->block);
  convoy_status status = receive_memory(server, command, block);
  if (!status) status = cvy_shared_map(block->fd, (size_t)command->bytes, block);
  if (status) return status;
  cvy_shared_close_fd(block);
  if (server->device && server->module->engine->host_offer)
    server->module->engine->host_offer(server->device, block->memory, command->bytes);
  return CONVOY_OK;
}

static convoy_status unmap(cvy_server *server, const cvy_command *command) {
  cvy_shared *block = &server->blocks[command->block];
  if (!block->memory) return CONVOY_OK; /* nor has it a descriptor: its 0 is the program's */
  if (server->device && server->module->engine->host_withdraw)
    server->module->engine->host_withdraw(server->device, block->memory);
  cvy_shared_drop(block);
  return CONVOY_OK;
}

/* The host side of a transfer; NULL with a sentence if it is not inside a mapped block. */
static char *in_block(cvy_server *server, const cvy_command *command) {
  const cvy_shared *block = &server->blocks[command->block];
  if (block->memory && (uint64_t)(command->block_offset + command->bytes) <= block->bytes)
    return (char *)block->memory + command->block_offset;
  cvy_fail(CONVOY_ERR_DEVICE, "transfer of %lld bytes at %lld is outside of block %u",
           (long long)command->bytes, (long long)command->block_offset, command->block);
  return NULL;
}

static convoy_status write_array(cvy_server *server, const cvy_command *command) {
  const char *from = in_block(server, command);
  if (!from) return CONVOY_ERR_DEVICE;
  return relay(
      server, server->module->engine->write_part(server->device, command->id, command->offset, from,
                                                 command->bytes, &server->engine_ticket));
}

static convoy_status read_array(cvy_server *server, const cvy_command *command) {
  char *to = in_block(server, command);
  if (!to) return CONVOY_ERR_DEVICE;
  return relay(server,
               server->module->engine->read_part(server->device, command->id, command->offset, to,
                                                 command->bytes, &server->engine_ticket));
}

static convoy_status allocate(cvy_server *server, const cvy_command *command) {
  return relay(server, server->module->engine->allocate(server->device, command->id, command->bytes,
                                                        &server->engine_ticket));
}

/* An address means something only where both sides are one process: the lane has seen to that. */
static convoy_status adopt(cvy_server *server, const cvy_command *command) {
  if (!server->module->engine->adopt) return cvy_fail(CONVOY_ERR_DEVICE, "no addresses here");
  return relay(server, server->module->engine->adopt(server->device, command->id, command->to,
                                                     command->bytes, &server->engine_ticket));
}

static convoy_status use_stream(cvy_server *server, const cvy_command *command) {
  if (!server->module->engine->use_stream)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "no streams here");
  convoy_status status = server->module->engine->use_stream(server->device, command->to);
  server->stream_is_lent |= !status;
  return relay(server, status);
}

static convoy_status use_allocator(cvy_server *server, const cvy_command *command) {
  if (!server->module->engine->use_allocator)
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "no allocators here");
  return relay(server, server->module->engine->use_allocator(server->device, &command->allocator));
}

static convoy_status lend(cvy_server *server, const cvy_command *command) {
  if (!server->module->engine->lend) return cvy_fail(CONVOY_ERR_UNSUPPORTED, "no allocators here");
  int64_t taken = 0;
  convoy_status status =
      server->module->engine->lend(server->device, command->to, command->bytes, &taken);
  server->wire->reply.bytes = taken;
  return relay(server, status);
}

static convoy_status ask_recording(cvy_server *server, const cvy_command *command) {
  cvy_recording recording = CVY_NOT_RECORDING;
  if (!server->module->engine->recording) return CONVOY_OK;
  convoy_status status =
      server->module->engine->recording(server->device, &command->job, &recording);
  server->wire->reply.count = (int32_t)recording;
  return relay(server, status);
}

static convoy_status release(cvy_server *server, const cvy_command *command) {
  return relay(server, server->module->engine->release(server->device, command->id));
}

static convoy_status copy(cvy_server *server, const cvy_command *command) {
  return relay(server, server->module->engine->copy(server->device, command->id, command->to,
                                                    command->bytes, &server->engine_ticket));
}

static convoy_status zero(cvy_server *server, const cvy_command *command) {
  return relay(server, server->module->engine->zero(server->device, command->id, command->bytes,
                                                    &server->engine_ticket));
}

static convoy_status run(cvy_server *server, const cvy_command *command) {
  return relay(server,
               server->module->engine->run(server->device, &command->job, &server->engine_ticket));
}

static convoy_status part(cvy_server *server, const cvy_command *command) {
  if (!server->module->engine->part) return cvy_fail(CONVOY_ERR_DEVICE, "no parts here");
  return relay(server, server->module->engine->part(server->device, command->id, command->to,
                                                    command->offset, command->bytes,
                                                    &server->engine_ticket));
}

/* An engine has all entries for plans, or none. */
static convoy_status takes_plans(const cvy_server *server) {
  if (server->module->engine->plan_run) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_DEVICE, "no plans here");
}

static convoy_status plan_job(cvy_server *server, const cvy_command *command) {
  convoy_status status = takes_plans(server);
  if (status) return status;
  return relay(server,
               server->module->engine->plan_job(server->device, command->id, &command->job));
}

static convoy_status plan_copy(cvy_server *server, const cvy_command *command) {
  convoy_status status = takes_plans(server);
  if (status) return status;
  const cvy_operand from = {.id = (uint64_t)command->offset}, to = {.id = command->to};
  return relay(server, server->module->engine->plan_copy(server->device, command->id, from, to,
                                                         command->bytes));
}

static convoy_status plan_bind(cvy_server *server, const cvy_command *command) {
  convoy_status status = takes_plans(server);
  if (status) return status;
  return relay(server,
               server->module->engine->plan_bind(server->device, command->id, command->index,
                                                 command->count, command->bindings));
}

static convoy_status plan_tap(cvy_server *server, const cvy_command *command) {
  convoy_status status = takes_plans(server);
  if (status) return status;
  return relay(server,
               server->module->engine->plan_tap(server->device, command->id, command->index,
                                                command->to, command->count, command->taps));
}

static convoy_status plan_run(cvy_server *server, const cvy_command *command) {
  convoy_status status = takes_plans(server);
  if (status) return status;
  return relay(server, server->module->engine->plan_run(server->device, command->id, command->to,
                                                        &server->engine_ticket));
}

static convoy_status plan_drop(cvy_server *server, const cvy_command *command) {
  convoy_status status = takes_plans(server);
  if (status) return status;
  return relay(server, server->module->engine->plan_drop(server->device, command->id));
}

static convoy_status build(cvy_server *server, const cvy_command *command) {
  return relay(server, server->module->engine->build(server->device, &command->job, NULL));
}

/* What cannot be compiled fails when it is to run. */
convoy_status cvy_server_prepare(cvy_server *server, const cvy_command *command, bool launch) {
  const cvy_backend *engine = server->module->engine;
  if (engine->prepare) engine->prepare(server->device, &command->job, launch);
  return CONVOY_OK;
}

static convoy_status prepare(cvy_server *server, const cvy_command *command) {
  convoy_status status = cvy_server_prepare(server, command, command->count);
  atomic_fetch_add(&server->wire->prepared, command->index > 0);
  return status;
}

const cvy_handler cvy_handlers[CVY_WIRE_KINDS] = {
    [CVY_WIRE_LIST] = {list, true, true, true, CVY_PHASE_PROBING},
    [CVY_WIRE_OPEN] = {open_device, true, true, true, CVY_PHASE_OPENING},
    [CVY_WIRE_CLEAR] = {clear, true, true, false, CVY_PHASE_RUNNING},
    [CVY_WIRE_PEAK] = {peak, true, false, false, CVY_PHASE_RUNNING},
    [CVY_WIRE_MAP] = {map, true, true, true, CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_UNMAP] = {unmap, false, true, true, CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_ALLOCATE] = {.handle = allocate, .phase = CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_RELEASE] = {release, false, true, false, CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_WRITE] = {.handle = write_array, .phase = CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_READ] = {.handle = read_array, .phase = CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_COPY] = {.handle = copy, .phase = CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_ZERO] = {.handle = zero, .phase = CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_RUN] = {.handle = run, .phase = CVY_PHASE_RUNNING},
    [CVY_WIRE_BUILD] = {build, true, false, false, CVY_PHASE_COMPILING},
    [CVY_WIRE_PREPARE] = {prepare, false, true, false, CVY_PHASE_RUNNING},
    [CVY_WIRE_ADOPT] = {.handle = adopt, .phase = CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_USE_STREAM] = {use_stream, true, false, false, CVY_PHASE_RUNNING},
    [CVY_WIRE_USE_ALLOCATOR] = {use_allocator, true, false, false, CVY_PHASE_RUNNING},
    [CVY_WIRE_LEND] = {lend, true, true, false, CVY_PHASE_RUNNING},
    [CVY_WIRE_RECORDING] = {ask_recording, true, false, false, CVY_PHASE_RUNNING},
    [CVY_WIRE_PART] = {.handle = part, .phase = CVY_PHASE_TRANSFERRING},
    [CVY_WIRE_PLAN_JOB] = {.handle = plan_job, .phase = CVY_PHASE_RUNNING},
    [CVY_WIRE_PLAN_COPY] = {.handle = plan_copy, .phase = CVY_PHASE_RUNNING},
    [CVY_WIRE_PLAN_BIND] = {.handle = plan_bind, .phase = CVY_PHASE_RUNNING},
    [CVY_WIRE_PLAN_TAP] = {.handle = plan_tap, .phase = CVY_PHASE_RUNNING},
    [CVY_WIRE_PLAN_RUN] = {.handle = plan_run, .phase = CVY_PHASE_RUNNING},
    [CVY_WIRE_PLAN_DROP] = {plan_drop, false, true, false, CVY_PHASE_RUNNING},
};
