/* The entry points. Those that are not here pass through: the loader puts the next layer's function
 * where a layer has none. */
#include "layer.h"

#include <CL/cl_layer.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

cl_icd_dispatch below;

/* Whether the call is to fail, with *error (which may be NULL). */
static bool refused(const char *name, cl_int *error) {
  const fault due = strike(name);
  if (due.action != FAULT_FAIL) return false;
  if (error) *error = due.value;
  return true;
}

/* --------------------------------------------------------------- those that only may fail */

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count,
                                        const cl_device_id *devices, const char *options,
                                        void(CL_CALLBACK *done)(cl_program, void *), void *user) {
  cl_int code;
  return refused("clBuildProgram", &code)
             ? code
             : below.clBuildProgram(program, count, devices, options, done, user);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *error) {
  return refused("clCreateKernel", error) ? NULL : below.clCreateKernel(program, name, error);
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *user, cl_int *error) {
  return refused("clCreateContext", error)
             ? NULL
             : below.clCreateContext(properties, count, devices, notify, user, error);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *error) {
  return refused("clCreateCommandQueue", error)
             ? NULL
             : below.clCreateCommandQueue(context, device, properties, error);
}

static cl_program CL_API_CALL create_from_binary(cl_context context, cl_uint count,
                                                 const cl_device_id *devices, const size_t *lengths,
                                                 const unsigned char **binaries, cl_int *states,
                                                 cl_int *error) {
  return refused("clCreateProgramWithBinary", error)
             ? NULL
             : below.clCreateProgramWithBinary(context, count, devices, lengths, binaries, states,
                                               error);
}

static cl_program CL_API_CALL create_from_source(cl_context context, cl_uint count,
                                                 const char **strings, const size_t *lengths,
                                                 cl_int *error) {
  return refused("clCreateProgramWithSource", error)
             ? NULL
             : below.clCreateProgramWithSource(context, count, strings, lengths, error);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *error) {
  return refused("clCreateUserEvent", error) ? NULL : below.clCreateUserEvent(context, error);
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int state) {
  cl_int code;
  return refused("clSetUserEventStatus", &code) ? code : below.clSetUserEventStatus(event, state);
}

static cl_int CL_API_CALL finish(cl_command_queue queue) {
  cl_int code;
  return refused("clFinish", &code) ? code : below.clFinish(queue);
}

static cl_int CL_API_CALL flush(cl_command_queue queue) {
  cl_int code;
  return refused("clFlush", &code) ? code : below.clFlush(queue);
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events) {
  cl_int code;
  return refused("clWaitForEvents", &code) ? code : below.clWaitForEvents(count, events);
}

static cl_int CL_API_CALL get_platforms(cl_uint most, cl_platform_id *platforms, cl_uint *count) {
  cl_int code;
  return refused("clGetPlatformIDs", &code) ? code : below.clGetPlatformIDs(most, platforms, count);
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info what,
                                            size_t size, void *value, size_t *needed) {
  cl_int code;
  return refused("clGetPlatformInfo", &code)
             ? code
             : below.clGetPlatformInfo(platform, what, size, value, needed);
}

static cl_int CL_API_CALL get_devices(cl_platform_id platform, cl_device_type type, cl_uint most,
                                      cl_device_id *devices, cl_uint *count) {
  cl_int code;
  return refused("clGetDeviceIDs", &code)
             ? code
             : below.clGetDeviceIDs(platform, type, most, devices, count);
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info what,
                                         size_t size, void *value, size_t *needed) {
  cl_int code;
  return refused("clGetCommandQueueInfo", &code)
             ? code
             : below.clGetCommandQueueInfo(queue, what, size, value, needed);
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info what, size_t size,
                                           void *value, size_t *needed) {
  cl_int code;
  return refused("clGetContextInfo", &code)
             ? code
             : below.clGetContextInfo(context, what, size, value, needed);
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t size,
                                         void *value, size_t *needed) {
  cl_int code;
  return refused("clGetEventInfo", &code) ? code
                                          : below.clGetEventInfo(event, what, size, value, needed);
}

static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info what, size_t size,
                                             void *value, size_t *needed) {
  cl_int code;
  return refused("clGetEventProfilingInfo", &code)
             ? code
             : below.clGetEventProfilingInfo(event, what, size, value, needed);
}

