/* A file becomes a state: first everything is read and found to fit, then all of it changes. */
#include <stdlib.h>
#include <string.h>

#include "api_check.h"
#include "core/contents.h"
#include "core/graph/capture.h"
#include "core/graph/graph.h"
#include "nn/state.h"
#include "os/os.h"

/* A file that is open, and its header. */
typedef struct load {
  convoy_state *state;
  const char *path;
  int fd;
  int64_t data; /* where its tensors begin */
  char *header;
  cvy_saved_list list;
  cvy_store **store; /* a member's new one; NULL: it has none */
  int64_t **numbers; /* the same of what is no tensor */
} load;

/* ------------------------------------------------------------------------------------- header */

static convoy_status read_size(load *l, int64_t bytes, uint64_t *size) {
  uint8_t head[CVY_SAFETENSORS_SIZE];
  if (bytes < CVY_SAFETENSORS_SIZE)
    return cvy_fail(CONVOY_ERR_IO, "%s has %lld bytes, too few for a state", l->path,
                    (long long)bytes);
  convoy_status status = cvy_file_read_at(l->fd, l->path, 0, head, sizeof head);
  *size = 0;
  for (int i = CVY_SAFETENSORS_SIZE - 1; i >= 0; i--) *size = *size << 8 | head[i];
  if (status) return status;
  if (*size > CVY_SAFETENSORS_HEADER || (int64_t)*size > bytes - CVY_SAFETENSORS_SIZE)
    return cvy_fail(CONVOY_ERR_IO, "%s is no state, or cut off: a header of %llu in %lld bytes",
                    l->path, (unsigned long long)*size, (long long)bytes);
  l->data = CVY_SAFETENSORS_SIZE + (int64_t)*size;
  return CONVOY_OK;
}

static convoy_status name_file(const load *l, convoy_status status) {
  char sentence[512];
  if (!status) return status;
  cvy_text_copy(sentence, sizeof sentence, cvy_last_error());
  return cvy_fail(status, "%s: %s", l->path, sentence);
}

static convoy_status read_header(load *l) {
  int64_t bytes = 0;
  uint64_t size = 0;
  convoy_status status = cvy_file_open_data(l->path, &l->fd, &bytes);
  if (status) return status;
  status = read_size(l, bytes, &size);
  if (status) return status;
  l->header = malloc(size + 1);
  if (!l->header)
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a header of %llu bytes",
                    (unsigned long long)size);
  status = cvy_file_read_at(l->fd, l->path, CVY_SAFETENSORS_SIZE, l->header, (size_t)size);
  if (status) return status;
  return name_file(l, cvy_safetensors_parse(l->header, (size_t)size, bytes - l->data, &l->list));
}

/* ------------------------------------------------------------------------------- does it fit */

static void add_shape(cvy_text *text, const cvy_saved *saved) {
  cvy_text_add(text, "%s ", saved->dtype);
  for (int32_t d = 0; d < saved->dims; d++)
    cvy_text_add(text, "[%lld]", (long long)saved->shape[d]);
  if (!saved->dims) cvy_text_add(text, "[]");
}

static convoy_status check_fit(const load *l, const cvy_member *member, const cvy_saved *there) {
  char texts[2][256];
  cvy_saved here;
  cvy_member_describe(member, &here);
  bool same = !strcmp(here.dtype, there->dtype) && here.dims == there->dims &&
              !memcmp(here.shape, there->shape, sizeof here.shape);
  if (same) return CONVOY_OK;
  for (int i = 0; i < 2; i++) {
    cvy_text text = cvy_text_in(texts[i], sizeof texts[i]);
    add_shape(&text, i ? there : &here);
  }
  return cvy_fail(CONVOY_ERR_SHAPE, "%s: \"%.200s\" is %s there and %s here", l->path, member->name,
                  texts[1], texts[0]);
}

/* Members and tensors that have none on the other side. */
static convoy_status check_names(const load *l, uint32_t flags) {
  convoy_status status = CONVOY_OK;
  int32_t found = 0;
  for (int32_t i = 0; i < l->state->count && !status; i++) {
    const cvy_member *member = &l->state->member[i];
    const cvy_saved *there = cvy_saved_find(&l->list, member->name);
    found += there != NULL;
    if (there)
      status = check_fit(l, member, there);
    else if (!(flags & CONVOY_STATE_MISSING))
      status = cvy_fail(CONVOY_ERR_SHAPE, "%s lacks \"%.200s\"", l->path, member->name);
  }
  if (status || found == l->list.count || (flags & CONVOY_STATE_EXTRA)) return status;
  for (int32_t k = 0; k < l->list.count; k++) {
    bool known = false;
    for (int32_t i = 0; i < l->state->count && !known; i++)
      known = !strcmp(l->state->member[i].name, l->list.tensor[k].name);
    if (!known)
      return cvy_fail(CONVOY_ERR_SHAPE, "%s has \"%.200s\", which the state lacks", l->path,
                      l->list.tensor[k].name);
  }
  return status;
}

