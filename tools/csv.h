/* Shape tables: one convolution layer per line, as in bench/shapes. */
#ifndef CSV_H
#define CSV_H

#include <stdio.h>

#include "problem.h"

typedef struct layer {
  char name[CONVOY_PROBLEM_TEXT];
  int64_t count; /* how often the layer occurs in its network: the weight of sums */
  problem shape; /* of a file: rank 2, and the direction is for the user to set */
} layer;

typedef struct layer_table {
  char name[64]; /* the file's name without folder and ".csv" */
  bool directed; /* the problems have their directions */
  int count;
  layer *layers;
} layer_table;

/* Reads columns name,count,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,dil_h,dil_w,groups, in any
 * order, all of them required; blank lines and lines that begin with '#' are skipped. False with a
 * sentence that has the line's number in `why` if the file is not such a table; *out is then empty. */
bool csv_read(FILE *from, const char *path, layer_table *out, char *why, size_t why_size);
void csv_free(layer_table *table);

#endif
