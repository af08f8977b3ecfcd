/* A state becomes a file: its values are fetched under the context's lock, and written without it,
 * from the memory they are in. */
#include <stdlib.h>
#include <string.h>

#include "api_check.h"
#include "core/contents.h"
#include "core/exec/commit.h"
#include "core/exec/values.h"
#include "core/graph/capture.h"
#include "nn/state.h"
#include "os/os.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian, as memory is");

/* In the order of the file: wide elements first, so that all are aligned. */
typedef struct save {
  const convoy_state *state;
  int32_t *order;        /* of members */
  cvy_saved *saved;      /* in the file's order, as those below */
  cvy_store **store;     /* of a tensor, with a reference; NULL: numbers */
  int64_t **numbers;     /* copies of what is no tensor; NULL: a tensor */
  cvy_file_piece *piece; /* the header first */
} save;

static convoy_status make(const convoy_state *state, save *out) {
  size_t count = (size_t)state->count + 1;
  *out = (save){state,
                calloc(count, sizeof(int32_t)),
                calloc(count, sizeof(cvy_saved)),
                calloc(count, sizeof(cvy_store *)),
                calloc(count, sizeof(int64_t *)),
                calloc(count, sizeof(cvy_file_piece))};
  if (out->order && out->saved && out->store && out->numbers && out->piece) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to save %d members", (int)state->count);
}

static void drop(save *s) {
  cvy_lock(s->state->context);
  for (int32_t i = 0; i < s->state->count; i++) {
    if (s->store) cvy_store_drop(s->store[i]);
    if (s->numbers) free(s->numbers[i]);
  }
  cvy_unlock(s->state->context);
  free(s->order);
  free(s->saved);
  free(s->store);
  free(s->numbers);
  free(s->piece);
}

static void find_order(save *s) {
  static const int64_t widths[] = {8, 4, 1};
  int32_t count = 0;
  for (size_t w = 0; w < CVY_COUNT(widths); w++) {
    for (int32_t i = 0; i < s->state->count; i++) {
      cvy_saved saved;
      cvy_member_describe(&s->state->member[i], &saved);
      if (cvy_safetensors_dtype_bytes(saved.dtype) == widths[w]) s->order[count++] = i;
    }
  }
}

/* Where each lies in the file. */
static void place_all(save *s) {
  int64_t offset = 0;
  for (int32_t i = 0; i < s->state->count; i++) {
    cvy_member_describe(&s->state->member[s->order[i]], &s->saved[i]);
    s->saved[i].begin = offset;
    offset = s->saved[i].end += offset;
  }
}

/* ----------------------------------------------------------------------------------- fetching */

static convoy_status copy_numbers(save *s, int32_t i) {
  const cvy_member *member = &s->state->member[s->order[i]];
  size_t count = member->numbers ? (size_t)member->count : CVY_MEMBER_NUMBERS;
  s->numbers[i] = malloc(count * sizeof(int64_t));
  if (!s->numbers[i]) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %zu numbers", count);
  if (member->numbers)
    memcpy(s->numbers[i], member->numbers, count * sizeof(int64_t));
  else
    cvy_member_numbers(s->state, member, s->numbers[i]);
  return CONVOY_OK;
}

/* All are asked for before the first is waited for. */
static convoy_status fetch_all(save *s) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < s->state->count && !status; i++) {
    const convoy_tensor *tensor = s->state->member[s->order[i]].tensor;
    if (tensor) status = cvy_commit(s->store[i] = cvy_store_keep(tensor->store));
  }
  for (int32_t i = 0; i < s->state->count && !status; i++)
    status = s->store[i] ? cvy_store_fetch(s->store[i]) : copy_numbers(s, i);
  return status;
}

static convoy_status fetch(save *s) {
  convoy_status status = cvy_capture_refuses(s->state->context, "convoy_state_save");
  if (!status) status = cvy_begin_wait(s->state->context);
  if (status) return status;
  find_order(s);
  place_all(s);
  return fetch_all(s);
}

/* ------------------------------------------------------------------------------------ writing */

static convoy_status write_file(save *s, const char *path) {
  int32_t count = s->state->count;
  char *header;
  size_t size;
  for (int32_t i = 0; i < count; i++) {
    const void *bytes = s->store[i] ? (const void *)s->store[i]->host : s->numbers[i];
    s->piece[1 + i] = (cvy_file_piece){bytes, (size_t)(s->saved[i].end - s->saved[i].begin)};
    s->saved[i].sum = cvy_safetensors_sum(bytes, s->piece[1 + i].count);
  }
  convoy_status status = cvy_safetensors_format(s->saved, count, &header, &size);
  if (status) return status;
  s->piece[0] = (cvy_file_piece){header, size};
  status = cvy_file_save(path, s->piece, (size_t)count + 1);
  free(header);
  return status;
}

convoy_status convoy_state_save(convoy_state *state, const char *path) {
  const cvy_pointer given[] = {{"state", state}, {"path", path}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  save s;
  if (!status) status = cvy_enter(state->context);
  if (status) return status;
  status = make(state, &s);
  if (!status) status = fetch(&s);
  status = cvy_leave(state->context, status);
  if (!status) status = write_file(&s, path);
  drop(&s);
  return status;
}
