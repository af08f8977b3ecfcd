/* What each command of the ring does: as a rule the engine carries it out. It has been checked. */
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

static convoy_status pass_on(cvy_server *server, cvy_command *command) {
  return relay(server,
               server->module->engine->execute(server->device, command, &server->wire->reply.answer,
                                               &server->engine_ticket));
}

static convoy_status list(cvy_server *server, cvy_command *command) {
  cvy_wire_reply *reply = &server->wire->reply;
  reply->devices = 0;
  convoy_status status = cvy_server_load(server);
  if (status) return status;
  return relay(server, server->module->engine->list(command->options, server->wire->facts,
                                                    CVY_WIRE_DEVICES, &reply->devices));
}

static convoy_status open_device(cvy_server *server, cvy_command *command) {
  if (server->device) return cvy_fail(CONVOY_ERR_DEVICE, "worker has opened its device already");
  convoy_status status = cvy_server_load(server);
  if (status) return status;
  const cvy_backend *engine = server->module->engine;
  status = engine->open(command->open.device, command->options, &server->device);
  if (status) return relay(server, status);
  server->wire->facts[0] = *engine->facts(server->device);
  return CONVOY_OK;
}

static convoy_status clear(cvy_server *server, cvy_command *command) {
  convoy_status status = pass_on(server, command);
  if (status) return status;
  server->faulted = false;
  atomic_store(&server->wire->fault, 0);
  return CONVOY_OK;
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
    status = cvy_fail(CONVOY_ERR_IO, "block %u came without memory", command->map.block);
  if (status) cvy_shared_close_fd(block);
  return status;
}

static convoy_status map(cvy_server *server, cvy_command *command) {
  cvy_shared *block = &server->blocks[command->map.block];
  if (block->memory) return cvy_fail(CONVOY_ERR_IO, "block %u is in use", command->map.block);
  convoy_status status = receive_memory(server, command, block);
  if (!status) status = cvy_shared_map(block->fd, (size_t)command->map.bytes, block);
  if (status) return status;
  cvy_shared_close_fd(block);
  if (server->device && server->module->engine->host_offer)
    server->module->engine->host_offer(server->device, block->memory, command->map.bytes);
  return CONVOY_OK;
}

static convoy_status unmap(cvy_server *server, cvy_command *command) {
  cvy_shared *block = &server->blocks[command->unmap.block];
  if (!block->memory) return CONVOY_OK; /* nor has it a descriptor: its 0 is the program's */
  if (server->device && server->module->engine->host_withdraw)
    server->module->engine->host_withdraw(server->device, block->memory);
  cvy_shared_drop(block);
  return CONVOY_OK;
}

/* The host side lies inside a mapped block. */
static convoy_status transfer(cvy_server *server, cvy_command *command) {
  int64_t at = command->transfer.block_at, bytes = command->transfer.bytes;
  const cvy_shared *block = &server->blocks[command->transfer.block];
  if (!block->memory || (uint64_t)(at + bytes) > block->bytes)
    return cvy_fail(CONVOY_ERR_DEVICE, "transfer of %lld bytes at %lld is outside of block %u",
                    (long long)bytes, (long long)at, command->transfer.block);
  command->memory = (char *)block->memory + at;
  return pass_on(server, command);
}

static convoy_status use_stream(cvy_server *server, cvy_command *command) {
  convoy_status status = pass_on(server, command);
  server->stream_is_lent |= !status;
  return status;
}

/* What cannot be compiled fails when it is to run. */
static convoy_status prepare(cvy_server *server, cvy_command *command) {
  server->module->engine->execute(server->device, command, NULL, NULL);
  atomic_fetch_add(&server->wire->prepared, command->prepare.counts > 0);
  return CONVOY_OK;
}

/* Of commands that are not the engine's alone. */
typedef convoy_status handler(cvy_server *server, cvy_command *command);
static handler *const handlers[CVY_COMMANDS] = {
    [CVY_LIST] = list,     [CVY_OPEN] = open_device,      [CVY_CLEAR] = clear,
    [CVY_MAP] = map,       [CVY_UNMAP] = unmap,           [CVY_WRITE] = transfer,
    [CVY_READ] = transfer, [CVY_USE_STREAM] = use_stream, [CVY_PREPARE] = prepare,
};

convoy_status cvy_server_execute(cvy_server *server, cvy_command *command) {
  handler *own = handlers[command->kind];
  return own ? own(server, command) : pass_on(server, command);
}
