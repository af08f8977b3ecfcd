/* The functions of either driver, by name. */
#include "framework.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "common/cmocka.h"

static struct {
  int (*init)(unsigned flags);
  int (*stream)(void **out, unsigned flags);
  int (*stream_free)(void *stream);
  int (*wait)(void *stream);
  int (*memory)(void **out, size_t bytes);
  int (*memory_free)(void *at);
  int (*write)(void *to, const void *from, size_t bytes, void *stream);
  int (*read)(void *to, void *from, size_t bytes, void *stream);
  int (*begin)(void *stream, int mode);
  int (*end)(void *stream, void **graph);
  int (*launch)(void *graph, void *stream);
  int (*graph_free)(void *graph);
  long (*waits)(void);
  void (*skip_next)(int launches);
} driver;

static const struct {
  const char *cuda, *hip;
  size_t place;
} names[] = {
    {"cuInit", "hipInit", offsetof(__typeof__(driver), init)},
    {"cuStreamCreate", "hipStreamCreateWithFlags", offsetof(__typeof__(driver), stream)},
    {"cuStreamDestroy_v2", "hipStreamDestroy", offsetof(__typeof__(driver), stream_free)},
    {"cuStreamSynchronize", "hipStreamSynchronize", offsetof(__typeof__(driver), wait)},
    {"cuMemAlloc_v2", "hipMalloc", offsetof(__typeof__(driver), memory)},
    {"cuMemFree_v2", "hipFree", offsetof(__typeof__(driver), memory_free)},
    {"cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", offsetof(__typeof__(driver), write)},
    {"cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", offsetof(__typeof__(driver), read)},
    {"cuStreamBeginCapture_v2", "hipStreamBeginCapture", offsetof(__typeof__(driver), begin)},
    {"cuStreamEndCapture", "hipStreamEndCapture", offsetof(__typeof__(driver), end)},
    {"cuGraphLaunch", "hipGraphLaunch", offsetof(__typeof__(driver), launch)},
    {"cuGraphDestroy", "hipGraphDestroy", offsetof(__typeof__(driver), graph_free)},
    {"standin_waits", "standin_waits", offsetof(__typeof__(driver), waits)},
    {"standin_skip_next", "standin_skip_next", offsetof(__typeof__(driver), skip_next)},
};

static void enter(void *library, int is_cuda) {
  void *context = NULL;
  int (*set_device)(int device), (*retain)(void **out, int device), (*set_current)(void *context);
  if (!is_cuda) {
    *(void **)&set_device = dlsym(library, "hipSetDevice");
    assert_int_equal(set_device(0), 0);
    return;
  }
  *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
  *(void **)&set_current = dlsym(library, "cuCtxSetCurrent");
  assert_int_equal(retain(&context, 0), 0);
  assert_int_equal(set_current(context), 0);
}

void framework_start(const char *device) {
  int is_cuda = strncmp(device, "cuda", 4) == 0;
  void *library = dlopen(is_cuda ? "libcuda.so.1" : "libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
  if (!library) fail_msg("%s", dlerror());
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *function = dlsym(library, is_cuda ? names[i].cuda : names[i].hip);
    assert_non_null(function);
    memcpy((char *)&driver + names[i].place, &function, sizeof function);
  }
  assert_int_equal(driver.init(0), 0);
  enter(library, is_cuda);
}

void *framework_stream(void) {
  void *stream;
  assert_int_equal(driver.stream(&stream, 1), 0);
  return stream;
}

void framework_stream_free(void *stream) {
  assert_int_equal(driver.stream_free(stream), 0);
}

void *framework_memory(int64_t floats) {
  void *memory;
  assert_int_equal(driver.memory(&memory, (size_t)floats * sizeof(float)), 0);
  return memory;
}

void framework_free(void *memory) {
  assert_int_equal(driver.memory_free(memory), 0);
}

void framework_write(void *to, const float *from, int64_t floats, void *stream) {
  assert_int_equal(driver.write(to, from, (size_t)floats * sizeof(float), stream), 0);
  assert_int_equal(driver.wait(stream), 0);
}

void framework_wait(void *stream) {
  assert_int_equal(driver.wait(stream), 0);
}

void framework_read(float *to, void *from, int64_t floats, void *stream) {
  assert_int_equal(driver.read(to, from, (size_t)floats * sizeof(float), stream), 0);
  assert_int_equal(driver.wait(stream), 0);
}

void framework_record(void *stream) {
  assert_int_equal(driver.begin(stream, 0), 0);
}

void *framework_recorded(void *stream) {
  void *graph;
  assert_int_equal(driver.end(stream, &graph), 0);
  return graph;
}

void framework_replay(void *graph, void *stream) {
  assert_int_equal(driver.launch(graph, stream), 0);
}

void framework_graph_free(void *graph) {
  assert_int_equal(driver.graph_free(graph), 0);
}

long framework_waits(void) {
  return driver.waits();
}

void framework_skip_next(int launches) {
  driver.skip_next(launches);
}
