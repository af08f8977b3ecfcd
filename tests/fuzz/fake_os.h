/* What both fuzz targets of the protocol put in the place of src/os: no second process, no descriptors, and
 * shared memory from malloc, so that AddressSanitizer sees its ends. */
#ifndef FAKE_OS_H
#define FAKE_OS_H

#include "os/os.h"

/* What the next greeting's receiver gets; `hello_bytes` of them, the rest is 0. */
extern const uint8_t *fake_hello;
extern size_t fake_hello_bytes;

/* Called where a side would fall asleep, with the bell it waits for: the target acts as the other. */
extern void (*fake_sleep)(void);

/* Descriptors that stand for memory not mapped yet. */
enum { FAKE_FD = 1000, FAKE_MOST_BYTES = 1 << 16 };

/* Frees what was mapped and not dropped, and starts anew. */
void fake_os_reset(void);

#endif
