/* The stood-in GPU. Memory is host memory with a buffer over it, so that its address is a pointer
 * that can be computed with, and the buffer is found again by it. With STANDIN_ANY_MEMORY all of
 * the process's memory is the card's too, and commands are done when they are enqueued: so a
 * framework on the processor can stand in for one on a card. A failure that is only seen afterwards
 * stays: CUDA and HIP carry out nothing more in such a process. */
#include "gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "inside.h"
#include "record.h"

enum { MEMORIES = 4096, PLATFORMS = 16, PAGE = 4096, STREAMS = 64 };

gpu_inside gpu;
static cl_command_queue default_stream, streams[STREAMS];
static memory memories[MEMORIES];
static int memory_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int broken;
static _Thread_local bool entered;

static const struct {
  int code;
  const char *name;
} names[] = {
    {GPU_INVALID_VALUE, "INVALID_VALUE"},
    {GPU_NO_MEMORY, "OUT_OF_MEMORY"},
    {GPU_NO_DEVICE, "NO_DEVICE"},
    {GPU_INVALID_DEVICE, "INVALID_DEVICE"},
    {GPU_INVALID_IMAGE, "INVALID_IMAGE"},
    {GPU_INVALID_HANDLE, "INVALID_HANDLE"},
    {GPU_NOT_FOUND, "NOT_FOUND"},
    {GPU_NOT_READY, "NOT_READY"},
    {GPU_LAUNCH_FAILED, "LAUNCH_FAILED"},
    {GPU_NOT_INITIALIZED, "NOT_INITIALIZED"},
    {GPU_RECORDED, "STREAM_CAPTURE_UNSUPPORTED"},
    {GPU_RECORDING_BROKEN, "STREAM_CAPTURE_INVALIDATED"},
};

const char *gpu_error_name(int code) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].code == code) return names[i].name;
  return NULL;
}

/* ------------------------------------------------------------------------------------- codes */

int gpu_code_of(cl_int code) {
  switch (code) {
    case CL_SUCCESS:
      return GPU_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      return GPU_NO_MEMORY;
    case CL_INVALID_VALUE:
    case CL_INVALID_WORK_GROUP_SIZE:
      return GPU_INVALID_VALUE;
    default:
      return GPU_LAUNCH_FAILED;
  }
}

/* What a thread may not do, or nobody any more. */
int gpu_refused(void) {
  const int lasting = atomic_load(&broken);
  return lasting ? lasting : entered ? GPU_OK : GPU_NOT_INITIALIZED;
}

void gpu_break(int code) {
  atomic_store(&broken, code);
}

static int lasting(int code) {
  if (code) gpu_break(code);
  return code;
}

void gpu_enter(bool uses) {
  entered = uses;
}

bool gpu_entered(void) {
  return entered;
}

/* The same, for what may not be done while others record. */
int gpu_refused_now(void) {
  return gpu_refused() ? gpu_refused() : record_unsafe();
}

/* ------------------------------------------------------------------------------------ device */

static cl_device_id find_device(void) {
  cl_platform_id platforms[PLATFORMS];
  cl_uint count = 0;
  char name[128];
  cl_device_id found = NULL;
  if (clGetPlatformIDs(PLATFORMS, platforms, &count) != CL_SUCCESS) return NULL;
  for (cl_uint i = 0; i < count && i < PLATFORMS && !found; i++) {
    if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
        strcmp(name, "Portable Computing Language") == 0)
      clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &found, NULL);
  }
  return found;
}

static int started;

/* STANDIN_STATUS is what a driver without devices says. */
static void start(void) {
  const char *status = getenv("STANDIN_STATUS");
  cl_int code;
  gpu_faults_start();
  if (status) {
    started = atoi(status);
    return;
  }
  started = GPU_NO_DEVICE;
  gpu.device = find_device();
  if (!gpu.device) return;
  gpu.context = clCreateContext(NULL, 1, &gpu.device, NULL, NULL, &code);
  if (code == CL_SUCCESS) default_stream = clCreateCommandQueue(gpu.context, gpu.device, 0, &code);
  gpu.any_memory = getenv("STANDIN_ANY_MEMORY") != NULL;
  gpu.idle = getenv("STANDIN_IDLE") != NULL;
  started = gpu_code_of(code);
}