static cl_int CL_API_CALL get_work_group_info(cl_kernel kernel, cl_device_id device,
                                              cl_kernel_work_group_info what, size_t size,
                                              void *value, size_t *needed) {
  cl_int code;
  return refused("clGetKernelWorkGroupInfo", &code)
             ? code
             : below.clGetKernelWorkGroupInfo(kernel, device, what, size, value, needed);
}

static cl_int CL_API_CALL get_memory_info(cl_mem memory, cl_mem_info what, size_t size, void *value,
                                          size_t *needed) {
  cl_int code;
  return refused("clGetMemObjectInfo", &code)
             ? code
             : below.clGetMemObjectInfo(memory, what, size, value, needed);
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id device,
                                         cl_program_build_info what, size_t size, void *value,
                                         size_t *needed) {
  cl_int code;
  return refused("clGetProgramBuildInfo", &code)
             ? code
             : below.clGetProgramBuildInfo(program, device, what, size, value, needed);
}

static cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info what, size_t size,
                                           void *value, size_t *needed) {
  cl_int code;
  return refused("clGetProgramInfo", &code)
             ? code
             : below.clGetProgramInfo(program, what, size, value, needed);
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue) {
  cl_int code;
  return refused("clReleaseCommandQueue", &code) ? code : below.clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL release_context(cl_context context) {
  cl_int code;
  return refused("clReleaseContext", &code) ? code : below.clReleaseContext(context);
}

static cl_int CL_API_CALL release_event(cl_event event) {
  cl_int code;
  return refused("clReleaseEvent", &code) ? code : below.clReleaseEvent(event);
}

static cl_int CL_API_CALL release_program(cl_program program) {
  cl_int code;
  return refused("clReleaseProgram", &code) ? code : below.clReleaseProgram(program);
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type,
                                             void(CL_CALLBACK *done)(cl_event, cl_int, void *),
                                             void *user) {
  cl_int code;
  return refused("clSetEventCallback", &code) ? code
                                              : below.clSetEventCallback(event, type, done, user);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size,
                                          void *value, size_t *needed) {
  cl_int code;
  if (refused("clGetDeviceInfo", &code)) return code;
  if (disguise_info(what, size, value, needed, &code)) return code;
  return below.clGetDeviceInfo(device, what, size, value, needed);
}

/* -------------------------------------------------- those that know buffers and kernels */

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *error) {
  if (refused("clCreateBuffer", error)) return NULL;
  const cl_mem memory = below.clCreateBuffer(context, flags, bytes, host, error);
  spoil_note_memory(memory);
  return memory;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *error) {
  if (refused("clCreateSubBuffer", error)) return NULL;
  const cl_mem memory = below.clCreateSubBuffer(buffer, flags, type, region, error);
  spoil_note_memory(memory);
  return memory;
}

static cl_int CL_API_CALL release_memory(cl_mem memory) {
  cl_int code;
  if (refused("clReleaseMemObject", &code)) return code;
  spoil_forget_memory(memory);
  return below.clReleaseMemObject(memory);
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t bytes,
                                       const void *value) {
  cl_int code;
  if (refused("clSetKernelArg", &code)) return code;
  spoil_note_argument(kernel, index, bytes, value);
  return below.clSetKernelArg(kernel, index, bytes, value);
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
  cl_int code;
  if (refused("clReleaseKernel", &code)) return code;
  spoil_forget_kernel(kernel);
  return below.clReleaseKernel(kernel);
}

/* ------------------------------------------------------------------- those that enqueue */

/* The caller's wait list, and behind it, when stalled, an event that nobody ever sets. */
enum { EVENTS = 16 };
typedef struct waits {
  cl_uint count;
  cl_event list[EVENTS + 1];
} waits;

static const cl_event *list_of(const waits *events) {
  return events->count ? events->list : NULL;
}

static waits waits_for(fault due, cl_command_queue queue, cl_uint count, const cl_event *list) {
  waits events = {.count = count};
  if (count > EVENTS) abort();
  if (count) memcpy(events.list, list, count * sizeof *list);
  if (due.action != FAULT_STALL) return events;
  cl_context context;
  below.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  events.list[events.count++] = below.clCreateUserEvent(context, NULL);
  return events;
}

