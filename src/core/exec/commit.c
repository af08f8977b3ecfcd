/* A copy on its way is nobody's: it lands in memory of the backend, and the store keeps its device copy and
 * its history until it has been taken from there, which public calls do as they come by. Thus whatever
 * happens in between, what was committed before is there, and the new values are read or computed again. */
#include "core/exec/commit.h"

#include <string.h>

#include "core/exec/device.h"

void cvy_commit_strike(cvy_store *store) {
  cvy_commits *commits = &store->context->commits;
  int32_t at = 0;
  while (at < commits->count && commits->store[at] != store) at++;
  store->fetch = 0;
  if (at == commits->count) return;
  commits->count--;
  memmove(&commits->store[at], &commits->store[at + 1],
          (size_t)(commits->count - at) * sizeof(commits->store[0]));
}

void cvy_commit_forget(cvy_store *store) {
  const cvy_engine *engine = &store->context->device;
  uint64_t ticket = store->fetch;
  if (!ticket) return;
  cvy_commit_strike(store);
  if (engine->device) engine->backend->collect(engine->device, ticket, NULL, 0);
}

void cvy_commits_void(convoy_context *context, uint64_t first) {
  cvy_commits *commits = &context->commits;
  while (commits->count && commits->store[commits->count - 1]->fetch >= first) {
    cvy_commit_forget(commits->store[commits->count - 1]);
  }
}

/* Also makes room if it fails. */
static convoy_status take_oldest(cvy_commits *commits) {
  cvy_store *oldest = commits->store[0];
  convoy_status status = cvy_store_fetch(oldest);
  if (status != CONVOY_ERR_INTERRUPTED) cvy_commit_forget(oldest);
  return status;
}

void cvy_commits_take(convoy_context *context) {
  const cvy_engine *engine = &context->device;
  cvy_commits *commits = &context->commits;
  while (commits->count && engine->backend->fetched(engine->device, commits->store[0]->fetch)) {
    take_oldest(commits);
  }
}

/* Asks for the copy; without one on its way then, there is no room. */
static convoy_status begin(cvy_store *store) {
  cvy_commits *commits = &store->context->commits;
  uint64_t ticket = 0;
  if (commits->count == CVY_COMMITS) return CONVOY_OK;
  convoy_status status = cvy_device_fetch(store, &ticket);
  if (status || !ticket) return status;
  store->fetch = ticket;
  commits->store[commits->count++] = store;
  return CONVOY_OK;
}

convoy_status cvy_commit(cvy_store *store) {
  convoy_context *context = store->context;
  cvy_commits *commits = &context->commits;
  while (!store->host && !store->fetch) {
    bool here = store->array && context->device.backend->fetch;
    convoy_status status = here ? begin(store) : CONVOY_OK;
    if (status || !here || (!store->fetch && !commits->count)) return cvy_store_fetch(store);
    if (!store->fetch && take_oldest(commits) == CONVOY_ERR_INTERRUPTED) {
      return CONVOY_ERR_INTERRUPTED;
    }
  }
  return CONVOY_OK;
}
