/* The rest of the OpenCL that computes nothing: objects without contents, commands without
 * effect. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/build_config.h"
#include "ocl/engine/algorithms.h"
#include "ocl/engine/clblast.h"

static char thing;

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *ids,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user, cl_int *code) {
  (void)properties, (void)count, (void)ids, (void)notify, (void)user;
  *code = CL_SUCCESS;
  return (cl_context)&thing;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id id,
                                      cl_command_queue_properties properties, cl_int *code) {
  (void)context, (void)id, (void)properties;
  *code = CL_SUCCESS;
  return (cl_command_queue)&thing;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *from,
                      cl_int *code) {
  (void)context, (void)flags, (void)bytes, (void)from;
  *code = CL_SUCCESS;
  return (cl_mem)&thing;
}

cl_mem clCreateSubBuffer(cl_mem memory, cl_mem_flags flags, cl_buffer_create_type type,
                         const void *region, cl_int *code) {
  (void)flags, (void)type, (void)region;
  *code = CL_SUCCESS;
  return memory;
}

static cl_int done_at_once(cl_event *event) {
  if (event) *event = (cl_event)&thing;
  return CL_SUCCESS;
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_at,
                           size_t to_at, size_t bytes, cl_uint waits, const cl_event *events,
                           cl_event *event) {
  (void)queue, (void)from, (void)to, (void)from_at, (void)to_at, (void)bytes, (void)waits;
  (void)events;
  return done_at_once(event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern,
                           size_t pattern_bytes, size_t at, size_t bytes, cl_uint waits,
                           const cl_event *events, cl_event *event) {
  (void)queue, (void)memory, (void)pattern, (void)pattern_bytes, (void)at, (void)bytes;
  (void)waits, (void)events;
  return done_at_once(event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t at,
                           size_t bytes, void *to, cl_uint waits, const cl_event *events,
                           cl_event *event) {
  (void)queue, (void)memory, (void)blocking, (void)at, (void)bytes, (void)to, (void)waits;
  (void)events;
  return done_at_once(event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t at,
                            size_t bytes, const void *from, cl_uint waits, const cl_event *events,
                            cl_event *event) {
  (void)queue, (void)memory, (void)blocking, (void)at, (void)bytes, (void)from, (void)waits;
  (void)events;
  return done_at_once(event);
}

/* There is nothing to map: whoever asks does without. */
void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                         cl_map_flags flags, size_t at, size_t bytes, cl_uint waits,
                         const cl_event *events, cl_event *event, cl_int *code) {
  (void)queue, (void)memory, (void)blocking, (void)flags, (void)at, (void)bytes, (void)waits;
  (void)events, (void)event;
  *code = CL_MAP_FAILURE;
  return NULL;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *at, cl_uint waits,
                               const cl_event *events, cl_event *event) {
  (void)queue, (void)memory, (void)at, (void)waits, (void)events;
  return done_at_once(event);
}

cl_int clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint count, const cl_mem *memory,
                                  cl_mem_migration_flags flags, cl_uint waits,
                                  const cl_event *events, cl_event *event) {
  (void)queue, (void)count, (void)memory, (void)flags, (void)waits, (void)events;
  return done_at_once(event);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint waits, const cl_event *events,
                                   cl_event *event) {
  (void)queue, (void)waits, (void)events;
  return done_at_once(event);
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *to, size_t *needed) {
  (void)event, (void)what, (void)needed;
  if (size >= sizeof(cl_int)) *(cl_int *)to = CL_COMPLETE;
  return CL_SUCCESS;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events) {
  (void)count, (void)events;
  return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue) {
  (void)queue;
  return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue queue) {
  (void)queue;
  return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event event) {
  (void)event;
  return CL_SUCCESS;
}

cl_int clReleaseMemObject(cl_mem memory) {
  (void)memory;
  return CL_SUCCESS;
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
  (void)queue;
  return CL_SUCCESS;
}

cl_int clReleaseContext(cl_context context) {
  (void)context;
  return CL_SUCCESS;
}

/* CLBlast's kernels are not ours to compile here. */
convoy_status clblast_products_open(cvy_device *device, span scratch, int64_t floats,
                                    clblast_products *out) {
  (void)scratch, (void)floats;
  *out = (clblast_products){.device = device};
  return CONVOY_OK;
}
void clblast_products_close(clblast_products *products) {
  (void)products;
}
convoy_status clblast_multiply(const clblast_products *products, int64_t m, int64_t n, int64_t k,
                               clblast_matrix a, clblast_matrix b, clblast_matrix c, float beta) {
  (void)products, (void)m, (void)n, (void)k, (void)a, (void)b, (void)c, (void)beta;
  return CONVOY_OK;
}

#if CONVOY_HAVE_CLBLAST
void clblast_close(void) {}
#endif
