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
/* Both come after what was enqueued on the stream, and are done when they return: arrays of the
 * host may be the caller's locals. */
void framework_write(void *to, const float *from, int64_t floats, void *stream);
void framework_wait(void *stream);
void framework_read(float *to, void *from, int64_t floats, void *stream);

/* What is put into the stream until framework_recorded is recorded, and fails if anybody waits,
 * allocates or loads meanwhile. */
void framework_record(void *stream);
void *framework_recorded(void *stream);
void framework_replay(void *graph, void *stream);
void framework_graph_free(void *graph);

/* How often streams were waited for, of the stand-in. The next launches write nothing. */
long framework_waits(void);
void framework_skip_next(int launches);

#endif
