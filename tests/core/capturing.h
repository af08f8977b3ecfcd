/* What tests of graphs have in common: tensors of six equal numbers, and calls that end the test
 * where they fail. */
#ifndef CAPTURING_H
#define CAPTURING_H

#include "convoy/convoy.h"

enum { COUNT = 6 };
extern const int64_t capturing_shape[3];
extern const char *const capturing_devices[2];

int capturing_reset(void **state); /* a test's setup */
convoy_tensor *filled(convoy_context *context, float value);
void fill(convoy_tensor *tensor, float value);
void expect(convoy_tensor *tensor, float value);
/* ERR_ARGUMENT, with a sentence that has the word in it. */
void expect_refused(convoy_status status, const char *word);
void run(convoy_graph *graph);
void add(convoy_context *context, convoy_tensor *a, convoy_tensor *b, convoy_tensor *y);
void begin(convoy_context *context);
convoy_graph *end(convoy_context *context);

#endif
