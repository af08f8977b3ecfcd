/* What a command works on: layers of shape tables, and problems given as text. */
#ifndef SHAPES_H
#define SHAPES_H

#include "csv.h"
#include "options.h"

/* Reads the table at path `name`; if there is none, the installed table of that name, with or
 * without ".csv". False with a sentence in `why`. */
bool shapes_read(const char *name, layer_table *out, char *why, size_t why_size);

/* Reads a line of the problem grammar. False: convoy_last_error() says why. */
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

/* What --shapes, --shape and --pass name. With no pass asked for, the three that take most of a training's
 * time. Complaints go to stderr; returns an exit status. Close it in any case. */
int shapes_open(const char *command, const words *files, const words *texts,
                const words *pass_names, shapes *out);
void shapes_close(shapes *all);

/* The passes to run of a layer: a text names its own. */
passes shapes_passes(const shapes *all, const layer_table *table, const layer *from);
/* How many problems there are in a table, and in all: each layer in each of its passes. */
int shapes_problems_of(const shapes *all, const layer_table *table);
int shapes_problems(const shapes *all);

#endif
