/* Compiled programs on disk, one file each, written as a whole. A damaged one is deleted. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ocl/engine/program_disk.h"
#include "os/os.h"

typedef struct disk_header {
  char magic[8];
  uint64_t bytes, hash;
} disk_header;

static const char magic[8] = "CVYOCL1";

static bool path_of(uint64_t key, const char *end, char *path, size_t size) {
  char folder[4096];
  if (!cvy_cache_folder(folder, sizeof folder)) return false;
  cvy_text text = cvy_text_in(path, size);
  cvy_text_add(&text, "%s/ocl/%016llx.%s", folder, (unsigned long long)key, end);
  return !text.overflow;
}

static bool entry_path(uint64_t key, char *path, size_t size) {
  return path_of(key, "bin", path, size);
}

void program_forget(uint64_t key) {
  char path[4200];
  if (entry_path(key, path, sizeof path)) unlink(path);
}

bool program_is_stored(uint64_t key) {
  char path[4200];
  return entry_path(key, path, sizeof path) && access(path, F_OK) == 0;
}

int program_lock(uint64_t key, double seconds) {
  char path[4200];
  return path_of(key, "lock", path, sizeof path) ? cvy_file_lock(path, seconds) : -1;
}

/* The file goes first: who waits for it has it open, and looks for the entry again. */
static void let_go(uint64_t key, const char *end, int lock) {
  char path[4200];
  if (lock >= 0 && path_of(key, end, path, sizeof path)) unlink(path);
  cvy_file_unlock(lock);
}

void program_unlock(uint64_t key, int lock) {
  let_go(key, "lock", lock);
}

/* The file of a process that has died is still there, and not locked. */
int program_try(uint64_t key) {
  char path[4200];
  if (!path_of(key, "trial", path, sizeof path)) return -1;
  const bool left = access(path, F_OK) == 0;
  const int trial = cvy_file_lock(path, 0);
  if (!left || trial < 0) return trial;
  cvy_log(CONVOY_LOG_INFO,
          "a process ended while the driver loaded a cached program, compiling it again");
  program_forget(key);
  program_tried(key, trial);
  return -1;
}

void program_tried(uint64_t key, int trial) {
  let_go(key, "trial", trial);
}

static bool is_whole(const void *file, size_t count) {
  disk_header header;
  if (count < sizeof header) return false;
  memcpy(&header, file, sizeof header);
  const size_t bytes = count - sizeof header;
  return memcmp(header.magic, magic, sizeof magic) == 0 && header.bytes == bytes &&
         header.hash == cvy_hash(0, (const char *)file + sizeof header, bytes);
}

void *program_load(uint64_t key, size_t *bytes) {
  char path[4200];
  size_t count = 0;
  if (!entry_path(key, path, sizeof path)) return NULL;
  char *file = cvy_file_read(path, &count);
  if (!file) return NULL;
  if (!is_whole(file, count)) {
    cvy_log(CONVOY_LOG_INFO, "%s is damaged, compiling the program again", path);
    unlink(path);
    free(file);
    return NULL;
  }
  *bytes = count - sizeof(disk_header);
  memmove(file, file + sizeof(disk_header), *bytes);
  return file;
}

void program_store(uint64_t key, const void *binary, size_t bytes) {
  char path[4200];
  if (!entry_path(key, path, sizeof path)) return;
  char *file = malloc(sizeof(disk_header) + bytes);
  if (!file) return;
  disk_header header = {.bytes = bytes, .hash = cvy_hash(0, binary, bytes)};
  memcpy(header.magic, magic, sizeof magic);
  memcpy(file, &header, sizeof header);
  memcpy(file + sizeof header, binary, bytes);
  if (cvy_file_write(path, file, sizeof header + bytes))
    cvy_log(CONVOY_LOG_INFO, "a compiled program was not kept: %s", cvy_last_error());
  free(file);
}
