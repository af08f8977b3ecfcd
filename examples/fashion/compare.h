/* The same training steps on every device, from the same weights and images. */
#ifndef FASHION_COMPARE_H
#define FASHION_COMPARE_H

#include "common/options.h"
#include "fashion/idx.h"

/* Prints a line per device: images per second, and the largest difference of one step's gradients
 * from the CPU engine's. Each step is computed by all devices, then all go on from the CPU's
 * weights. `checkpoint` gives the first weights, NULL: the initial ones. Returns the exit status: 1
 * if a device failed or differs by more than rounding explains. */
int compare_devices(const struct options *options, const char *checkpoint,
                    const struct image_set *training);

#endif