int gpu_start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  const int failure = gpu_failure("gpu_start");
  return failure ? failure : started;
}

/* STANDIN_NAME makes it another card than OpenCL's. */
int gpu_name(char *to, int size) {
  const char *other = getenv("STANDIN_NAME");
  char name[1024] = "";
  cl_int code = clGetDeviceInfo(gpu.device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  const char *from = other ? other : name;
  while (*from == ' ') from++;
  snprintf(to, (size_t)size, "%s", from);
  return gpu_code_of(code);
}

static size_t number(cl_device_info what, size_t bytes) {
  unsigned char room[8] = {0};
  cl_ulong value = 0;
  if (clGetDeviceInfo(gpu.device, what, bytes, room, NULL) != CL_SUCCESS) return 0;
  memcpy(&value, room, sizeof value); /* little endian */
  return value;
}

int gpu_memory_bytes(size_t *out) {
  *out = number(CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
  return GPU_OK;
}

int gpu_units(void) {
  return (int)number(CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
}

int gpu_clock(void) {
  return (int)number(CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint)) * 1000;
}

int gpu_local_bytes(void) {
  return (int)number(CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
}

int gpu_group_items(void) {
  return (int)number(CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
}

/* ------------------------------------------------------------------------------------ stream */

static atomic_long waits;
long gpu_waits(void) {
  return atomic_load(&waits);
}

cl_command_queue gpu_queue_of(void *stream) {
  return stream ? stream : default_stream;
}

/* What a command returns. */
int gpu_enqueued(cl_int code, void *stream) {
  if (code == CL_SUCCESS && gpu.any_memory) code = clFinish(gpu_queue_of(stream));
  return gpu_code_of(code);
}

static int keep_stream(cl_command_queue new) {
  int kept = GPU_NO_MEMORY;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < STREAMS && kept; i++) {
    if (streams[i]) continue;
    streams[i] = new;
    kept = GPU_OK;
  }
  pthread_mutex_unlock(&lock);
  return kept;
}

static void forget_stream(cl_command_queue gone) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < STREAMS; i++)
    if (streams[i] == gone) streams[i] = NULL;
  pthread_mutex_unlock(&lock);
}

void gpu_settle(void) {
  for (int i = 0; i < STREAMS; i++) {
    pthread_mutex_lock(&lock);
    cl_command_queue queue = streams[i];
    if (queue) clRetainCommandQueue(queue);
    pthread_mutex_unlock(&lock);
    if (!queue) continue;
    clFinish(queue);
    clReleaseCommandQueue(queue);
  }
}

int gpu_stream(void **out) {
  cl_int code;
  const int failure = gpu_failure("gpu_stream");
  if (failure || gpu_refused()) return failure ? failure : gpu_refused();
  cl_command_queue new = clCreateCommandQueue(gpu.context, gpu.device, 0, &code);
  *out = new;
  return new ? keep_stream(new) : gpu_code_of(code);
}

int gpu_stream_release(void *stream) {
  const int failure = gpu_failure("gpu_stream_release");
  if (failure) return failure;
  forget_stream(stream);
  clReleaseCommandQueue(stream);
  return gpu_refused();
}

int gpu_stream_wait(void *stream) {
  int code = gpu_failure("gpu_stream_wait");
  if (!code) code = gpu_refused() ? gpu_refused() : record_waits(stream);
  atomic_fetch_add(&waits, 1);
  return code ? code : lasting(gpu_code_of(clFinish(gpu_queue_of(stream))));
}

/* ------------------------------------------------------------------------------------ memory */

int gpu_find_memory(const void *at, size_t bytes, memory *out) {
  int found = GPU_INVALID_VALUE;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < memory_count && found; i++) {
    const size_t from = (size_t)((const char *)at - memories[i].at);
    if ((const char *)at < memories[i].at || from >= memories[i].bytes ||
        bytes > memories[i].bytes - from)
      continue;
    *out = memories[i];
    found = GPU_OK;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

int gpu_memory(void **out, size_t bytes) {
  memory new = {.bytes = bytes};
  cl_int code;
  int not_now = gpu_failure("gpu_memory");
  if (!not_now) not_now = gpu_refused_now();
  if (not_now) return not_now;
  if (bytes == 0) return GPU_INVALID_VALUE;
  new.at = bytes < SIZE_MAX - PAGE ? aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE) : NULL;
  if (!new.at) return GPU_NO_MEMORY;
  new.buffer =
      clCreateBuffer(gpu.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, new.at, &code);
  pthread_mutex_lock(&lock);
  const int room = memory_count < MEMORIES;
  if (new.buffer && room) memories[memory_count++] = new;
  pthread_mutex_unlock(&lock);
  if (new.buffer && room) {
    *out = new.at;
    return GPU_OK;
  }
  if (new.buffer) clReleaseMemObject(new.buffer);
  free(new.at);
  return new.buffer ? GPU_NO_MEMORY : gpu_code_of(code);
}

int gpu_memory_release(void *at) {
  memory gone = {0};
  const int failure = gpu_failure("gpu_memory_release");
  if (failure || record_unsafe()) return failure ? failure : GPU_RECORDED;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < memory_count; i++) {
    if (memories[i].at != at) continue;
    gone = memories[i];
    memories[i] = memories[--memory_count];
    break;
  }
  pthread_mutex_unlock(&lock);
  if (!gone.buffer) return GPU_INVALID_VALUE;
  clReleaseMemObject(gone.buffer);
  free(gone.at);
  return gpu_refused();
}

