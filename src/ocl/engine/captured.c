/* The same problem with the same parameters takes the same launches with other arrays, so that
 * planning, writing options and finding kernels are done once. */
#include "ocl/engine/captured.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/device.h"
#include "problem/program/program.h"

#define BUCKETS 256
#define MOST_CAPTURED 1024
/* A job's launches depend on what follows its arrays. */
#define KEY_AT offsetof(cvy_job, algorithm)

typedef struct entry {
  struct entry *next;
  captured_job *job;
  cvy_job of; /* the last: of it only what launches depend on */
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

/* The job without the numbers that are put into the blocks of each replay: a network draws others
 * in every step. */
static const cvy_job *without_numbers(const cvy_job *job, cvy_job *room) {
  const cvy_problem *problem = &job->problem;
  if (problem->operation != CVY_PROGRAM && problem->operation != CVY_REDUCE) return job;
  const cvy_program_problem *of = cvy_program_part(problem);
  if (!(of->seed | of->run | of->node)) return job;
  memcpy(room, job, cvy_job_size(job));
  cvy_family_of(problem)->bare(problem, &room->problem);
  return room;
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

static const entry *find(const cvy_device *device, const cvy_job *job) {
  cvy_job room;
  struct captured_table *table = device->captured.table;
  return table ? *link_of(table, without_numbers(job, &room)) : NULL;
}

const captured_job *captured_find(const cvy_device *device, const cvy_job *job) {
  const entry *found = find(device, job);
  return found ? found->job : NULL;
}

bool captured_has_come(const cvy_device *device, const cvy_job *job) {
  return find(device, job) != NULL;
}

static void drop(struct captured_table *table, entry **link) {
  entry *gone = *link;
  *link = gone->next;
  free(gone->job);
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
  device->captured.closed++;
}

/* Launches, arrays and blocks behind it. */
captured_job *captured_copy(const captured_job *captured) {
  size_t launches = (size_t)captured->count * sizeof *captured->launches;
  size_t arrays = (size_t)captured->array_count * sizeof *captured->arrays;
  size_t blocks = (size_t)captured->block_words * sizeof *captured->blocks;
  captured_job *copy = malloc(sizeof *copy + launches + arrays + blocks);
  if (!copy) return NULL;
  char *room = (char *)(copy + 1);
  *copy = *captured;
  copy->launches = memcpy(room, captured->launches, launches);
  copy->arrays = memcpy(room + launches, captured->arrays, arrays);
  copy->blocks = memcpy(room + launches + arrays, captured->blocks, blocks);
  return copy;
}

static entry *new_entry(const cvy_job *job, captured_job *captured) {
  entry *new = malloc(offsetof(entry, of) + cvy_job_size(job));
  if (!new) return NULL;
  memcpy(&new->of, job, cvy_job_size(job));
  new->job = captured;
  return new;
}

/* Without host memory the job is planned again next time. A table that is full is begun anew:
 * whoever has so many different jobs is looking for a good one. */
void captured_keep(cvy_device *device, const cvy_job *job, captured_job *captured) {
  cvy_job room;
  job = without_numbers(job, &room);
  if (!device->captured.table) device->captured.table = calloc(1, sizeof *device->captured.table);
  struct captured_table *table = device->captured.table;
  entry *new = table ? new_entry(job, captured) : NULL;
  if (!new) {
    free(captured);
    return;
  }
  if (table->count == MOST_CAPTURED) drop_all(table);
  entry **link = link_of(table, job);
  if (*link) drop(table, link);
  new->next = *link;
  *link = new;
  table->count++;
}

/* --------------------------------------------------------------------------------- replay */

/* The words that random() takes, of this job's numbers. */
static void put_stream(const cvy_problem *problem, const captured_launch *at, void *block) {
  const cvy_program_problem *of = cvy_program_part(problem);
  cvy_program_stream stream = cvy_program_stream_of(of->seed, of->run, of->node);
  for (int32_t i = 0; i < (int32_t)CVY_COUNT(stream.word); i++)
    block_put(block, at->what.wide, at->stream + i, stream.word[i]);
}

static convoy_status launch_again(cvy_device *device, const captured_job *known,
                                  const captured_launch *at, const cvy_problem *problem,
                                  const span *origins) {
  launch_array arrays[LAUNCH_ARRAYS];
  const captured_array *from = known->arrays + at->arrays_at;
  for (int32_t i = 0; i < at->count; i++) {
    arrays[i].at = span_behind(origins[from[i].origin], from[i].at);
    arrays[i].word = from[i].word;
    arrays[i].shift = from[i].shift;
  }
  arguments with = {.block = known->blocks + at->block_at,
                    .words = at->words,
                    .first_group = at->first_group,
                    .stream = at->stream,
                    .count = at->count,
                    .array = arrays};
  if (at->stream != NO_WORD) put_stream(problem, at, with.block);
  return launch_found(device, &at->what, at->kernel, &with);
}

/* Launches that make the form are left out where it is there. */
static convoy_status launch_all(cvy_device *device, const captured_job *known,
                                const cvy_problem *problem, const span *origins, bool fresh) {
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; !status && i < known->count; i++) {
    const captured_launch *at = &known->launches[i];
    if (fresh || !at->writes_form) status = launch_again(device, known, at, problem, origins);
  }
  return status;
}

/* Whether the words of the blocks hold where these arrays begin. */
static bool words_suffice(const captured_job *known, const span *origins) {
  if (known->most_at == INT64_MAX) return true;
  for (int32_t i = ORIGIN_IN; i <= ORIGIN_SCRATCH; i++)
    if (origins[i].at > known->most_at) return false;
  return true;
}

bool captured_replay(cvy_device *device, const captured_job *known, const cvy_job *job,
                     job_arrays *arrays, convoy_status *status) {
  bool fresh = false;
  *status = CONVOY_OK;
  if (!words_suffice(known, arrays->origin)) return false;
  if (known->form_bytes > 0) {
    *status = prepacked_find(device, job->in[1].id, &known->form, known->form_bytes, &arrays->form,
                             &fresh);
  }
  if (!*status && fresh && !known->makes_form) {
    prepacked_give_up(device, job->in[1].id);
    return false;
  }
  if (!*status) *status = launch_all(device, known, &job->problem, arrays->origin, fresh);
  return true;
}
