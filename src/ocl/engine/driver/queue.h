/* A device that a driver has opened, and the commands in its stream. */
#ifndef CVY_OCL_ENGINE_DRIVER_QUEUE_H
#define CVY_OCL_ENGINE_DRIVER_QUEUE_H

#include "ocl/engine/driver/driver.h"

convoy_status driver_open(const gpu_driver *driver, const runtime_device *device,
                          runtime_queue **out, runtime_traits *traits);
void driver_close(runtime_queue *queue);

runtime_memory *driver_memory(runtime_queue *queue, int64_t bytes, int32_t *code);
void driver_memory_release(runtime_queue *queue, runtime_memory *memory);
int32_t driver_memory_move(runtime_queue *queue, runtime_memory *memory);
runtime_memory *driver_pin(runtime_queue *queue, void *memory, int64_t bytes, int32_t *code);
void driver_unpin(runtime_queue *queue, runtime_memory *pinned, void *memory);

runtime_memory *driver_memory_at(uint64_t address);
int32_t driver_use_stream(runtime_queue *queue, void *stream, bool ordered);
runtime_recording driver_recording(runtime_queue *queue, void *stream);

int32_t driver_enter_queue(runtime_queue *queue);

int32_t driver_copy(runtime_queue *queue, runtime_place from, runtime_place to, size_t bytes);
int32_t driver_zero(runtime_queue *queue, runtime_place at, size_t bytes);
int32_t driver_write(runtime_queue *queue, runtime_place to, const void *from, size_t bytes,
                     runtime_event **done);
int32_t driver_read(runtime_queue *queue, runtime_place from, void *to, size_t bytes,
                    runtime_event **done);

int32_t driver_marker(runtime_queue *queue, runtime_event **out);
int32_t driver_event_state(runtime_queue *queue, runtime_event *event, int32_t *state);
int32_t driver_event_wait(runtime_queue *queue, runtime_event *event);
void driver_event_release(runtime_queue *queue, runtime_event *event);

void driver_flush(runtime_queue *queue);
int32_t driver_finish(runtime_queue *queue);

#endif
