/* What a framework does with its card in this process: through the driver that CONVOY_TEST_DEVICE
 * is of, it has memory, streams and the device's own context. */
#ifndef STANDIN_FRAMEWORK_H
#define STANDIN_FRAMEWORK_H

#include <stdint.h>

void framework_start(const char *device);
void *framework_stream(void);
void framework_stream_free(void *stream);
void *framework_memory(int64_t floats);
void framework_free(void *memory);
/* Both are enqueued; reading waits for the stream. */
void framework_write(void *to, const float *from, int64_t floats, void *stream);
void framework_read(float *to, void *from, int64_t floats, void *stream);

#endif
