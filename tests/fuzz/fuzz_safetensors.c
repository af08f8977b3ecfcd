/* Any bytes as the header of a file of tensors: what is accepted covers its data, is found by its
 * names, and is the same after it has been written and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

/* The order that the writer needs. */
static int by_place(const void *a, const void *b) {
  const cvy_saved *one = a, *other = b;
  if (one->begin != other->begin) return one->begin < other->begin ? -1 : 1;
  return one->end < other->end ? -1 : one->end > other->end;
}

static bool can_be_written(const cvy_saved_list *list) {
  for (int32_t i = 0; i < list->count; i++) {
    const cvy_saved *tensor = &list->tensor[i];
    if (cvy_safetensors_check_name(tensor->name) || !cvy_safetensors_dtype_bytes(tensor->dtype))
      return false;
  }
  return true;
}

static void compare(const cvy_saved_list *a, const cvy_saved_list *b) {
  require(a->count == b->count, "tensors went lost");
  for (int32_t i = 0; i < a->count; i++) {
    const cvy_saved *one = &a->tensor[i], *other = &b->tensor[i];
    require(!strcmp(one->name, other->name) && !strcmp(one->dtype, other->dtype), "other names");
    require(one->begin == other->begin && one->end == other->end, "other places");
    require(one->sum == other->sum, "other sums");
    require(one->dims == other->dims && !memcmp(one->shape, other->shape, sizeof one->shape),
            "other extents");
  }
}

static void write_again(const cvy_saved_list *list, int64_t data) {
  cvy_saved_list again;
  char *text;
  size_t size, bytes = (size_t)list->count * sizeof *list->tensor;
  cvy_saved *ordered = malloc(bytes + 1);
  if (!ordered) return;
  if (bytes) memcpy(ordered, list->tensor, bytes);
  if (bytes) qsort(ordered, (size_t)list->count, sizeof *ordered, by_place);
  require(!cvy_safetensors_format(ordered, list->count, &text, &size), "it cannot be written");
  require(size % CVY_SAFETENSORS_SIZE == 0, "the data are not aligned");
  char *copy = malloc(size + 1);
  if (copy) {
    memcpy(copy, text, size);
    require(!cvy_safetensors_parse(copy + CVY_SAFETENSORS_SIZE, size - CVY_SAFETENSORS_SIZE, data,
                                   &again),
            "what was written is refused");
    compare(list, &again);
    cvy_saved_free(&again);
  }
  free(copy);
  free(text);
  free(ordered);
}

/* A name longer than the whole input, since one written here would be learnt from comparisons. */
static void look_for_what_is_not_there(const cvy_saved_list *list, size_t count) {
  char *name = malloc(count + 1);
  if (!name) return;
  memset(name, 'n', count);
  name[count] = 0;
  require(!cvy_saved_find(list, name), "what is not there is found");
  free(name);
}

/* The data are as many bytes as the first two say, the header is the rest. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  cvy_saved_list list;
  int64_t covered = 0;
  if (count < 2) return 0;
  const int64_t data = bytes[0] + 256 * bytes[1];
  char *text = malloc(count);
  if (!text) return 0;
  memcpy(text, bytes + 2, count - 2);
  text[count - 2] = 'x'; /* one more byte, which no number and no text may go on into */
  if (!cvy_safetensors_parse(text, count - 2, data, &list)) {
    for (int32_t i = 0; i < list.count; i++) {
      const cvy_saved *tensor = &list.tensor[i];
      require(cvy_saved_find(&list, tensor->name) == tensor, "it is not found");
      require(tensor->begin >= 0 && tensor->end <= data, "it lies outside");
      covered += tensor->end - tensor->begin;
    }
    require(covered == data, "the data are not covered");
    look_for_what_is_not_there(&list, count);
    if (can_be_written(&list)) write_again(&list, data);
    cvy_saved_free(&list);
  }
  free(text);
  return 0;
}