/* The processor's memory is good as it is. */
int gpu_pin(void *at, size_t bytes) {
  const int failure = gpu_failure("gpu_pin");
  if (failure) return failure;
  return gpu_refused() ? gpu_refused() : at && bytes ? GPU_OK : GPU_INVALID_VALUE;
}

int gpu_unpin(void *at) {
  const int failure = gpu_failure("gpu_unpin");
  if (failure) return failure;
  return at ? GPU_OK : GPU_INVALID_VALUE;
}

/* ---------------------------------------------------------------------------------- commands */

/* Memory that is nobody's has no buffer. */
static int find(const void *at, size_t bytes, memory *out, size_t *from) {
  int code = gpu_refused();
  *out = (memory){0};
  *from = 0;
  if (!code) code = gpu_find_memory(at, bytes, out);
  if (code == GPU_INVALID_VALUE && gpu.any_memory && at) return GPU_OK;
  if (!code) *from = (size_t)((const char *)at - out->at);
  return code;
}

static int move(void *to, const void *from, size_t bytes, void *stream) {
  return gpu_enqueued(
      clEnqueueSVMMemcpy(gpu_queue_of(stream), CL_TRUE, to, from, bytes, 0, NULL, NULL), stream);
}

/* From and to host memory nothing is recorded: what is there when the graph is launched would be
 * read, and no test has a use for that. */
int gpu_write(void *to, const void *from, size_t bytes, void *stream) {
  memory in;
  size_t at;
  const gpu_fault due = gpu_command_fault("gpu_write", stream);
  int code = due.code ? due.code : find(to, bytes, &in, &at);
  if (!code) code = record_waits(stream);
  if (code) return code;
  if (!in.buffer) return move(to, from, bytes, stream);
  code = clEnqueueWriteBuffer(gpu_queue_of(stream), in.buffer, CL_FALSE, at, bytes, from, 0, NULL,
                              NULL);
  return gpu_spoil(&due, gpu_enqueued(code, stream), to, bytes, stream);
}

int gpu_read(void *to, const void *from, size_t bytes, void *stream) {
  memory in;
  size_t at;
  const gpu_fault due = gpu_command_fault("gpu_read", stream);
  int code = due.code ? due.code : find(from, bytes, &in, &at);
  if (!code) code = record_waits(stream);
  if (code) return code;
  if (!in.buffer) return move(to, from, bytes, stream);
  code =
      clEnqueueReadBuffer(gpu_queue_of(stream), in.buffer, CL_FALSE, at, bytes, to, 0, NULL, NULL);
  return gpu_spoil(&due, gpu_enqueued(code, stream), to, bytes, stream);
}

typedef struct copy {
  void *to;
  const void *from;
  size_t bytes;
} copy;

