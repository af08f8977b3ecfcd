/* A list by the texts' hashes. */
#include "ocl/engine/generated.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/device.h"
#include "problem/program/program.h"

#define ROOM_BYTES (64 << 10)
/* The constant parts, the text, and the end. */
#define MOST_PARTS 8
#define NAME_BYTES 112

typedef struct generated_source {
  struct generated_source *next;
  uint64_t hash;
  program_source own;
  const char *parts[MOST_PARTS];
  char name[NAME_BYTES];
  char text[];
} kept_source;

convoy_status generated_begin(cvy_device *device, cvy_text *out) {
  device_generated *all = &device->generated;
  if (!all->room) all->room = malloc(ROOM_BYTES);
  if (!all->room) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a kernel's source");
  *out = cvy_text_in(all->room, ROOM_BYTES);
  return CONVOY_OK;
}

static bool has_parts(const kept_source *source, const char *const *parts) {
  size_t i = 0;
  while (parts[i] && source->parts[i] == parts[i]) i++;
  return !parts[i] && source->parts[i] == source->text;
}

static const kept_source *find(const device_generated *all, uint64_t hash, const char *const *parts,
                               const char *text) {
  for (const kept_source *at = all->first; at; at = at->next)
    if (at->hash == hash && has_parts(at, parts) && strcmp(at->text, text) == 0) return at;
  return NULL;
}

static void drop_all(cvy_device *device) {
  device_generated *all = &device->generated;
  while (all->first) {
    kept_source *gone = all->first;
    all->first = gone->next;
    programs_drop(device, &gone->own);
    free(gone);
  }
  all->count = 0;
}

/* Kernels under way have told where their speed is to be noted, and captured jobs which kernels
 * they launch. */
static convoy_status make_room(cvy_device *device) {
  if (device->generated.count < MOST_GENERATED) return CONVOY_OK;
  cvy_log(CONVOY_LOG_DEBUG, "%d generated programs are too many, forgetting them", MOST_GENERATED);
  convoy_status status = completion_wait(device, UINT64_MAX);
  if (status) return status;
  captured_close(device);
  drop_all(device);
  return CONVOY_OK;
}

/* The program's text, or its hash if it is long. */
static void write_name(const cvy_problem *problem, char *name) {
  static const cvy_reduction none;
  const cvy_reduction *how = problem->operation == CVY_REDUCE ? &problem->reduce.how : &none;
  if (!cvy_reduction_text(&cvy_program_part(problem)->program, how, NULL, name, NAME_BYTES)) return;
  cvy_text text = cvy_text_in(name, NAME_BYTES);
  cvy_text_add(&text, "program %016llx", (unsigned long long)cvy_program_hash(problem));
}

static convoy_status add(cvy_device *device, const cvy_problem *problem, const char *const *parts,
                         const cvy_text *text, kept_source **out) {
  device_generated *all = &device->generated;
  kept_source *new = calloc(1, sizeof *new + text->used + 1);
  if (!new) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a kernel's source");
  size_t count = 0;
  for (; count < MOST_PARTS - 2 && parts[count]; count++) new->parts[count] = parts[count];
  new->parts[count] = memcpy(new->text, text->at, text->used);
  write_name(problem, new->name);
  new->own = (program_source){new->name, new->parts};
  new->next = all->first;
  all->first = new;
  all->count++;
  *out = new;
  return CONVOY_OK;
}

convoy_status generated_source(cvy_device *device, const cvy_problem *problem,
                               const char *const *parts, const cvy_text *text,
                               const program_source **out) {
  uint64_t hash = cvy_hash(0, text->at, text->used);
  const kept_source *found = find(&device->generated, hash, parts, text->at);
  if (!found) {
    kept_source *new = NULL;
    convoy_status status = make_room(device);
    if (!status) status = add(device, problem, parts, text, &new);
    if (status) return status;
    new->hash = hash;
    found = new;
  }
  *out = &found->own;
  return CONVOY_OK;
}

void generated_close(cvy_device *device) {
  drop_all(device);
  free(device->generated.room);
  device->generated.room = NULL;
}
