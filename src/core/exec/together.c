/* What is sent is packed into a new block, of which the stores are parts from then on. A store that
 * stays when its fellows have gone keeps all of its block, so blocks are not large either. What a
 * run of a graph has made lies side by side already. */
#include "core/exec/together.h"

#include "core/exec/launch.h"
#include "core/exec/values.h"
#include "os/os.h"

#define SMALL_BYTES ((int64_t)1 << 20)
#define BLOCK_BYTES ((int64_t)8 << 20)
enum { MOST = 256 };

static int64_t aligned(int64_t bytes) {
  return (bytes + CVY_PLACE_ALIGN - 1) / CVY_PLACE_ALIGN * CVY_PLACE_ALIGN;
}

/* --------------------------------------------------------------------------------------- sending */

typedef struct pack {
  cvy_store *store[MOST];
  int64_t at[MOST];
  cvy_copy_part copy[MOST];
  int32_t count;
  int64_t bytes;
} pack;

static bool goes_along(const cvy_store *store) {
  return !store->array && !store->status && store->host && store->bytes > 0 &&
         store->bytes < SMALL_BYTES;
}

static bool has_room(const pack *p, const cvy_store *store) {
  return p->count < MOST && p->bytes + store->bytes <= BLOCK_BYTES;
}

static void add(pack *p, cvy_store *store) {
  p->store[p->count] = store;
  p->at[p->count++] = p->bytes;
  p->bytes += aligned(store->bytes);
}

static void place_all(const pack *p, cvy_block *block) {
  for (int32_t i = 0; i < p->count; i++)
    cvy_store_place(p->store[i], block, p->at[i], block->context->last_ticket);
}

static convoy_status send_from(pack *p, convoy_context *context, char *values) {
  cvy_block *block;
  for (int32_t i = 0; i < p->count; i++)
    p->copy[i] = (cvy_copy_part){values + p->at[i], p->store[i]->host, p->store[i]->bytes};
  cvy_copy_parts(p->copy, p->count, NULL, NULL);
  convoy_status status = cvy_launch_block(context, p->bytes, &block);
  if (status) return status;
  status = cvy_launch_fill(block, values);
  if (!status) place_all(p, block);
  cvy_block_drop(block);
  return status;
}

/* One alone goes as any other. */
static convoy_status send(pack *p, convoy_context *context) {
  convoy_status status = CONVOY_OK;
  if (p->count > 1) {
    char *values = cvy_free_list_take(&context->memory, p->bytes);
    if (!values) return CONVOY_OK; /* without this memory they go one by one */
    status = send_from(p, context, values);
    cvy_free_list_give(&context->memory, values, p->bytes);
  }
  p->count = 0;
  p->bytes = 0;
  return status;
}

convoy_status cvy_send_together(convoy_context *context, int32_t count, cvy_store *const stores[]) {
  pack p;
  convoy_status status = CONVOY_OK;
  p.count = 0;
  p.bytes = 0;
  for (int32_t i = 0; i < count && !status; i++) {
    if (!goes_along(stores[i])) continue;
    if (!has_room(&p, stores[i])) status = send(&p, context);
    add(&p, stores[i]);
  }
  return status ? status : send(&p, context);
}

/* -------------------------------------------------------------------------------------- fetching */

static bool is_wanted(const cvy_store *store) {
  return store->block && store->unnamed && !store->host && !store->fetch && !store->status &&
         store->bytes < SMALL_BYTES;
}

static int64_t end_of(const cvy_store *store) {
  return store->at + store->bytes;
}

/* How many of the stores lie one behind the other, with nothing but what aligns them in between. */
static int32_t neighbours(int32_t count, cvy_store *const stores[]) {
  if (!is_wanted(stores[0])) return 1;
  int32_t n = 1;
  while (n < count && is_wanted(stores[n]) && stores[n]->block == stores[0]->block &&
         stores[n]->at == aligned(end_of(stores[n - 1])))
    n++;
  return n;
}

/* The block from the first of them to the last, as one store, and its values. */
static cvy_store *read_span(int32_t count, cvy_store *const stores[], float **values) {
  const cvy_store *first = stores[0], *last = stores[count - 1];
  cvy_store *span = cvy_store_new(first->context, end_of(last) - first->at);
  if (!span) return NULL;
  cvy_store_place(span, first->block, first->at, last->ticket);
  if (!cvy_values_new(span, values)) {
    if (!cvy_read_back(span, *values)) return span;
    cvy_values_drop(span, *values);
  }
  cvy_store_drop(span);
  return NULL;
}

static convoy_status fetch_span(int32_t count, cvy_store *const stores[]) {
  float *values;
  cvy_store *span = read_span(count, stores, &values);
  convoy_status status = CONVOY_OK;
  if (!span) return CONVOY_OK; /* what that brought has been dealt with, and comes up again */
  for (int32_t i = 0; i < count; i++)
    stores[i]->arrived = (const char *)values + (stores[i]->at - span->at);
  for (int32_t i = 0; i < count; i++) {
    if (!status) status = cvy_store_fetch(stores[i]);
    stores[i]->arrived = NULL;
  }
  cvy_values_drop(span, values);
  cvy_store_drop(span);
  return status;
}

convoy_status cvy_fetch_together(int32_t count, cvy_store *const stores[]) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0, n; i < count && !status; i += n) {
    n = neighbours(count - i, stores + i);
    if (n > 1) status = fetch_span(n, stores + i);
  }
  return status;
}
