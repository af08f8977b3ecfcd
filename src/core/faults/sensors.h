/* What the machine's graphics cards say about themselves. */
#ifndef CVY_SENSORS_H
#define CVY_SENSORS_H

#include "base/base.h"

/* One line such as "card0 temperature 54 C, card0 load 99 %", "" where nothing can be read. `root`
 * is the folder of the cards. Takes a quarter of a second at most, also when a driver hangs. */
#define CVY_SENSORS_ROOT "/sys/class/drm"
void cvy_sensors(const char *root, char *text, size_t size);

#endif
