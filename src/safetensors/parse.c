/* A header's text becomes a list. The grammar is JSON's, of which a header uses little: one pass
 * over the bytes, without recursion, that stops at the first thing that does not belong there. */
#include <stdlib.h>
#include <string.h>

#include "safetensors/safetensors.h"

typedef struct reader {
  const char *begin, *end;
  char *at;
  const char *wrong; /* what is wrong, at `at`; NULL: nothing yet */
} reader;

static bool refuse(reader *r, const char *wrong) {
  if (!r->wrong) r->wrong = wrong;
  return false;
}

/* ------------------------------------------------------------------------------------ words */

static void skip_blanks(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) r->at++;
}

/* Behind blanks, this character. */
static bool is_next(reader *r, char wanted) {
  skip_blanks(r);
  return r->at < r->end && *r->at == wanted;
}

static bool take(reader *r, char wanted, const char *wrong) {
  if (!is_next(r, wanted)) return refuse(r, wrong);
  r->at++;
  return true;
}

static int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Four digits behind "\u". */
static bool take_unit(reader *r, uint32_t *unit) {
  *unit = 0;
  if (r->end - r->at < 4) return refuse(r, "a \\u without four digits");
  for (int i = 0; i < 4; i++) {
    int digit = hexadecimal(r->at[i]);
    if (digit < 0) return refuse(r, "a \\u without four digits");
    *unit = *unit << 4 | (uint32_t)digit;
  }
  r->at += 4;
  return true;
}

/* A character that is none of the text's own, from its units; a name may not end before its end. */
static bool take_code(reader *r, uint32_t *code) {
  uint32_t low;
  if (!take_unit(r, code)) return false;
  if (*code == 0) return refuse(r, "a character 0");
  if (*code < 0xd800 || *code > 0xdfff) return true;
  bool pair = *code < 0xdc00 && r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == 'u';
  if (!pair) return refuse(r, "half a character");
  r->at += 2;
  if (!take_unit(r, &low)) return false;
  if (low < 0xdc00 || low > 0xdfff) return refuse(r, "half a character");
  *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
  return true;
}

/* As UTF-8, which is never longer than the escape was. */
static char *put_code(char *to, uint32_t code) {
  static const struct {
    uint32_t below;
    uint8_t mark;
    int more;
  } lengths[] = {{0x80, 0, 0}, {0x800, 0xc0, 1}, {0x10000, 0xe0, 2}, {0x110000, 0xf0, 3}};
  int i = 0;
  while (code >= lengths[i].below) i++;
  int more = lengths[i].more;
  *to++ = (char)(lengths[i].mark | code >> (6 * more));
  while (more-- > 0) *to++ = (char)(0x80 | (code >> (6 * more) & 0x3f));
  return to;
}

static bool take_escape(reader *r, char **to) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  uint32_t code;
  if (r->at == r->end) return refuse(r, "a text without an end");
  char letter = *r->at++;
  const char *known = letter ? strchr(letters, letter) : NULL;
  if (known) {
    *(*to)++ = meant[known - letters];
    return true;
  }
  if (letter != 'u') return refuse(r, "an escape that is none");
  if (!take_code(r, &code)) return false;
  *to = put_code(*to, code);
  return true;
}

/* A text in quotes, which is put together in its place and ended by 0: on its closing quote, or
 * before it. */
static bool take_text(reader *r, const char **text) {
  if (!take(r, '"', "no text where one belongs")) return false;
  char *to = r->at;
  *text = to;
  while (r->at < r->end && *r->at != '"') {
    char c = *r->at++;
    if ((unsigned char)c < ' ') return refuse(r, "a control character in a text");
    if (c != '\\')
      *to++ = c;
    else if (!take_escape(r, &to))
      return false;
  }
  if (r->at == r->end) return refuse(r, "a text without an end");
  r->at++;
  *to = '\0';
  return true;
}

/* A whole number from 0 on. */
static bool take_number(reader *r, int64_t *number) {
  skip_blanks(r);
  const char *first = r->at;
  for (*number = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
    if (__builtin_mul_overflow(*number, 10, number) ||
        __builtin_add_overflow(*number, *r->at - '0', number))
      return refuse(r, "a number that is too large");
  }
  if (r->at == first) return refuse(r, "no number where one belongs");
  return r->at - first == 1 || *first != '0' || refuse(r, "a number with a 0 in front");
}

/* Whether another member follows, or else that it ends here. */
static bool goes_on(reader *r, char end, const char *wrong) {
  if (is_next(r, ',')) return ++r->at;
  take(r, end, wrong);
  return false;
}

/* -------------------------------------------------------------------------------- a tensor */

