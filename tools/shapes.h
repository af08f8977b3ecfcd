/* Finds and opens shape tables. */
#ifndef SHAPES_H
#define SHAPES_H

#include "csv.h"
#include "options.h"

/* Reads the table at path `name`; if there is none, the installed table of that name, with or
 * without ".csv". False with a sentence in `why`. */
bool shapes_read(const char *name, layer_table *out, char *why, size_t why_size);

#endif