static bool spoils(fault due) {
  return due.action == FAULT_WRONG || due.action == FAULT_ZERO;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                         const size_t *offset, const size_t *global,
                                         const size_t *local, cl_uint count, const cl_event *list,
                                         cl_event *event) {
  const fault due = strike("clEnqueueNDRangeKernel");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  if (spoils(due)) {
    const kernel_call call = {queue, kernel, dims, offset, global, local};
    const cl_int code = spoil_kernel(due.action, &call);
    if (code != CL_SUCCESS || !event) return code;
    return below.clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
  }
  return below.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, events.count,
                                      list_of(&events), event);
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                       size_t at, size_t bytes, void *to, cl_uint count,
                                       const cl_event *list, cl_event *event) {
  const fault due = strike("clEnqueueReadBuffer");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  const cl_int code = below.clEnqueueReadBuffer(queue, memory, spoils(due) ? CL_TRUE : blocking, at,
                                                bytes, to, events.count, list_of(&events), event);
  if (code == CL_SUCCESS && spoils(due)) spoil_values(due.action, to, NULL, bytes / sizeof(float));
  return code;
}

/* For commands that write known bytes of a buffer: changed when they are done. */
static cl_int spoil_after(fault due, cl_int code, cl_command_queue queue, cl_mem memory, size_t at,
                          size_t bytes) {
  if (code != CL_SUCCESS || !spoils(due)) return code;
  return spoil_memory(due.action, queue, memory, at, bytes);
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                        size_t at, size_t bytes, const void *from, cl_uint count,
                                        const cl_event *list, cl_event *event) {
  const fault due = strike("clEnqueueWriteBuffer");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  const cl_int code = below.clEnqueueWriteBuffer(queue, memory, blocking, at, bytes, from,
                                                 events.count, list_of(&events), event);
  return spoil_after(due, code, queue, memory, at, bytes);
}

static cl_int CL_API_CALL enqueue_copy(cl_command_queue queue, cl_mem from, cl_mem to,
                                       size_t from_at, size_t to_at, size_t bytes, cl_uint count,
                                       const cl_event *list, cl_event *event) {
  const fault due = strike("clEnqueueCopyBuffer");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  const cl_int code = below.clEnqueueCopyBuffer(queue, from, to, from_at, to_at, bytes,
                                                events.count, list_of(&events), event);
  return spoil_after(due, code, queue, to, to_at, bytes);
}

static cl_int CL_API_CALL enqueue_fill(cl_command_queue queue, cl_mem memory, const void *pattern,
                                       size_t pattern_bytes, size_t at, size_t bytes, cl_uint count,
                                       const cl_event *list, cl_event *event) {
  const fault due = strike("clEnqueueFillBuffer");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  const cl_int code = below.clEnqueueFillBuffer(queue, memory, pattern, pattern_bytes, at, bytes,
                                                events.count, list_of(&events), event);
  return spoil_after(due, code, queue, memory, at, bytes);
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint count,
                                         const cl_event *list, cl_event *event) {
  const fault due = strike("clEnqueueMarkerWithWaitList");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  return below.clEnqueueMarkerWithWaitList(queue, events.count, list_of(&events), event);
}

static cl_int CL_API_CALL enqueue_migrate(cl_command_queue queue, cl_uint memories,
                                          const cl_mem *memory, cl_mem_migration_flags flags,
                                          cl_uint count, const cl_event *list, cl_event *event) {
  const fault due = strike("clEnqueueMigrateMemObjects");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  return below.clEnqueueMigrateMemObjects(queue, memories, memory, flags, events.count,
                                          list_of(&events), event);
}

static void *CL_API_CALL enqueue_map(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t bytes, cl_uint count,
                                     const cl_event *list, cl_event *event, cl_int *error) {
  const fault due = strike("clEnqueueMapBuffer");
  if (due.action == FAULT_FAIL) {
    if (error) *error = due.value;
    return NULL;
  }
  const waits events = waits_for(due, queue, count, list);
  return below.clEnqueueMapBuffer(queue, memory, blocking, flags, offset, bytes, events.count,
                                  list_of(&events), event, error);
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue queue, cl_mem memory, void *at,
                                        cl_uint count, const cl_event *list, cl_event *event) {
  const fault due = strike("clEnqueueUnmapMemObject");
  if (due.action == FAULT_FAIL) return due.value;
  const waits events = waits_for(due, queue, count, list);
  return below.clEnqueueUnmapMemObject(queue, memory, at, events.count, list_of(&events), event);
}

