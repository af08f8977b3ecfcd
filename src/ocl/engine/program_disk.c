/* Compiled programs on disk, one file each, written as a whole. A damaged one is deleted. */
#include <stdatomic.h>
#include <stdio.h>
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
static const size_t most_bytes = (size_t)256 << 20; /* of a file */

/* Without a folder, or in one where others could put their programs into the place of ours,
 * programs are compiled and not kept, which is reported once. */
static bool path_of(uint64_t key, const char *end, char *path, size_t size) {
  static atomic_bool reported;
  char file[40];
  snprintf(file, sizeof file, "/%016llx.%s", (unsigned long long)key, end);
  if (cvy_cache_path("/ocl", file, path, size) == CONVOY_OK) return true;
  if (!atomic_exchange(&reported, true))
    cvy_log(CONVOY_LOG_WARNING, "compiled programs are not kept: %s", cvy_last_error());
  return false;
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
  char *file;
  if (!entry_path(key, path, sizeof path)) return NULL;
  const convoy_status status = cvy_file_read(path, CVY_FILE_CODE, most_bytes, &file, &count);
  if (status && status != CONVOY_ERR_NOT_FOUND)
    cvy_log(CONVOY_LOG_WARNING, "a compiled program is not read: %s", cvy_last_error());
  if (status) return NULL;
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
  if (!entry_path(key, path, sizeof path) || bytes > most_bytes - sizeof(disk_header)) return;
  disk_header header = {.bytes = bytes, .hash = cvy_hash(0, binary, bytes)};
  memcpy(header.magic, magic, sizeof magic);
  const cvy_file_piece pieces[] = {{&header, sizeof header}, {binary, bytes}};
  if (cvy_file_cache(path, pieces, CVY_COUNT(pieces)))
    cvy_log(CONVOY_LOG_INFO, "a compiled program was not kept: %s", cvy_last_error());
}
