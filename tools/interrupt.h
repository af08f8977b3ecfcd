/* Ctrl-C and SIGTERM: the first ends what is at hand, so that what there is can still be told; a second
 * one ends the program at once. */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <stdbool.h>

#include "convoy/convoy.h"

/* From now on signals are waited for; one that is ignored stays so (nohup). */
void interrupt_catch(void);
bool interrupted(void);
/* A signal that comes now ends the waits of this context too; NULL: of none. */
void interrupt_reaches(convoy_context *context);

/* ERR_INTERRUPTED after a signal, else `status`. */
convoy_status interrupt_check(convoy_status status);

/* The exit status: 128 and the signal's number, else `status`. */
int interrupt_status(int status);
/* "ended by SIGINT" */
const char *interrupt_text(void);

#endif
