/* The file: header, weights, momentum, then a hash of all that. Numbers are stored as the machine
 * has them; `order` tells a machine that has them otherwise. */
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION 2
#define ORDER 0x01020304
#define LARGEST (1 << 30) /* bytes */
static const char magic[8] = "fashion";

struct header {
  char magic[8];
  uint32_t version, order;
  int64_t parameters;
  struct position position;
};

/* FNV-1a. */
static uint64_t hash(const void *bytes, size_t count) {
  const unsigned char *byte = bytes;
  uint64_t value = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; i++) value = (value ^ byte[i]) * 0x100000001b3u;
  return value;
}

static size_t body_size(int64_t parameters) {
  return sizeof(struct header) + 2 * (size_t)parameters * sizeof(float);
}

static bool put(int file, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(file, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= (size_t)written;
  }
  return true;
}

/* The rename itself survives a power cut only once the folder is on disk too. */
static bool sync_folder(const char *path) {
  char copy[4096];
  snprintf(copy, sizeof copy, "%s", path);
  int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  bool done = fsync(folder) == 0;
  return close(folder) == 0 && done;
}

static bool replace_file(const char *path, const char *bytes, size_t count) {
  char temporary[4096];
  if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary) {
    errno = ENAMETOOLONG;
    return false;
  }
  int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  bool done = put(file, bytes, count) && fsync(file) == 0;
  done = close(file) == 0 && done;
  if (done && rename(temporary, path) == 0) return sync_folder(path);
  int why = errno;
  unlink(temporary);
  errno = why;
  return false;
}

bool checkpoint_write(const char *path, const struct checkpoint *checkpoint) {
  size_t size = body_size(checkpoint->parameters);
  size_t half = (size_t)checkpoint->parameters * sizeof(float);
  char *bytes = malloc(size + sizeof(uint64_t));
  bool done = false;
  if (bytes) {
    struct header head = {.version = VERSION, .order = ORDER, .parameters = checkpoint->parameters};
    memcpy(head.magic, magic, sizeof magic);
    head.position = checkpoint->position;
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, checkpoint->weights, half);
    memcpy(bytes + sizeof head + half, checkpoint->momentum, half);
    uint64_t sum = hash(bytes, size);
    memcpy(bytes + size, &sum, sizeof sum);
    done = replace_file(path, bytes, size + sizeof sum);
  }
  if (!done) fprintf(stderr, "checkpoint %s could not be written: %s\n", path, strerror(errno));
  free(bytes);
  return done;
}

/* The whole file, NULL if it cannot be read or is larger than any checkpoint. */
static char *get(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *bytes = size > 0 && size <= LARGEST ? malloc((size_t)size) : NULL;
  *count = bytes ? fread(bytes, 1, (size_t)size, file) : 0;
  fclose(file);
  return bytes;
}

/* Says what is wrong with a file of `count` bytes, NULL if nothing is. Version 1 had the same
 * arrays, but left out the images of an epoch that fill no batch: its steps count otherwise. */
static const char *fault(const char *bytes, size_t count) {
  struct header head;
  if (!bytes || count < sizeof head) return "it cannot be read, or is cut off";
  memcpy(&head, bytes, sizeof head);
  if (memcmp(head.magic, magic, sizeof magic) != 0) return "it is no checkpoint of this program";
  if (head.order != ORDER) return "it comes from a machine of the other byte order";
  if (head.version != VERSION) {
    return "it is of another version of this program, which counts steps otherwise";
  }
  if (head.parameters < 0 || head.parameters > LARGEST ||
      count != body_size(head.parameters) + sizeof(uint64_t)) {
    return "it is cut off, or has bytes too many";
  }
  uint64_t sum;
  memcpy(&sum, bytes + count - sizeof sum, sizeof sum);
  return sum == hash(bytes, count - sizeof sum) ? NULL : "it is damaged: its hash is wrong";
}

static bool unpack(const char *bytes, struct checkpoint *checkpoint) {
  struct header head;
  memcpy(&head, bytes, sizeof head);
  size_t half = (size_t)head.parameters * sizeof(float);
  checkpoint->position = head.position;
  checkpoint->parameters = head.parameters;
  checkpoint->weights = malloc(half);
  checkpoint->momentum = malloc(half);
  if (!checkpoint->weights || !checkpoint->momentum) return false;
  memcpy(checkpoint->weights, bytes + sizeof head, half);
  memcpy(checkpoint->momentum, bytes + sizeof head + half, half);
  return true;
}

bool checkpoint_read(const char *path, struct checkpoint *checkpoint) {
  size_t count = 0;
  char *bytes = get(path, &count);
  const char *why = fault(bytes, count);
  memset(checkpoint, 0, sizeof *checkpoint);
  if (!why && !unpack(bytes, checkpoint)) why = "there is no memory for it";
  free(bytes);
  if (!why) return true;
  fprintf(stderr, "checkpoint %s is not used: %s\n", path, why);
  checkpoint_free(checkpoint);
  return false;
}

void checkpoint_free(struct checkpoint *checkpoint) {
  free(checkpoint->weights);
  free(checkpoint->momentum);
  memset(checkpoint, 0, sizeof *checkpoint);
}
