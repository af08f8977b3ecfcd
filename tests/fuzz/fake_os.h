/* What both fuzz targets of the protocol put in the place of src/os: no second process, no descriptors, and
 * shared memory from malloc, so that AddressSanitizer sees its ends. */
#ifndef FAKE_OS_H
#define FAKE_OS_H

#include "os/os.h"

/* The next message on the socket, of exactly `count` bytes, with FAKE_FD; false: none comes. */
extern bool (*fake_receive)(void *bytes, size_t count);

/* Called where a side would fall asleep, with the bell it waits for: the target acts as the other. */
extern void (*fake_sleep)(void);

/* Descriptors that stand for memory not mapped yet. */
enum { FAKE_FD = 1000, FAKE_MOST_BYTES = 1 << 16 };

/* Frees what was mapped and not dropped, and starts anew. */
void fake_os_reset(void);

#endif
