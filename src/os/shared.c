/* Memory shared between two processes: anonymous files, passed as descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

static convoy_status memory_error(const char *what, size_t bytes) {
  return cvy_fail(CONVOY_ERR_MEMORY, "cannot %s %zu bytes of shared memory: %s", what, bytes,
                  strerror(errno));
}

static convoy_status map(int fd, size_t bytes, bool inherit, cvy_shared *out) {
  *out = (cvy_shared){NULL, 0, -1};
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    convoy_status status = memory_error("map", bytes);
    close(fd);
    return status;
  }
  if (!inherit) madvise(memory, bytes, MADV_DONTFORK);
  *out = (cvy_shared){memory, bytes, fd};
  return CONVOY_OK;
}

/* The limit on the size of files holds for these, too, and going beyond it is a signal that ends a
 * program. */
static convoy_status check_limit(size_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_MEMORY,
                  "cannot reserve %zu bytes of shared memory: the limit on the size of files "
                  "(ulimit -f) is %llu bytes",
                  bytes, (unsigned long long)limit.rlim_cur);
}

convoy_status cvy_shared_make(size_t bytes, bool inherit, cvy_shared *out) {
  *out = (cvy_shared){NULL, 0, -1};
  convoy_status limited = check_limit(bytes);
  if (limited) return limited;
  int fd = cvy_fd_above(memfd_create("convoy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0) return memory_error("create", bytes);
  if (ftruncate(fd, (off_t)bytes) != 0) {
    convoy_status status = memory_error("reserve", bytes);
    close(fd);
    return status;
  }
  /* A file cut short by the other side would be a SIGBUS on this one. */
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return map(fd, bytes, inherit, out);
}

convoy_status cvy_shared_map(int fd, size_t bytes, cvy_shared *out) {
  struct stat file;
  *out = (cvy_shared){NULL, 0, -1};
  if (fstat(fd, &file) != 0 || bytes == 0 || (uint64_t)file.st_size < (uint64_t)bytes) {
    close(fd);
    return cvy_fail(CONVOY_ERR_DEVICE, "shared memory is not %zu bytes large", bytes);
  }
  return map(fd, bytes, false, out);
}

convoy_status cvy_shared_renew(void *at, size_t bytes) {
  void *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return memory_error("map", bytes);
  if (mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
    return CONVOY_OK;
  convoy_status status = memory_error("replace", bytes);
  munmap(fresh, bytes);
  return status;
}

void cvy_shared_close_fd(cvy_shared *shared) {
  if (shared->fd >= 0) close(shared->fd);
  shared->fd = -1;
}

void cvy_shared_drop(cvy_shared *shared) {
  if (shared->memory) munmap(shared->memory, shared->bytes);
  shared->memory = NULL;
  cvy_shared_close_fd(shared);
}
