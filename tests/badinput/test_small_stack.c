/* A thread whose stack is too small is told so, with both numbers; on the least that convoy.h asks
 * for everything works. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "convoy/convoy.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAKES_MORE 1 /* what is compiled for a sanitizer */
#else
#define TAKES_MORE 0
#endif

enum { KIB = 1024, LEAST_KIB = 128, ENOUGH_KIB = 256 };

/* ---------------------------------------------------------------------------- on a thread */

typedef struct use {
  const char *device;
  convoy_status status;
  char sentence[512];
} use;

static convoy_status train(convoy_context *context) {
  static float x[2 * 8 * 20 * 20], w[8 * 8 * 3 * 3], y[2 * 8 * 18 * 18];
  const int64_t x_shape[] = {2, 8, 20, 20}, w_shape[] = {8, 8, 3, 3};
  const convoy_conv conv = CONVOY_CONV_INIT(2);
  convoy_status status =
      convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL);
  if (!status)
    status = convoy_backward_data_host(context, &conv, x_shape, y, w_shape, w, 0, x, NULL);
  if (status) return status;
  return convoy_backward_weights_host(context, &conv, x_shape, x, w_shape, y, 0, w, NULL);
}

/* The calls whose recursion and tables take most: a text as deep as may be, its gradient, both
 * ways of carrying out a program. */
static convoy_status use_programs(convoy_context *context) {
  enum { DEEP = 127 };
  char deep[2 * DEEP + 8] = "y = ", text[64];
  convoy_program *program = NULL, *gradient = NULL;
  convoy_tensor *x = NULL;
  memset(deep + 4, '(', DEEP);
  deep[4 + DEEP] = 'x';
  memset(deep + 5 + DEEP, ')', DEEP);
  convoy_status status = convoy_program_parse(deep, &program);
  if (!status) status = convoy_program_gradient(program, NULL, &gradient);
  if (!status) status = convoy_program_text(gradient, text, sizeof text);
  if (!status) status = convoy_tensor_new(context, 2, (const int64_t[]){20, 30}, &x);
  if (!status) status = convoy_apply(context, program, (const convoy_tensor *const[]){x}, &x, NULL);
  if (!status) status = convoy_silu(context, x, x, NULL);
  if (!status) status = convoy_sync(context);
  convoy_tensor_free(x);
  convoy_program_free(gradient);
  convoy_program_free(program);
  return status;
}

/* Everything, if it opens. */
static void *run(void *argument) {
  use *self = argument;
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_device_info info = {.struct_size = sizeof info};
  convoy_context *context = NULL;
  char why[256];
  int32_t count;
  options.device = self->device;
  self->status = convoy_open(&options, &context);
  if (!self->status) self->status = convoy_devices(&options, &info, 1, &count, why, sizeof why);
  if (!self->status) self->status = train(context);
  if (!self->status) self->status = use_programs(context);
  if (self->status) snprintf(self->sentence, sizeof self->sentence, "%s", convoy_last_error());
  convoy_close(context);
  return NULL;
}

/* False: the system starts no thread with so little. */
static bool run_with(int kib, const char *device, use *self) {
  pthread_attr_t attributes;
  pthread_t thread;
  *self = (use){.device = device};
  pthread_attr_init(&attributes);
  const bool started = pthread_attr_setstacksize(&attributes, (size_t)kib * KIB) == 0 &&
                       pthread_create(&thread, &attributes, run, self) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, NULL);
  return started;
}

/* The C library takes a part of a thread's stack for the thread's own variables. */
static void check_threads(const char *device, int step) {
  int refused = 0, used = 0;
  if (TAKES_MORE) skip();
  for (int kib = 32; kib <= ENOUGH_KIB; kib += step) {
    use self;
    if (!run_with(kib, device, &self)) continue;
    refused += self.status != CONVOY_OK;
    used += self.status == CONVOY_OK;
    if (!self.status) continue;
    assert_int_equal(self.status, CONVOY_ERR_MEMORY);
    assert_true(kib < ENOUGH_KIB);
    int needed = 0, left = 0;
    const char *numbers = strstr(self.sentence, "needs ");
    if (!numbers ||
        sscanf(numbers, "needs %d KiB of stack, and this thread has %d", &needed, &left) != 2)
      fail_msg("%s", self.sentence);
    assert_int_equal(needed, LEAST_KIB);
    assert_in_range(left, 0, kib);
    assert_true(left < needed);
  }
  assert_true(refused > 0 && used > 0);
}

static void threads_on_the_cpu(void **state) {
  (void)state;
  check_threads("cpu", 8);
}

/* Where there is no such device, of its absence. */
static void threads_on_a_device(void **state) {
  (void)state;
  check_threads("ocl", 32);
}

/* --------------------------------------------------------------------- the main thread */

/* Its stack grows up to the limit that the process has now. */
static void the_main_thread_grows(void **state) {
  (void)state;
  static const struct {
    rlim_t limit;
    convoy_status status;
  } cases[] = {{96 * KIB, CONVOY_ERR_MEMORY}, {1024 * KIB, CONVOY_OK}, {RLIM_INFINITY, CONVOY_OK}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      struct rlimit limit;
      use self = {.device = "cpu"};
      getrlimit(RLIMIT_STACK, &limit);
      limit.rlim_cur = cases[i].limit < limit.rlim_max ? cases[i].limit : limit.rlim_max;
      setrlimit(RLIMIT_STACK, &limit);
      run(&self);
      _exit(self.status != cases[i].status);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_on_the_cpu),
      cmocka_unit_test(threads_on_a_device),
      cmocka_unit_test(the_main_thread_grows),
  };
  convoy_set_log(NULL, NULL, CONVOY_LOG_ERROR); /* "ocl" may not be there */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