static int run_copy(const void *what, void *stream) {
  const copy *of = what;
  return gpu_copy(of->to, of->from, of->bytes, stream);
}

int gpu_copy(void *to, const void *from, size_t bytes, void *stream) {
  memory source, target;
  const copy what = {to, from, bytes};
  size_t source_at, target_at;
  const gpu_fault due = gpu_command_fault("gpu_copy", stream);
  int code = due.code ? due.code : find(from, bytes, &source, &source_at);
  if (!code) code = find(to, bytes, &target, &target_at);
  if (code || record_add(stream, run_copy, &what, sizeof what, &code)) return code;
  if (!source.buffer || !target.buffer) return move(to, from, bytes, stream);
  code = clEnqueueCopyBuffer(gpu_queue_of(stream), source.buffer, target.buffer, source_at,
                             target_at, bytes, 0, NULL, NULL);
  return gpu_spoil(&due, gpu_enqueued(code, stream), to, bytes, stream);
}

typedef struct filling {
  void *to;
  size_t bytes;
  unsigned char value;
} filling;

static int run_fill(const void *what, void *stream) {
  const filling *of = what;
  return gpu_fill(of->to, of->value, of->bytes, stream);
}

int gpu_fill(void *to, unsigned char value, size_t bytes, void *stream) {
  memory in;
  size_t at;
  const filling what = {to, bytes, value};
  const gpu_fault due = gpu_command_fault("gpu_fill", stream);
  int code = due.code ? due.code : find(to, bytes, &in, &at);
  if (code || record_add(stream, run_fill, &what, sizeof what, &code)) return code;
  if (!in.buffer) {
    memset(to, value, bytes);
    return GPU_OK;
  }
  code = clEnqueueFillBuffer(gpu_queue_of(stream), in.buffer, &value, sizeof value, at, bytes, 0,
                             NULL, NULL);
  return gpu_spoil(&due, gpu_enqueued(code, stream), to, bytes, stream);
}

/* ------------------------------------------------------------------------------------ events */

int gpu_event(void **out) {
  const int failure = gpu_failure("gpu_event");
  if (failure) return failure;
  cl_event *event = gpu_refused() ? NULL : calloc(1, sizeof *event);
  *out = event;
  return event ? GPU_OK : gpu_refused() ? gpu_refused() : GPU_NO_MEMORY;
}

int gpu_event_record(void *event, void *stream) {
  cl_event *at = event;
  int code = gpu_command_fault("gpu_event_record", stream).code;
  if (!code) code = gpu_refused() ? gpu_refused() : record_waits(stream);
  if (code) return code;
  if (*at) clReleaseEvent(*at);
  *at = NULL;
  return gpu_code_of(clEnqueueMarkerWithWaitList(gpu_queue_of(stream), 0, NULL, at));
}

int gpu_event_query(void *event) {
  const cl_event *at = event;
  cl_int state = CL_COMPLETE;
  int not_now = gpu_failure("gpu_event_query");
  if (!not_now) not_now = gpu_refused_now();
  if (not_now || !*at) return not_now;
  cl_int code = clGetEventInfo(*at, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  if (code == CL_SUCCESS && state > CL_COMPLETE) return GPU_NOT_READY;
  return lasting(gpu_code_of(code == CL_SUCCESS ? state : code));
}

int gpu_event_wait(void *event) {
  const cl_event *at = event;
  const int failure = gpu_failure("gpu_event_wait");
  if (failure || gpu_refused() || !*at) return failure ? failure : gpu_refused();
  return lasting(gpu_code_of(clWaitForEvents(1, at)));
}

int gpu_event_release(void *event) {
  cl_event *at = event;
  if (*at) clReleaseEvent(*at);
  free(at);
  return gpu_failure("gpu_event_release");
}

int gpu_stream_wait_event(void *stream, void *event) {
  const cl_event *at = event;
  int code = gpu_failure("gpu_stream_wait_event");
  if (!code) code = gpu_refused() ? gpu_refused() : record_waits(stream);
  if (code || !*at) return code;
  return gpu_code_of(clEnqueueBarrierWithWaitList(gpu_queue_of(stream), 1, at, NULL));
}
