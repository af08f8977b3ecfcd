/* The queue of copies on their way, in the order of their tickets. */
#include "core/exec/fetches.h"

#include <string.h>

#include "core/exec/device.h"

convoy_status cvy_fetch_begin(cvy_store *store) {
  cvy_fetches *fetches = &store->context->fetches;
  uint64_t ticket = 0;
  if (fetches->count == CVY_FETCHES) return CONVOY_OK;
  convoy_status status = cvy_device_fetch(store->context, store->array, store->bytes, &ticket);
  if (status || !ticket) return status;
  store->fetch = ticket;
  fetches->store[fetches->count++] = store;
  return CONVOY_OK;
}

void cvy_fetch_end(cvy_store *store) {
  cvy_fetches *fetches = &store->context->fetches;
  int32_t at = 0;
  while (at < fetches->count && fetches->store[at] != store) at++;
  store->fetch = 0;
  if (at == fetches->count) return;
  fetches->count--;
  memmove(&fetches->store[at], &fetches->store[at + 1],
          (size_t)(fetches->count - at) * sizeof(fetches->store[0]));
}

void cvy_fetch_forget(cvy_store *store) {
  uint64_t ticket = store->fetch;
  if (!ticket) return;
  cvy_fetch_end(store);
  cvy_device_collect(store->context, ticket, NULL, 0);
}

void cvy_fetches_void(convoy_context *context, uint64_t first) {
  cvy_fetches *fetches = &context->fetches;
  while (fetches->count && fetches->store[fetches->count - 1]->fetch >= first)
    cvy_fetch_forget(fetches->store[fetches->count - 1]);
}
