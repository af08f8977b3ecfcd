/* The same problem with the same parameters takes the same launches with other arrays, so that
 * planning, writing options and finding kernels are done once. */
#include "ocl/engine/captured.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/device.h"

#define BUCKETS 256
#define MOST_CAPTURED 1024
/* A job's launches depend on what follows its arrays. */
#define KEY_AT offsetof(cvy_job, algorithm)

typedef struct entry {
  struct entry *next;
  cvy_job of; /* of it only what launches depend on */
  captured_job job;
  captured_launch launches[];
} entry;

struct captured_table {
  entry *bucket[BUCKETS];
  int32_t count;
};

static const void *key_of(const cvy_job *job) {
  return &job->algorithm;
}

static size_t key_bytes(const cvy_job *job) {
  return cvy_job_size(job) - KEY_AT;
}

static bool is_same(const cvy_job *a, const cvy_job *b) {
  size_t bytes = key_bytes(a);
  return bytes == key_bytes(b) && memcmp(key_of(a), key_of(b), bytes) == 0;
}

static entry **link_of(struct captured_table *table, const cvy_job *job) {
  entry **link = &table->bucket[cvy_hash_words(key_of(job), key_bytes(job)) % BUCKETS];
  while (*link && !is_same(&(*link)->of, job)) link = &(*link)->next;
  return link;
}

const captured_job *captured_find(const cvy_device *device, const cvy_job *job) {
  struct captured_table *table = device->captured.table;
  const entry *found = table ? *link_of(table, job) : NULL;
  return found ? &found->job : NULL;
}

static void drop(struct captured_table *table, entry **link) {
  entry *gone = *link;
  *link = gone->next;
  free(gone);
  table->count--;
}

static void drop_all(struct captured_table *table) {
  for (size_t i = 0; i < BUCKETS; i++)
    while (table->bucket[i]) drop(table, &table->bucket[i]);
}

void captured_close(cvy_device *device) {
  if (device->captured.table) drop_all(device->captured.table);
  free(device->captured.table);
  device->captured.table = NULL;
}

/* Without host memory the job is planned again next time. A table that is full is begun anew:
 * whoever has so many different jobs is looking for a good one. */
void captured_keep(cvy_device *device, const cvy_job *job, const captured_job *captured) {
  size_t bytes = (size_t)captured->count * sizeof *captured->launches;
  if (!device->captured.table) device->captured.table = calloc(1, sizeof *device->captured.table);
  struct captured_table *table = device->captured.table;
  entry *new = table ? malloc(sizeof *new + bytes) : NULL;
  if (!new) return;
  if (table->count == MOST_CAPTURED) drop_all(table);
  entry **link = link_of(table, job);
  if (*link) drop(table, link);
  new->next = *link;
  memcpy(&new->of, job, cvy_job_size(job));
  new->job = *captured;
  new->job.launches = new->launches;
  memcpy(new->launches, captured->launches, bytes);
  *link = new;
  table->count++;
}

/* --------------------------------------------------------------------------------- replay */

static span span_from(const span *origins, captured_array array) {
  span from = origins[array.origin];
  return (span){from.memory, from.at + array.at};
}

static convoy_status launch_again(cvy_device *device, const captured_launch *at,
                                  const span *origins) {
  bindings arrays = {.a = span_from(origins, at->a),
                     .b = span_from(origins, at->b),
                     .bias = span_from(origins, at->bias),
                     .out = span_from(origins, at->out)};
  return launch_found(device, &at->what, at->kernel, at->args, &arrays);
}

/* Launches that make the form are left out where it is there. */
static convoy_status launch_all(cvy_device *device, const captured_job *known, const span *origins,
                                bool fresh) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; !status && i < known->count; i++) {
    if (fresh || known->launches[i].out.origin != ORIGIN_FORM)
      status = launch_again(device, &known->launches[i], origins);
  }
  return status;
}

bool captured_replay(cvy_device *device, const captured_job *known, const cvy_job *job,
                     const job_arrays *arrays, span scratch, convoy_status *status) {
  span origins[ORIGINS] = {[ORIGIN_SCRATCH] = scratch};
  memcpy(&origins[ORIGIN_IN], arrays->in, sizeof arrays->in);
  memcpy(&origins[ORIGIN_OUT], arrays->out, sizeof arrays->out);
  bool fresh = false;
  *status = CONVOY_OK;
  if (known->form_bytes > 0) {
    *status = prepacked_find(device, job->in[1].id, &known->form, known->form_bytes,
                             &origins[ORIGIN_FORM], &fresh);
  }
  if (!*status && fresh && !known->makes_form) {
    prepacked_forget(device, arrays_find(&device->memory.arrays, job->in[1].id));
    return false;
  }
  if (!*status) *status = launch_all(device, known, origins, fresh);
  return true;
}
