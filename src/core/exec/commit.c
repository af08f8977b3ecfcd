/* Which copies are asked for, and when they are taken: as public calls come by (exec/fetches.h). */
#include "core/exec/commit.h"

#include "core/exec/device.h"
#include "core/exec/fetches.h"
#include "core/exec/launch.h"
#include "core/exec/values.h"

/* Also makes room if it fails. */
static convoy_status take_oldest(cvy_fetches *fetches) {
  cvy_store *oldest = fetches->store[0];
  convoy_status status = cvy_store_fetch(oldest);
  if (status != CONVOY_ERR_INTERRUPTED) cvy_fetch_forget(oldest);
  return status;
}

void cvy_commits_take(convoy_context *context) {
  cvy_fetches *fetches = &context->fetches;
  while (fetches->count && cvy_device_fetched(context, fetches->store[0]->fetch))
    take_oldest(fetches);
}

convoy_status cvy_commit(cvy_store *store) {
  convoy_context *context = store->context;
  cvy_fetches *fetches = &context->fetches;
  while (!store->host && !store->fetch) {
    bool here = store->array && context->device.backend->fetch;
    convoy_status status = here ? cvy_fetch(store) : CONVOY_OK;
    if (status || !here || (!store->fetch && !fetches->count)) return cvy_store_fetch(store);
    if (!store->fetch && take_oldest(fetches) == CONVOY_ERR_INTERRUPTED)
      return CONVOY_ERR_INTERRUPTED;
  }
  return CONVOY_OK;
}

/* Of the time of training, and bytes a second: measured through the worker into tensors. */
static const double most_share = 0.02, rate = 6e9;

bool cvy_commit_is_due(int32_t runs, double bytes, double seconds) {
  if (runs < CVY_COMMIT_EVERY || runs >= CVY_COMMIT_AT_LAST) return runs >= CVY_COMMIT_AT_LAST;
  return seconds >= bytes / rate / most_share;
}
