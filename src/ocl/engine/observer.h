/* How the worker learns what this thread's engine is busy with: a hung compiler and a hung kernel
 * have different deadlines. Without an observer nothing is reported. */
#ifndef CVY_OCL_ENGINE_OBSERVER_H
#define CVY_OCL_ENGINE_OBSERVER_H

#include "backend.h"

void observer_set(const cvy_engine_observer *observer);
/* Another phase begins; returns the one before. */
cvy_phase observer_phase(cvy_phase phase);
/* Tells how far the device is. */
void observer_progress(const cvy_device *device);
/* The newest command runs a kernel for the first time. */
void observer_first_run(void);

#endif
