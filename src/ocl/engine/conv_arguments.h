/* The arguments that every kernel of a convolution takes: the block of cl/conv_args.h and the four
 * arrays. */
#ifndef CVY_OCL_ENGINE_CONV_ARGUMENTS_H
#define CVY_OCL_ENGINE_CONV_ARGUMENTS_H

#include "ocl/engine/conv_launch.h"

typedef struct conv_arguments {
  arguments all; /* of it the parts below */
  launch_array array[4];
  int64_t words[CONV_ARGS_WORDS];
} conv_arguments;

void conv_arguments_of(const conv_args *args, bool wide, const bindings *arrays,
                       conv_arguments *out);

#endif
