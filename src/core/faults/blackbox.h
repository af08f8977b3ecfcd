/* The black box: what can still be read when the machine itself went down.
 *
 * An in-use marker, one small file in the state folder, is there as long as a device is open, and
 * is written anew once a minute. A trainer that opens a device later and finds a marker of an
 * earlier boot, and nothing that shows that the machine outlived the trainer (faults/judge.h),
 * knows that the machine stopped while that device was in use; after two of them it is not opened
 * any more. While a kernel (an algorithm with its parameters for one operation) runs for the first
 * time since the device was opened, the marker names it; found after another boot, that algorithm
 * is not used on this device any more. A power cut leaves the same traces, so they can be cleared:
 * `convoy health --clear`. */
#ifndef CVY_BLACKBOX_H
#define CVY_BLACKBOX_H

#include "core/faults/crashes.h"
#include "core/tune/choose.h"

#define CVY_KERNELS 256
typedef struct cvy_blackbox {
  char path[512];        /* of the marker; "": none */
  int process;           /* that keeps it; a child made by fork() leaves it alone */
  double written;        /* cvy_clock */
  cvy_marker marker;     /* what it says */
  uint64_t first_ticket; /* the first use it names is done when this is; UINT64_MAX: not enqueued */
  uint64_t used[CVY_KERNELS]; /* hashes of kernels; the oldest of more is named anew */
  int32_t next_used;
  bool silent;         /* that files cannot be written has been said */
  cvy_crashes crashes; /* of the device */
} cvy_blackbox;

/* Before a device is opened: judges the markers that are there and sets its own. ERR_DEVICE with a
 * sentence if the machine went down with the device too often. */
convoy_status cvy_blackbox_open(convoy_context *context, const convoy_device_info *info);
/* Removes the marker. */
void cvy_blackbox_close(convoy_context *context);
/* A public call begins: about once a minute the marker is written anew. */
void cvy_blackbox_refresh(convoy_context *context);

/* Whether the operation's kernel is used for the first time since the device was opened, and is to
 * be named. *before: the command that the one named before waits for, which has to be done first,
 * so that the marker names one at a time; 0: none. */
bool cvy_blackbox_first_use(convoy_context *context, const cvy_problem *problem,
                            const cvy_choice *choice, uint64_t *before);
/* Names it. */
void cvy_blackbox_name(convoy_context *context, const cvy_problem *problem,
                       const cvy_choice *choice);
/* The newest command is an operation: its kernel is done when that is. */
void cvy_blackbox_launched(convoy_context *context);
/* Everything up to `ticket` is done, well or badly: the machine still stands. */
void cvy_blackbox_done(convoy_context *context, uint64_t ticket);

/* Whether a file of the state folder could be found or written; that it could not, for the reason
 * of the last error, is logged once per context. */
bool cvy_blackbox_keeps(convoy_context *context, convoy_status status);

#endif
