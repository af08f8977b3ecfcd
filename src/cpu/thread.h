/* Starting a thread of the library: without the program's signals, and with a name. */
#ifndef CVY_CPU_THREAD_H
#define CVY_CPU_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* `name` has at most 15 characters. False if the system gives no thread. */
bool cvy_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name);

#endif
