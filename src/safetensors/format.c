/* A list becomes a header's text. */
#include <stdlib.h>
#include <string.h>

#include "safetensors/safetensors.h"

static const struct {
  const char *name;
  int64_t bytes;
} dtypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2},
              {"I8", 1},  {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}};

int64_t cvy_safetensors_dtype_bytes(const char *dtype) {
  for (size_t i = 0; i < CVY_COUNT(dtypes); i++)
    if (!strcmp(dtypes[i].name, dtype)) return dtypes[i].bytes;
  return 0;
}

uint64_t cvy_safetensors_sum(const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t done = 0; done < count; done += sizeof(uint64_t)) {
    const size_t left = count - done;
    uint64_t word = 0;
    memcpy(&word, at + done, left < sizeof word ? left : sizeof word);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
  }
  return sum;
}

/* ------------------------------------------------------------------------------------- names */

/* Bytes that follow the first of a character, -1: it begins none. The smallest character that needs
 * as many keeps longer forms out. */
static int following(unsigned char first, uint32_t *code, uint32_t *smallest) {
  static const struct {
    unsigned char mask, mark;
    int more;
    uint32_t smallest;
  } forms[] = {{0x80, 0x00, 0, ' '},
               {0xe0, 0xc0, 1, 0x80},
               {0xf0, 0xe0, 2, 0x800},
               {0xf8, 0xf0, 3, 0x10000}};
  for (size_t i = 0; i < CVY_COUNT(forms); i++) {
    if ((first & forms[i].mask) != forms[i].mark) continue;
    *code = first & (unsigned char)~forms[i].mask;
    *smallest = forms[i].smallest;
    return forms[i].more;
  }
  return -1;
}

static bool is_text(const char *name) {
  while (*name) {
    uint32_t code = 0, smallest = 0;
    int more = following((unsigned char)*name++, &code, &smallest);
    if (more < 0) return false;
    for (; more > 0; more--, name++) {
      if (((unsigned char)*name & 0xc0) != 0x80) return false;
      code = code << 6 | ((unsigned char)*name & 0x3f);
    }
    if (code < smallest || code == 0x7f || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return false;
  }
  return true;
}

convoy_status cvy_safetensors_check_name(const char *name) {
  enum { LONGEST = 4096 };
  if (!*name) return cvy_fail(CONVOY_ERR_ARGUMENT, "name is empty");
  if (strnlen(name, LONGEST + 1) > LONGEST)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "name is longer than %d bytes", LONGEST);
  if (!strcmp(name, "__metadata__"))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "name is __metadata__, which no tensor may be called");
  if (!is_text(name))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "name is no UTF-8, or has a control character");
  return CONVOY_OK;
}

/* --------------------------------------------------------------------------------- the header */

/* Room for everything about a tensor but its name: 20 digits a number, 17 for its sum. */
enum { ABOUT = 160 + 21 * (CVY_SAFETENSORS_DIMS + 2) };
static const char head[] = "{\"__metadata__\":{\"format\":\"pt\"";

static size_t room_for(const cvy_saved *tensors, int32_t count) {
  size_t room = CVY_SAFETENSORS_SIZE + sizeof head + 64;
  for (int32_t i = 0; i < count; i++) room += 2 * strlen(tensors[i].name) + ABOUT;
  return room;
}

/* Of characters that a name may have, only these two need an escape. */
static void add_name(cvy_text *text, const char *name) {
  cvy_text_add(text, ",\"");
  while (*name) {
    size_t plain = strcspn(name, "\"\\");
    cvy_text_add(text, "%.*s", (int)plain, name);
    name += plain;
    if (*name) cvy_text_add(text, "\\%c", *name++);
  }
  cvy_text_add(text, "\":");
}

static void add_tensor(cvy_text *text, const cvy_saved *tensor) {
  add_name(text, tensor->name);
  cvy_text_add(text, "{\"dtype\":\"%s\",\"shape\":[", tensor->dtype);
  for (int32_t i = 0; i < tensor->dims; i++)
    cvy_text_add(text, "%s%lld", i ? "," : "", (long long)tensor->shape[i]);
  cvy_text_add(text, "],\"data_offsets\":[%lld,%lld]}", (long long)tensor->begin,
               (long long)tensor->end);
}

static void add_sums(cvy_text *text, const cvy_saved *tensors, int32_t count) {
  if (count) cvy_text_add(text, ",\"convoy.sums\":\"");
  for (int32_t i = 0; i < count; i++)
    cvy_text_add(text, "%s%016llx", i ? " " : "", (unsigned long long)tensors[i].sum);
  cvy_text_add(text, count ? "\"}" : "}");
}

convoy_status cvy_safetensors_format(const cvy_saved *tensors, int32_t count, char **out,
                                     size_t *size) {
  size_t room = room_for(tensors, count);
  char *bytes = malloc(room);
  if (!bytes) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a header of %zu bytes", room);
  cvy_text text = cvy_text_in(bytes + CVY_SAFETENSORS_SIZE, room - CVY_SAFETENSORS_SIZE);
  cvy_text_add(&text, "%s", head);
  add_sums(&text, tensors, count);
  for (int32_t i = 0; i < count; i++) add_tensor(&text, &tensors[i]);
  cvy_text_add(&text, "}");
  while (text.used % CVY_SAFETENSORS_SIZE) cvy_text_add(&text, " ");
  if (text.overflow || text.used > CVY_SAFETENSORS_HEADER) {
    free(bytes);
    return cvy_fail(CONVOY_ERR_ARGUMENT, "the header of %d tensors is longer than %d bytes",
                    (int)count, CVY_SAFETENSORS_HEADER);
  }
  const uint64_t length = text.used;
  for (int i = 0; i < CVY_SAFETENSORS_SIZE; i++) bytes[i] = (char)(length >> (8 * i));
  *out = bytes;
  *size = CVY_SAFETENSORS_SIZE + text.used;
  return CONVOY_OK;
}