/* ------------------------------------------------------------------------------------- values */

static convoy_status read_at(const load *l, const cvy_saved *there, void *to) {
  size_t count = (size_t)(there->end - there->begin);
  convoy_status status = cvy_file_read_at(l->fd, l->path, l->data + there->begin, to, count);
  if (status || !l->list.sums || cvy_safetensors_sum(to, count) == there->sum) return status;
  return cvy_fail(CONVOY_ERR_IO,
                  "%s: \"%.200s\" is damaged: its bytes have not the sum that \"convoy.sums\" says",
                  l->path, there->name);
}

static convoy_status read_tensor(load *l, int32_t i, const cvy_saved *there) {
  float *values;
  cvy_store *store = cvy_store_new(l->state->context, there->end - there->begin);
  if (!store) return CONVOY_ERR_MEMORY;
  l->store[i] = store;
  convoy_status status = cvy_values_new(store, &values);
  if (status) return status;
  status = read_at(l, there, values);
  if (status)
    cvy_values_drop(store, values);
  else
    cvy_store_publish(store, values);
  return status;
}

static convoy_status check_seed(const load *l, const cvy_member *member, const int64_t *numbers) {
  if (!member->graph || (uint64_t)numbers[0] == member->graph->seed) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT,
                  "%s: graph \"%.200s\" had the seed %llu, and was captured with %llu here",
                  l->path, member->name, (unsigned long long)numbers[0],
                  (unsigned long long)member->graph->seed);
}

static convoy_status read_member(load *l, int32_t i) {
  const cvy_member *member = &l->state->member[i];
  const cvy_saved *there = cvy_saved_find(&l->list, member->name);
  if (!there) return CONVOY_OK;
  if (member->tensor) return read_tensor(l, i, there);
  l->numbers[i] = malloc((size_t)(there->end - there->begin));
  if (!l->numbers[i])
    return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for the numbers of \"%.200s\"",
                    member->name);
  convoy_status status = read_at(l, there, l->numbers[i]);
  return status ? status : check_seed(l, member, l->numbers[i]);
}

static void take_numbers(convoy_state *state, const cvy_member *member, const int64_t *numbers) {
  if (member->numbers) {
    memcpy(member->numbers, numbers, (size_t)member->count * sizeof *numbers);
  } else if (member->graph) {
    member->graph->runs = (uint64_t)numbers[1];
  } else {
    state->context->seed = (uint64_t)numbers[0];
    state->context->draws = (uint64_t)numbers[1];
  }
}

static void take_all(load *l) {
  for (int32_t i = 0; i < l->state->count; i++) {
    const cvy_member *member = &l->state->member[i];
    if (l->numbers[i]) take_numbers(l->state, member, l->numbers[i]);
    if (l->store[i]) cvy_tensor_swap(member->tensor, cvy_store_keep(l->store[i]));
  }
}

/* --------------------------------------------------------------------------------------- load */

static convoy_status read_all(load *l, uint32_t flags) {
  size_t count = (size_t)l->state->count + 1;
  convoy_status status = cvy_capture_refuses(l->state->context, "convoy_state_load");
  if (!status) status = check_names(l, flags);
  l->store = calloc(count, sizeof *l->store);
  l->numbers = calloc(count, sizeof *l->numbers);
  if (!status && (!l->store || !l->numbers))
    status = cvy_fail(CONVOY_ERR_MEMORY, "no host memory to load %d members", (int)l->state->count);
  for (int32_t i = 0; i < l->state->count && !status; i++) status = read_member(l, i);
  if (!status) take_all(l);
  for (int32_t i = 0; i < l->state->count; i++) {
    if (l->store) cvy_store_drop(l->store[i]);
    if (l->numbers) free(l->numbers[i]);
  }
  return status;
}

static void drop(load *l) {
  if (l->fd >= 0) cvy_file_close(l->fd);
  cvy_saved_free(&l->list);
  free(l->header);
  free(l->store);
  free(l->numbers);
}

convoy_status convoy_state_load(convoy_state *state, const char *path, uint32_t flags) {
  const cvy_pointer given[] = {{"state", state}, {"path", path}};
  load l = {.state = state, .path = path, .fd = -1};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status && flags & ~(CONVOY_STATE_EXTRA | CONVOY_STATE_MISSING))
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "flags are 0x%x, which has an unknown one", flags);
  if (!status) status = read_header(&l);
  if (!status) status = cvy_enter(state->context);
  if (!status) status = cvy_leave(state->context, read_all(&l, flags));
  drop(&l);
  return status;
}
