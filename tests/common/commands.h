/* Commands to a backend's device, as tests give them: one call each. */
#ifndef TEST_COMMANDS_H
#define TEST_COMMANDS_H

#include "backend.h"

static inline convoy_status command_give(const cvy_backend *to, cvy_device *device,
                                         cvy_command command, uint64_t *ticket) {
  return to->execute(device, &command, NULL, ticket);
}

static inline convoy_status command_allocate(const cvy_backend *to, cvy_device *device,
                                             uint64_t array, int64_t bytes, uint64_t *ticket) {
  return command_give(to, device, (cvy_command){CVY_ALLOCATE, .allocate = {array, bytes}}, ticket);
}

static inline convoy_status command_release(const cvy_backend *to, cvy_device *device,
                                            uint64_t array) {
  return command_give(to, device, (cvy_command){CVY_RELEASE, .release = {array}}, NULL);
}

static inline convoy_status command_copy(const cvy_backend *to, cvy_device *device, uint64_t from,
                                         uint64_t array, int64_t bytes, uint64_t *ticket) {
  return command_give(to, device, (cvy_command){CVY_COPY, .copy = {from, array, bytes}}, ticket);
}

static inline convoy_status command_zero(const cvy_backend *to, cvy_device *device, uint64_t array,
                                         int64_t bytes, uint64_t *ticket) {
  return command_give(to, device, (cvy_command){CVY_ZERO, .zero = {array, bytes}}, ticket);
}

static inline convoy_status command_part(const cvy_backend *to, cvy_device *device, uint64_t array,
                                         uint64_t of, int64_t at, int64_t bytes) {
  const cvy_command command = {CVY_PART_OF, .part_of = {array, of, at, bytes}};
  return command_give(to, device, command, NULL);
}

static inline convoy_status command_run(const cvy_backend *to, cvy_device *device,
                                        const cvy_job *job, uint64_t *ticket) {
  return command_give(to, device, (cvy_command){CVY_RUN, .job = job}, ticket);
}

static inline convoy_status command_build(const cvy_backend *to, cvy_device *device,
                                          const cvy_job *job) {
  return command_give(to, device, (cvy_command){CVY_BUILD, .job = job}, NULL);
}

static inline convoy_status command_plan_job(const cvy_backend *to, cvy_device *device,
                                             uint64_t plan, const cvy_job *job) {
  return command_give(to, device, (cvy_command){CVY_PLAN_JOB, .plan_job = {plan}, .job = job},
                      NULL);
}

static inline convoy_status command_plan_bind(const cvy_backend *to, cvy_device *device,
                                              uint64_t plan, int32_t first, int32_t count,
                                              const cvy_base *bases) {
  const cvy_command command = {CVY_PLAN_BIND, .plan_bind = {plan, first, count}, .bases = bases};
  return command_give(to, device, command, NULL);
}

static inline convoy_status command_plan_run(const cvy_backend *to, cvy_device *device,
                                             uint64_t plan, uint64_t run, uint64_t *ticket) {
  return command_give(to, device, (cvy_command){CVY_PLAN_RUN, .plan_run = {plan, run}}, ticket);
}

static inline convoy_status command_plan_drop(const cvy_backend *to, cvy_device *device,
                                              uint64_t plan) {
  return command_give(to, device, (cvy_command){CVY_PLAN_DROP, .plan_drop = {plan}}, NULL);
}

/* *emptied: what an engine is told of its arrays, and what a lane says of them. */
static inline convoy_status command_clear(const cvy_backend *to, cvy_device *device,
                                          bool *emptied) {
  cvy_reply reply = {0};
  const cvy_command command = {CVY_CLEAR, .clear = {*emptied}};
  convoy_status status = to->execute(device, &command, &reply, NULL);
  *emptied |= reply.emptied;
  return status;
}

static inline convoy_status command_peak(const cvy_backend *to, cvy_device *device,
                                         cvy_reply *reply) {
  return to->execute(device, &(cvy_command){.kind = CVY_PEAK}, reply, NULL);
}

/* Of an engine: part of an array, the memory of which is in use until the command is done. */
static inline convoy_status command_transfer(const cvy_backend *to, cvy_device *device,
                                             cvy_command_kind kind, uint64_t array, int64_t at,
                                             const void *memory, int64_t bytes, uint64_t *ticket) {
  const cvy_command command = {kind, .transfer = {array, at, bytes, 0, 0}, .payload = memory};
  return command_give(to, device, command, ticket);
}

/* The same of its beginning, and waits for it. */
static inline convoy_status command_write(const cvy_backend *to, cvy_device *device, uint64_t array,
                                          const void *from, int64_t bytes) {
  uint64_t ticket;
  convoy_status status = command_transfer(to, device, CVY_WRITE, array, 0, from, bytes, &ticket);
  return status ? status : to->wait(device, ticket, NULL, NULL);
}

static inline convoy_status command_read(const cvy_backend *to, cvy_device *device, uint64_t array,
                                         void *out, int64_t bytes) {
  uint64_t ticket;
  convoy_status status = command_transfer(to, device, CVY_READ, array, 0, out, bytes, &ticket);
  return status ? status : to->wait(device, ticket, NULL, NULL);
}

#endif
