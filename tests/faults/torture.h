/* What the programs that torture a step have in common: where and under which settings they run. */
#ifndef FAULTS_TORTURE_H
#define FAULTS_TORTURE_H

#include <stdbool.h>

#include "faults/layer/control.h"

#define TORTURE_BUDGET "2" /* seconds that a public call may wait for the device */
#define TORTURE_SLACK 1.0  /* and how much longer it may take */

/* Runs `run` on PoCL under the layer, or on `device`, the stand-in of a driver (tests/standin),
 * which has its own; with a folder of its own for everything that is written and settings that do
 * not depend on the user. Returns what it does, or what test_find says without the device; 2: there
 * is no folder. */
#define TORTURE_POCL "pocl"
int torture_run(const char *device,
                int (*run)(void *user, const char *device, faults_control *control), void *user);

/* Kernels launched so far. */
uint64_t torture_launches(const faults_control *control);

/* Compiling everything for the first time takes its time; what hangs later shall be noticed
 * soon. */
void torture_set_patience(bool patient);

/* Whether a list of words with commas between has the word. */
bool torture_lists(const char *list, const char *word);

#endif
