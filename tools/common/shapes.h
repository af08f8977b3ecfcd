/* A command works on layers of shape tables, and on problems given as text. */
#ifndef COMMON_SHAPES_H
#define COMMON_SHAPES_H

#include "common/csv.h"
#include "common/options.h"

/* Reads the table at path `name` or, if there is none, the installed table of that name, with or
 * without ".csv". Returns false with a sentence in `why`. */
bool shapes_read(const char *name, layer_table *out, char *why, size_t why_size);

/* Reads a line of the problem grammar. If it returns false, convoy_last_error() says why. */
bool shapes_parse(const char *text, problem *out);

typedef struct passes {
  int count;
  convoy_direction item[CONVOY_DIRECTIONS];
} passes;

typedef struct shapes {
  int table_count;
  layer_table *tables; /* those of files, then one of all problems given as text */
  passes asked;        /* for layers of files */
} shapes;

/* Reads what --shapes, --shape and --pass name. With no pass asked for it is the three that take
 * most of a training's time. Complaints go to stderr. Returns an exit status, and is to be closed
 * whatever that is. */
int shapes_open(const char *command, const words *files, const words *texts,
                const words *pass_names, shapes *out);
void shapes_close(shapes *all);

/* Returns the passes to run of a layer. A text names its own. */
passes shapes_passes(const shapes *all, const layer_table *table, const layer *from);
/* Returns how many problems there are in a table, or in all: each layer in each of its passes. */
int shapes_problems_of(const shapes *all, const layer_table *table);
int shapes_problems(const shapes *all);

#endif
