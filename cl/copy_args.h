/* The argument block of copies, behind conv_args.h: as conv_args, words of one integer type. The
 * letters are those of cvy_move_copy (src/problem/move/attributes.h). */
#ifndef COPY_ARGS_H
#define COPY_ARGS_H

#ifndef __OPENCL_VERSION__
#include "conv_args.h"
#endif

#define COPY_AXES 8

typedef struct copy_args {
  conv_int extent[COPY_AXES], count[COPY_AXES], begin[COPY_AXES], step[COPY_AXES],
      stride[COPY_AXES];
  conv_int offset;
  conv_int fill;                       /* bits of a float */
  conv_int x_at, x_rest, y_at, y_rest; /* begin_of */
  conv_int items;                      /* copy: so many are to be made */
  conv_int rows_of_tiles, columns_of_tiles;
  conv_int first_group; /* work-groups that earlier parts of the launch have done */
} copy_args;

#define COPY_ARGS_WORDS (sizeof(copy_args) / sizeof(conv_int))

#endif
