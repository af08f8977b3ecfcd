/* Opening the device a test was asked to run on. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include <stddef.h>

#include "convoy/convoy.h"

#define TEST_SKIPPED 77 /* exit status that CTest counts as skipped */

/* `wanted`: "pocl" is the device of the platform "Portable Computing Language", wherever it stands in
 * the list; everything else goes to convoy_open as it is. NULL: TEST_DEVICE, else cpu. Opens without
 * failover, so that no device fault is hidden. Returns 0, or the exit status to end with after the
 * reason has gone to stderr: TEST_SKIPPED when OpenCL answers and has no such platform, EXIT_FAILURE
 * for everything else. */
int test_open(const char *wanted, convoy_context **context, convoy_device_info *info);

/* The id of such a device, for tests that open it themselves; returns what test_open does. */
int test_find(const char *wanted, char *id, size_t size);

#endif
