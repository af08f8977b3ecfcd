/* What the tests of the lane share: a lane to the fake engine, and arrays with known contents. */
#ifndef TEST_LANE_H
#define TEST_LANE_H

#include <string.h>

#include "common/cmocka.h"
#include "common/commands.h"

#define LANE (&cvy_backend_ocl)

/* Opens device 0 with the fake engine scripted ("fail:3"; NULL: it behaves). */
cvy_device *lane_open(int32_t isolation, const char *script);
/* The same in a process of its own, with these deadlines ("run=0.5"). */
cvy_device *lane_open_impatient(const char *deadlines, const char *script);
/* All are interrupted while `lane_interrupt` is not 0. */
cvy_open_options lane_options(int32_t isolation);
extern volatile int lane_interrupt;

/* A job of the fake engine, on arrays of any size. */
cvy_job lane_job(uint64_t a, uint64_t b, uint64_t out);

/* Bytes that tell position and array apart. */
void lane_fill(unsigned char *bytes, int64_t count, uint64_t seed);
/* Allocates and writes; reads and compares. */
void lane_put(cvy_device *device, uint64_t id, int64_t bytes, uint64_t seed);
void lane_expect(cvy_device *device, uint64_t id, int64_t bytes, uint64_t seed);

/* The process behind it; 0: none. */
int lane_worker(const cvy_device *device);
/* The descriptors that a process has open. */
int lane_count_files(int process);
/* One command and a wait for it: the status, and the seconds it took. */
convoy_status lane_use(cvy_device *device, double *seconds);

/* Clears a faulted device. */
convoy_status lane_clear(cvy_device *device);

void assert_sentence_has(const char *part);

/* Runs the program's tests once per isolation; the tests take it from *state. */
int lane_run_all(const struct CMUnitTest *tests, size_t count);
int32_t lane_isolation(void **state);

#endif
