/* A problem under test, read from a line of the public shape grammar. */
#ifndef TEST_CASE_H
#define TEST_CASE_H

#include <stdbool.h>

#include "convoy/convoy.h"

typedef struct test_case {
  convoy_conv conv;
  convoy_direction direction;
  int64_t x_shape[CONVOY_MAX_DIMS], w_shape[CONVOY_MAX_DIMS], y_shape[CONVOY_MAX_DIMS];
} test_case;

int64_t test_count(const int64_t *shape, int32_t rank); /* elements of an array of rank + 2 dims */

/* False, with the library's sentence on stderr, if the text is no legal problem. */
bool test_case_parse(const char *text, test_case *out);

/* The problem as text with another direction, at least 256 bytes: what goes into a repro line. */
void test_case_text(const test_case *problem, convoy_direction direction, char *text, size_t size);

/* Reads a file of problems, one per line; empty lines and lines starting with # are skipped. Returns
 * their number, -1 on a fault, which is told on stderr with its line number. Caller frees *out. */
int test_cases_read(const char *path, test_case **out);

const char *test_direction_name(convoy_direction direction);

#endif
