/* Copying past the caches, for results so large that no reader will find them there. The processor
 * then does not read the lines first that it is going to overwrite. */
#ifndef CVY_CPU_SHARED_STREAM_H
#define CVY_CPU_SHARED_STREAM_H

#include <stdbool.h>
#include <stdint.h>

/* Whether it is worth it for results of so many bytes that are made `unit` bytes at a time. */
bool cvy_stream_pays(int64_t bytes, int64_t unit);
void cvy_stream(float *to, const float *from, int64_t floats);
/* Must be called after a thread's last copy, before others read. */
void cvy_stream_end(void);

#endif