static bool take_numbers(reader *r, int64_t *numbers, int32_t most, int32_t *count) {
  *count = 0;
  if (!take(r, '[', "no list where one belongs")) return false;
  if (is_next(r, ']')) return ++r->at;
  do {
    if (*count == most) return refuse(r, "a list that is too long");
    if (!take_number(r, &numbers[(*count)++])) return false;
  } while (goes_on(r, ']', "a list without an end"));
  return !r->wrong;
}

static bool take_dtype(reader *r, cvy_saved *tensor) {
  const char *dtype;
  if (!take_text(r, &dtype)) return false;
  if (strlen(dtype) >= sizeof tensor->dtype) return refuse(r, "a type with a long name");
  cvy_text_copy(tensor->dtype, sizeof tensor->dtype, dtype);
  return true;
}

static bool take_shape(reader *r, cvy_saved *tensor) {
  return take_numbers(r, tensor->shape, CVY_SAFETENSORS_DIMS, &tensor->dims);
}

static bool take_offsets(reader *r, cvy_saved *tensor) {
  int64_t offsets[2];
  int32_t count;
  if (!take_numbers(r, offsets, 2, &count)) return false;
  if (count != 2) return refuse(r, "offsets that are not two");
  tensor->begin = offsets[0];
  tensor->end = offsets[1];
  return true;
}

static const struct {
  const char *name;
  bool (*take)(reader *r, cvy_saved *tensor);
} fields[] = {{"dtype", take_dtype}, {"shape", take_shape}, {"data_offsets", take_offsets}};

static bool take_field(reader *r, cvy_saved *tensor, uint32_t *seen) {
  const char *name;
  if (!take_text(r, &name) || !take(r, ':', "no colon behind a name")) return false;
  for (size_t i = 0; i < CVY_COUNT(fields); i++) {
    if (strcmp(name, fields[i].name)) continue;
    if (*seen >> i & 1) return refuse(r, "a field for the second time");
    *seen |= 1u << i;
    return fields[i].take(r, tensor);
  }
  return refuse(r, "a field of another name than dtype, shape and data_offsets");
}

static bool take_tensor(reader *r, cvy_saved *tensor) {
  uint32_t seen = 0;
  if (!take(r, '{', "no tensor where one belongs")) return false;
  do {
    if (!take_field(r, tensor, &seen)) return false;
  } while (goes_on(r, '}', "a tensor without an end"));
  if (!r->wrong && seen != (1u << CVY_COUNT(fields)) - 1)
    return refuse(r, "a tensor that lacks dtype, shape or data_offsets");
  return !r->wrong;
}

/* Texts by names, of which one counts. */
static bool take_metadata(reader *r, cvy_saved_list *list) {
  const char *name, *text;
  if (!take(r, '{', "no metadata where they belong")) return false;
  if (is_next(r, '}')) return ++r->at;
  do {
    if (!take_text(r, &name) || !take(r, ':', "no colon behind a name") || !take_text(r, &text))
      return false;
    if (!strcmp(name, "convoy.sums")) list->sums = text;
  } while (goes_on(r, '}', "metadata without an end"));
  return !r->wrong;
}

/* ----------------------------------------------------------------------------------- the list */

static convoy_status add(cvy_saved_list *list, int32_t *room) {
  if (list->count == *room) {
    int32_t more = 2 * *room + 64;
    cvy_saved *grown = realloc(list->tensor, (size_t)more * sizeof *grown);
    if (!grown) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %d tensors", (int)more);
    list->tensor = grown;
    *room = more;
  }
  memset(&list->tensor[list->count++], 0, sizeof *list->tensor);
  return CONVOY_OK;
}

static convoy_status take_member(reader *r, cvy_saved_list *list, int32_t *room) {
  const char *name;
  if (!take_text(r, &name) || !take(r, ':', "no colon behind a name")) return CONVOY_OK;
  if (!strcmp(name, "__metadata__")) {
    take_metadata(r, list);
    return CONVOY_OK;
  }
  convoy_status status = add(list, room);
  if (status) return status;
  cvy_saved *tensor = &list->tensor[list->count - 1];
  tensor->name = name;
  take_tensor(r, tensor);
  return CONVOY_OK;
}

static convoy_status take_all(reader *r, cvy_saved_list *list) {
  convoy_status status = CONVOY_OK;
  int32_t room = 0;
  if (!take(r, '{', "no header, which begins with {")) return CONVOY_OK;
  if (is_next(r, '}')) {
    r->at++;
  } else {
    do {
      status = take_member(r, list, &room);
    } while (!status && !r->wrong && goes_on(r, '}', "no end, which is }"));
  }
  skip_blanks(r);
  if (!status && !r->wrong && r->at != r->end) refuse(r, "more behind the header's end");
  return status;
}

