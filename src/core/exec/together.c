/* What is sent is packed into a new block, of which the stores are parts from then on. A store that
 * stays when its fellows have gone keeps all of its block, so blocks are not large either. What a
 * run of a graph has made lies side by side already. */
#include "core/exec/together.h"

#include "core/exec/launch.h"
#include "core/exec/values.h"
#include "os/os.h"

#define SMALL_BYTES ((int64_t)1 << 20)
enum { MOST = 512 };

/* ------------------------------------------------------------------------------------ sending */

typedef struct pack {
  cvy_store *store[MOST];
  cvy_packed part[MOST];
  int32_t count;
  int64_t bytes;
} pack;

static bool goes_along(const cvy_store *store) {
  return !store->array && !store->status && store->host && store->bytes > 0 &&
         store->bytes < SMALL_BYTES;
}

static bool has_room(const pack *p, const cvy_store *store) {
  return p->count < MOST && p->bytes + cvy_block_aligned(store->bytes) <= CVY_PACK_BYTES;
}

static void add(pack *p, cvy_store *store) {
  p->store[p->count] = store;
  p->part[p->count++] = (cvy_packed){p->bytes, store->bytes, store->host};
  p->bytes += cvy_block_aligned(store->bytes);
}

static void place_all(const pack *p, cvy_block *block) {
  for (int32_t i = 0; i < p->count; i++)
    cvy_store_place(p->store[i], block, p->part[i].at, block->context->last_ticket);
}

/* One alone goes as any other. */
static convoy_status send(pack *p, convoy_context *context) {
  cvy_block *block = NULL;
  convoy_status status = CONVOY_OK;
  if (p->count > 1) {
    status = cvy_launch_block(context, p->bytes, &block);
    if (!status) status = cvy_launch_pack(block, p->count, p->part);
    if (!status) place_all(p, block);
    cvy_block_drop(block);
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

/* ------------------------------------------------------------------------------------ reading */

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
         stores[n]->at == cvy_block_aligned(end_of(stores[n - 1])))
    n++;
  return n;
}

/* The block from the first of them to the last, as one store, and its values; without a store if
 * there was a fault, which has been dealt with and comes up again. */
static convoy_status read_span(int32_t count, cvy_store *const stores[], cvy_span *out) {
  const cvy_store *first = stores[0], *last = stores[count - 1];
  *out = (cvy_span){NULL, NULL};
  cvy_store *span = cvy_store_new(first->context, end_of(last) - first->at);
  if (!span) return CONVOY_OK;
  cvy_store_place(span, first->block, first->at, last->ticket);
  convoy_status status = cvy_values_new(span, &out->values);
  if (!status) status = cvy_read_back(span, out->values);
  if (!status) {
    out->store = span;
    return CONVOY_OK;
  }
  cvy_values_drop(span, out->values);
  cvy_store_drop(span);
  return status == CONVOY_ERR_INTERRUPTED ? status : CONVOY_OK;
}

/* A result that is wrong is computed anew, to where it was read. */
static convoy_status judge_span(int32_t count, cvy_store *const stores[], const cvy_span *span) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < count; i++)
    stores[i]->arrived = span->values + (stores[i]->at - span->store->at) / (int64_t)sizeof(float);
  for (int32_t i = 0; i < count && !status; i++)
    status = cvy_store_read(stores[i], stores[i]->arrived);
  return status;
}

convoy_status cvy_read_together(int32_t count, cvy_store *const stores[], cvy_span *spans,
                                int32_t *made) {
  convoy_status status = CONVOY_OK;
  *made = 0;
  for (int32_t i = 0, n; i < count && !status; i += n) {
    n = neighbours(count - i, stores + i);
    if (n == 1) continue;
    cvy_span *span = &spans[*made];
    status = read_span(n, stores + i, span);
    if (status || !span->store) continue;
    ++*made;
    status = judge_span(n, stores + i, span);
  }
  return status;
}

void cvy_spans_drop(int32_t made, cvy_span *spans, int32_t count, cvy_store *const stores[]) {
  for (int32_t i = 0; i < count; i++) stores[i]->arrived = NULL;
  for (int32_t i = 0; i < made; i++) {
    cvy_values_drop(spans[i].store, spans[i].values);
    cvy_store_drop(spans[i].store);
  }
}
