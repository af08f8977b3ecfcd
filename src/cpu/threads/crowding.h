/* Whether others want the processors that this process computes on. OpenMP's threads look for work
 * for milliseconds after a loop; where processors would be idle that costs nothing and
 * starts the next loop in a tenth of the time, where others have work to do it takes from them. */
#ifndef CVY_CPU_THREADS_CROWDING_H
#define CVY_CPU_THREADS_CROWDING_H

#include <stdbool.h>

/* Asked before each loop: whether the system has lately taken processors away from this process's
 * threads to give them to others. */
bool cvy_crowded(void);

#endif