/* -------------------------------------------------------------------------- the table */

/* A function's name and its place in the table of a driver. */
#define AT(function) #function, offsetof(cl_icd_dispatch, function)

const entry entries[] = {
    {AT(clBuildProgram), (void *)build_program},
    {AT(clCreateKernel), (void *)create_kernel},
    {AT(clCreateContext), (void *)create_context},
    {AT(clCreateCommandQueue), (void *)create_queue},
    {AT(clCreateProgramWithBinary), (void *)create_from_binary},
    {AT(clCreateProgramWithSource), (void *)create_from_source},
    {AT(clCreateUserEvent), (void *)create_user_event},
    {AT(clSetUserEventStatus), (void *)set_user_event},
    {AT(clFinish), (void *)finish},
    {AT(clFlush), (void *)flush},
    {AT(clWaitForEvents), (void *)wait_for_events},
    {AT(clGetPlatformIDs), (void *)get_platforms},
    {AT(clGetPlatformInfo), (void *)get_platform_info},
    {AT(clGetDeviceIDs), (void *)get_devices},
    {AT(clGetCommandQueueInfo), (void *)get_queue_info},
    {AT(clGetContextInfo), (void *)get_context_info},
    {AT(clGetEventInfo), (void *)get_event_info},
    {AT(clGetEventProfilingInfo), (void *)get_profiling_info},
    {AT(clGetKernelWorkGroupInfo), (void *)get_work_group_info},
    {AT(clGetMemObjectInfo), (void *)get_memory_info},
    {AT(clGetProgramBuildInfo), (void *)get_build_info},
    {AT(clGetProgramInfo), (void *)get_program_info},
    {AT(clReleaseCommandQueue), (void *)release_queue},
    {AT(clReleaseContext), (void *)release_context},
    {AT(clReleaseEvent), (void *)release_event},
    {AT(clReleaseProgram), (void *)release_program},
    {AT(clSetEventCallback), (void *)set_event_callback},
    {AT(clGetDeviceInfo), (void *)get_device_info},
    {AT(clCreateBuffer), (void *)create_buffer},
    {AT(clCreateSubBuffer), (void *)create_sub_buffer},
    {AT(clReleaseMemObject), (void *)release_memory},
    {AT(clSetKernelArg), (void *)set_argument},
    {AT(clReleaseKernel), (void *)release_kernel},
    {AT(clEnqueueNDRangeKernel), (void *)enqueue_kernel},
    {AT(clEnqueueReadBuffer), (void *)enqueue_read},
    {AT(clEnqueueWriteBuffer), (void *)enqueue_write},
    {AT(clEnqueueCopyBuffer), (void *)enqueue_copy},
    {AT(clEnqueueFillBuffer), (void *)enqueue_fill},
    {AT(clEnqueueMarkerWithWaitList), (void *)enqueue_marker},
    {AT(clEnqueueMigrateMemObjects), (void *)enqueue_migrate},
    {AT(clEnqueueMapBuffer), (void *)enqueue_map},
    {AT(clEnqueueUnmapMemObject), (void *)enqueue_unmap},
    {NULL, 0, NULL},
};

const char *strike_name(int number) {
  return entries[number].name;
}

/* ------------------------------------------------------------------------------ layer */

static cl_int answer(const void *from, size_t bytes, size_t size, void *value, size_t *needed) {
  if (needed) *needed = bytes;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) memcpy(value, from, bytes);
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *needed) {
  static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  static const char name[] = "convoy-faults";
  if (what == CL_LAYER_API_VERSION) return answer(&version, sizeof version, size, value, needed);
  if (what == CL_LAYER_NAME) return answer(name, sizeof name, size, value, needed);
  return CL_INVALID_VALUE;
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL clInitLayer(
    cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out, const cl_icd_dispatch **out) {
  static cl_icd_dispatch ours;
  const size_t bytes = count * sizeof(void *);
  memcpy(&below, target, bytes < sizeof below ? bytes : sizeof below);
  for (const entry *each = entries; each->name; each++)
    memcpy((char *)&ours + each->place, &each->function, sizeof each->function);
  strike_start();
  *count_out = sizeof ours / sizeof(void *);
  *out = &ours;
  return CL_SUCCESS;
}
