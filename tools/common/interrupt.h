/* Ctrl-C and SIGTERM: the first ends what is at hand, so that what there is can still be told; a
 * second one ends the program at once. */
#ifndef COMMON_INTERRUPT_H
#define COMMON_INTERRUPT_H

#include <stdbool.h>

#include "convoy/convoy.h"

/* From now on signals are waited for; one that is ignored stays so (nohup). */
void interrupt_catch(void);
bool interrupted(void);
/* A signal that comes from now on ends the waits of this context too, or of none if it is NULL. */
void interrupt_reaches(convoy_context *context);

/* Returns ERR_INTERRUPTED after a signal, else `status`. */
convoy_status interrupt_check(convoy_status status);

/* Returns the exit status: 128 and the signal's number after a signal, else `status`. */
int interrupt_status(int status);
/* Returns a text like "ended by SIGINT". */
const char *interrupt_text(void);

#endif
