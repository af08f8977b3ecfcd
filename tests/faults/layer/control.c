/* The shared file. */
#include "control.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static faults_control *map(int fd, int flags) {
  void *memory =
      mmap(NULL, sizeof(faults_control), PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

faults_control *faults_control_open(const char *path) {
  if (!path) return map(-1, MAP_ANONYMOUS);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return NULL;
  faults_control *control = NULL;
  if (ftruncate(fd, sizeof *control) == 0) control = map(fd, 0);
  close(fd);
  return control;
}

void faults_control_close(faults_control *control) {
  munmap(control, sizeof *control);
}

void faults_control_set(faults_control *control, const char *rules) {
  atomic_fetch_add(&control->generation, 1);
  strncpy(control->rules, rules, sizeof control->rules - 1);
  atomic_fetch_add(&control->generation, 1);
}

uint32_t faults_control_get(faults_control *control, char rules[FAULTS_RULES_TEXT]) {
  for (;;) {
    const uint32_t before = atomic_load(&control->generation);
    memcpy(rules, control->rules, FAULTS_RULES_TEXT);
    if (before % 2 == 0 && atomic_load(&control->generation) == before) return before;
    sched_yield();
  }
}

uint64_t faults_control_calls(const faults_control *control, const char *entry) {
  for (int i = 0; i < FAULTS_ENTRIES; i++)
    if (strcmp(control->name[i], entry) == 0) return atomic_load(&control->calls[i]);
  return 0;
}

void faults_control_clear(faults_control *control) {
  faults_control_set(control, "");
  for (int i = 0; i < FAULTS_ENTRIES; i++) atomic_store(&control->calls[i], 0);
  atomic_store(&control->struck, 0);
  control->last[0] = 0;
}
