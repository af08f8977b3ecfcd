/* Checks what the device computed, operation by operation. */
#ifndef SOAK_CHECK_H
#define SOAK_CHECK_H

#include "soak/net.h"

/* Computes each operation of the part on the CPU, from the operands that the device had, and counts
 * the elements of results that are beyond the operation's bound. Returns -1 if the CPU failed. */
int64_t soak_check_part(soak_net *net, int part);
/* Counts the same of the summed gradients. */
int64_t soak_check_gradients(soak_net *net);

#endif
