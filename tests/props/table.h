/* Layers of a table in bench/shapes (CSV, rank 2). */
#ifndef TEST_TABLE_H
#define TEST_TABLE_H

#include "common/case.h"

/* Every `step`th line, with batch 1 instead of the table's. Returns the number of layers, -1 on a
 * fault, told on stderr. Caller frees *out. */
int table_read(const char *path, int step, test_case **out);

#endif
