/* Tuning records on disk: the user's file, and those installed with the library.
 *
 * The user's file is named by CONVOY_TUNE_FILE, else tune.txt in the configuration folder. It is
 * read and replaced under a lock (its name with ".lock"), so that processes may tune at the same
 * time. */
#ifndef CVY_TUNEDISK_H
#define CVY_TUNEDISK_H

#include "core/tune/tunefile.h"

/* Neither fails: what is not there or wrong is left out, with one line of log for each file. */
void cvy_records_load(cvy_records *out);
/* share/convoy/tune/NAME.txt, all of them. */
void cvy_records_load_shipped(cvy_records *out);

/* ERR_IO if what is in the user's place is a file of another kind, or there is no place. */
convoy_status cvy_records_check(void);
/* Puts the record into the user's file. ERR_IO also if it cannot be locked or written;
 * ERR_MEMORY. */
convoy_status cvy_records_save(const cvy_record *record);

#endif
