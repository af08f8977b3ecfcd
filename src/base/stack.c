/* What the calling thread's stack still holds. The main thread's grows up to the limit that the
 * process has then (ulimit -s). */
#include <pthread.h>

#include "base/base.h"

/* SIZE_MAX where it cannot be told: on a stack that the program has made itself. */
static size_t stack_left(void) {
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  pthread_attr_t attributes;
  void *begin = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return SIZE_MAX;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  const uintptr_t left = here - (uintptr_t)begin; /* enormous below it */
  return left <= size ? left : SIZE_MAX;
}

convoy_status cvy_stack_check(const char *function) {
  const size_t left = stack_left();
  if (left >= CVY_STACK_LEAST) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_MEMORY,
                  "%s needs %zu KiB of stack, and this thread has %zu KiB left (ulimit -s, or the "
                  "size that the thread was given)",
                  function, CVY_STACK_LEAST >> 10, left >> 10);
}
