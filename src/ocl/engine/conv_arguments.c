/* From the fields of conv_args to a block of words. */
#include "ocl/engine/conv_arguments.h"

#define WORD_OF(field) ((int32_t)(offsetof(conv_args, field) / sizeof(conv_int)))

#define ALIGN_SHIFT 8
_Static_assert(CONV_ALIGN * sizeof(float) == 1 << ALIGN_SHIFT, "offsets are in these units");

/* Offsets in these units fit the words of either size, whatever the device. */
static launch_array array_of(span at, int32_t word) {
  return (launch_array){at, word, ALIGN_SHIFT, INT64_MAX};
}

void conv_arguments_of(const conv_args *args, bool wide, const bindings *arrays,
                       conv_arguments *out) {
  int64_t words[CONV_ARGS_WORDS];
  memcpy(words, args, sizeof words);
  for (size_t i = 0; i < CONV_ARGS_WORDS; i++) block_put(out->words, wide, (int32_t)i, words[i]);
  out->array[0] = array_of(arrays->a, WORD_OF(a_at));
  out->array[1] = array_of(arrays->b, WORD_OF(b_at));
  out->array[2] = array_of(arrays->bias, WORD_OF(bias_at));
  out->array[3] = array_of(arrays->out, WORD_OF(out_at));
  out->all = (arguments){.block = out->words,
                         .words = CONV_ARGS_WORDS,
                         .first_group = WORD_OF(first_group),
                         .stream = NO_WORD,
                         .count = CVY_COUNT(out->array),
                         .array = out->array};
}
