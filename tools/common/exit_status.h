/* All subcommands share these exit statuses. After a signal it is 128 and the signal's number
 * (interrupt.h). */
#ifndef COMMON_EXIT_STATUS_H
#define COMMON_EXIT_STATUS_H

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3 };

#endif
