/* Streams that are recorded, as CUDA graphs and HIP's do: what is put into one is not carried out
 * but noted, and carried out when the graph is launched. Meanwhile nobody waits for the stream, and
 * in the mode that frameworks use no thread allocates, loads or asks for events that has not said
 * that it knows what it does. Who does it all the same breaks the recording. */
#ifndef STANDIN_RECORD_H
#define STANDIN_RECORD_H

#include <stdbool.h>
#include <stddef.h>

enum { RECORD_GLOBAL = 0, RECORD_THREAD = 1, RECORD_RELAXED = 2 };

/* A command that is noted: what carries it out, and a copy of what that needs. */
typedef int record_fn(const void *what, void *stream);

int record_begin(void *stream, int mode);
int record_end(void *stream, void **graph);
/* 0: not, 1: it is recorded, 2: and something has broken that. */
int record_state(void *stream);
int record_launch(void *graph, void *stream);
void record_free(void *graph);

/* What the calling thread may do while others record; returns what it might before. */
int record_exchange_mode(int mode);
/* 0, or the error of what may not be done now, which then breaks what is recorded. */
int record_unsafe(void);
/* The same for what waits for the stream, or asks how far it is. */
int record_waits(void *stream);
/* Whether the stream is recorded; *code is then what came of noting the command. */
bool record_add(void *stream, record_fn *run, const void *what, size_t bytes, int *code);

#endif