/* ------------------------------------------------------------------------------------ checking */

static int by_place(const void *a, const void *b) {
  const cvy_saved *one = a, *other = b;
  if (one->begin != other->begin) return one->begin < other->begin ? -1 : 1;
  return one->end < other->end ? -1 : one->end > other->end;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const cvy_saved *)a)->name, ((const cvy_saved *)b)->name);
}

/* The size of a type that is not known cannot be told. */
static convoy_status check_size(const cvy_saved *tensor) {
  int64_t bytes = cvy_safetensors_dtype_bytes(tensor->dtype);
  bool empty = false, fits = true;
  for (int32_t i = 0; i < tensor->dims; i++) empty = empty || tensor->shape[i] == 0;
  for (int32_t i = 0; i < tensor->dims && !empty; i++)
    fits = fits && !__builtin_mul_overflow(bytes, tensor->shape[i], &bytes);
  if (!cvy_safetensors_dtype_bytes(tensor->dtype)) return CONVOY_OK;
  if (empty) bytes = 0;
  if (fits && bytes == tensor->end - tensor->begin) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_IO, "\"%.200s\" has %lld bytes, which is not what its extents need",
                  tensor->name, (long long)(tensor->end - tensor->begin));
}

/* They cover all of the data, each byte once. */
static convoy_status check_places(const cvy_saved_list *list, int64_t data) {
  convoy_status status = CONVOY_OK;
  int64_t covered = 0;
  for (int32_t i = 0; i < list->count && !status; i++) {
    const cvy_saved *tensor = &list->tensor[i];
    if (tensor->begin != covered || tensor->end < tensor->begin || tensor->end > data)
      return cvy_fail(CONVOY_ERR_IO,
                      "\"%.200s\" lies from %lld to %lld of %lld bytes, where %lld comes next",
                      tensor->name, (long long)tensor->begin, (long long)tensor->end,
                      (long long)data, (long long)covered);
    covered = tensor->end;
    status = check_size(tensor);
  }
  if (status || covered == data) return status;
  return cvy_fail(CONVOY_ERR_IO, "tensors have %lld bytes, the file has %lld for them",
                  (long long)covered, (long long)data);
}

/* As many as there are tensors, in their places' order. */
static convoy_status take_sums(cvy_saved_list *list) {
  const char *at = list->sums;
  for (int32_t i = 0; i < list->count; i++) {
    uint64_t *sum = &list->tensor[i].sum;
    int digits = 0;
    for (*sum = 0; digits < 16 && hexadecimal(*at) >= 0; digits++)
      *sum = *sum << 4 | (uint64_t)hexadecimal(*at++);
    bool more = i + 1 < list->count;
    if (digits < 16 || *at != (more ? ' ' : '\0'))
      return cvy_fail(CONVOY_ERR_IO, "there are not %d sums, of 16 digits each, in \"convoy.sums\"",
                      (int)list->count);
    at += more;
  }
  return CONVOY_OK;
}

static convoy_status check_names(const cvy_saved_list *list) {
  for (int32_t i = 1; i < list->count; i++)
    if (!by_name(&list->tensor[i - 1], &list->tensor[i]))
      return cvy_fail(CONVOY_ERR_IO, "\"%.200s\" is there twice", list->tensor[i].name);
  return CONVOY_OK;
}

static void sort(const cvy_saved_list *list, int (*order)(const void *, const void *)) {
  if (list->count) qsort(list->tensor, (size_t)list->count, sizeof *list->tensor, order);
}

convoy_status cvy_safetensors_parse(char *text, size_t size, int64_t data, cvy_saved_list *out) {
  reader r = {text, text + size, text, NULL};
  *out = (cvy_saved_list){NULL, 0, NULL};
  convoy_status status = take_all(&r, out);
  if (!status && r.wrong)
    status = cvy_fail(CONVOY_ERR_IO, "at byte %lld of its header there is %s",
                      (long long)(r.at - r.begin), r.wrong);
  if (!status) sort(out, by_place);
  if (!status) status = check_places(out, data);
  if (!status && out->sums) status = take_sums(out);
  if (!status) sort(out, by_name);
  if (!status) status = check_names(out);
  if (status) cvy_saved_free(out);
  return status;
}

void cvy_saved_free(cvy_saved_list *list) {
  free(list->tensor);
  *list = (cvy_saved_list){NULL, 0, NULL};
}

const cvy_saved *cvy_saved_find(const cvy_saved_list *list, const char *name) {
  const cvy_saved key = {.name = name};
  if (!list->count) return NULL;
  return bsearch(&key, list->tensor, (size_t)list->count, sizeof key, by_name);
}
