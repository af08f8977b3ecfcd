/* Children made by fork(): what they inherit is whole, and the device is left to the parent. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "common/forks.h"
#include "core/fake.h"
#include "core/open.h"

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 3};
static const float x[] = {1, 2, 3, 4}, w[] = {1, 10}, y[] = {21, 32, 43};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

static int child_of_fork(convoy_context *context, convoy_tensor *ty, void *block) {
  float values[3], out[3];
  convoy_device_info info = {.struct_size = sizeof(info)};
  convoy_tensor *fresh = NULL;
  int64_t commands = fake_seen.commands;
  if (convoy_tensor_read(ty, values, 3) || memcmp(values, y, sizeof(y)) != 0) return 1;
  if (convoy_context_device(context, &info) || strcmp(info.id, "cpu") != 0) return 2;
  if (convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, out, NULL)) return 3;
  if (memcmp(out, y, sizeof(y)) != 0) return 4;
  if (convoy_tensor_new(context, 3, x_shape, &fresh)) return 5;
  convoy_tensor_free(fresh);
  convoy_tensor_free(ty);
  convoy_host_free(context, block);
  convoy_close(context);
  return fake_seen.commands == commands && fake_seen.closes == 0 ? 0 : 6;
}

static int status_of(pid_t child) {
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* In a child the device is not touched; what only the device has is computed anew. */
static void test_fork(void **state) {
  (void)state;
  for (int failover = CONVOY_ON; failover <= CONVOY_NO; failover++) {
    fake_reset();
    convoy_context *context = open_named("fake", (convoy_switch)failover);
    convoy_context *closed = open_named("fake", CONVOY_ON);
    convoy_close(closed);
    fake_seen.closes = 0;
    convoy_tensor *tx = tensor_of(context, x_shape, x), *tw = tensor_of(context, w_shape, w);
    convoy_tensor *ty = tensor_of(context, y_shape, NULL);
    void *block = NULL;
    assert_int_equal(convoy_host_alloc(context, 10, &block), CONVOY_OK);
    assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
    assert_int_equal(convoy_sync(context), CONVOY_OK);
    pid_t child = fork();
    if (child == 0) _exit(child_of_fork(context, ty, block));
    assert_int_equal(status_of(child), 0);
    check_tensor(ty, y); /* the parent goes on as if nothing had happened */
    assert_int_equal(health_of(context).downgrades, 0);
    convoy_tensor_free(tx);
    convoy_tensor_free(tw);
    convoy_tensor_free(ty);
    convoy_host_free(context, block);
    convoy_close(context);
  }
}

/* -------------------------------------------------------------------------- other threads */

/* A thread that writes y over and over, all of it 1 and all of it 2 in turn. */
typedef struct writer {
  convoy_context *context;
  int64_t taps;
  convoy_tensor *x, *w, *y;
  atomic_int rounds;
  atomic_bool stop;
} writer;

enum { WRITTEN = 80000, MOST_TAPS = 8192 };
enum { WHOLE = 0, REFUSED = 100 }; /* exit statuses of children; others are failures */

static convoy_status write_round(writer *self, float value) {
  static float values[WRITTEN + MOST_TAPS];
  int64_t count = WRITTEN + self->taps - 1;
  for (int64_t i = 0; i < count; i++) values[i] = value / (float)self->taps;
  convoy_status status = convoy_tensor_write(self->x, values, count);
  if (status) return status;
  return convoy_forward(self->context, &conv, self->x, self->w, NULL, NULL, self->y, NULL);
}

static void *keep_writing(void *given) {
  writer *self = given;
  while (!atomic_load(&self->stop)) {
    int round = atomic_fetch_add(&self->rounds, 1);
    assert_int_equal(write_round(self, (float)(1 + round % 2)), CONVOY_OK);
  }
  return NULL;
}

/* Whether y is whole or known not to be; and the child can write it anew. */
static int child_of_writer(writer *self) {
  static float values[WRITTEN];
  alarm(100);
  convoy_status status = convoy_tensor_read(self->y, values, WRITTEN);
  if (status && (status != CONVOY_ERR_DEVICE || !strstr(convoy_last_error(), "forked"))) return 1;
  for (int i = 0; i < WRITTEN && !status; i++) {
    if (values[i] != values[0]) return 2;
  }
  if (write_round(self, 4) || convoy_tensor_read(self->y, values, WRITTEN)) return 3;
  for (int i = 0; i < WRITTEN; i++) {
    if (values[i] != 4) return 4;
  }
  convoy_tensor_free(self->y);
  return status ? REFUSED : WHOLE;
}

/* Returns how many children could not have y's values. */
static int fork_while_writing(int64_t taps, int forks) {
  const int64_t filter[] = {1, 1, taps}, in[] = {1, 1, WRITTEN + taps - 1}, out[] = {1, 1, WRITTEN};
  static float ones[MOST_TAPS];
  writer self = {.context = open_named("cpu", CONVOY_NO), .taps = taps};
  pthread_t thread;
  int refused = 0;
  for (int64_t i = 0; i < taps; i++) ones[i] = 1;
  assert_int_equal(convoy_tensor_new(self.context, 3, in, &self.x), CONVOY_OK);
  assert_int_equal(convoy_tensor_new(self.context, 3, filter, &self.w), CONVOY_OK);
  assert_int_equal(convoy_tensor_new(self.context, 3, out, &self.y), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(self.w, ones, taps), CONVOY_OK);
  assert_int_equal(convoy_set_algorithm(self.context, "cpu.direct"), CONVOY_OK);
  assert_int_equal(pthread_create(&thread, NULL, keep_writing, &self), 0);
  for (int i = 0; i < forks; i++) {
    int rounds = atomic_load(&self.rounds);
    while (atomic_load(&self.rounds) < rounds + 2) usleep(100);
    pid_t child = fork();
    if (child == 0) _exit(child_of_writer(&self));
    int status = status_of(child);
    assert_true(status == WHOLE || status == REFUSED);
    refused += status == REFUSED;
  }
  atomic_store(&self.stop, true);
  pthread_join(thread, NULL);
  convoy_tensor *const all[] = {self.x, self.w, self.y};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(self.context);
  return refused;
}

/* Another thread is in the middle of a call. A short one is waited for, a long one is not. */
static void test_fork_while_writing(void **state) {
  (void)state;
  int refused = fork_while_writing(64, 20);
  assert_true(refused <= 5);
  fork_while_writing(MOST_TAPS, 2);
}

int main(void) {
  if (!FORKS_WITHIN_MALLOC) { /* the engine's threads may be starting or ending */
    fputs("skipped: AddressSanitizer does not survive a fork of busy threads\n", stderr);
    return SKIPPED;
  }
  start_no_threads();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_fork_while_writing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
