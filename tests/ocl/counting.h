/* Counts calls of OpenCL, through the fault layer without a fault. It must begin before the engine
 * is opened. */
#ifndef TEST_OCL_COUNTING_H
#define TEST_OCL_COUNTING_H

#include "faults/layer/control.h"

/* NULL if it cannot count. */
faults_control *test_counting_begin(void);
void test_counting_end(faults_control *layer);

#endif
