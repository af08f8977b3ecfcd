/* The black box: what can still be read when the machine itself went down.
 *
 * A marker, one small file in the state folder, is there as long as a device is open, and is written anew
 * once a minute. Whoever opens a device later and finds a marker of an earlier boot, and nothing that shows
 * that the machine outlived the trainer (core/judge.h), knows that the machine stopped while that device
 * was in use; after two of them it is not opened any more. While a kernel (an algorithm with its
 * parameters in one direction) runs for the first time since the device was opened, the marker names
 * it; found after another boot, that algorithm is not used on this device any more. A power cut
 * leaves the same traces, so they can be cleared: `convoy health --clear`. */
#ifndef CVY_BLACKBOX_H
#define CVY_BLACKBOX_H

#include "core/choose.h"
#include "core/downs.h"

#define CVY_KERNELS 256
typedef struct cvy_blackbox {
  char path[512];        /* of the marker; "": none */
  int process;           /* that keeps it; a child made by fork() leaves it alone */
  double written;        /* cvy_clock */
  cvy_marker marker;     /* what it says */
  uint64_t first_ticket; /* the first use it names is done when this is; UINT64_MAX: not enqueued */
  uint64_t used
      [CVY_KERNELS]; /* hashes of kernels that have been used; the oldest of more is named anew */
  int32_t next_used;
  bool silent;     /* that files cannot be written has been said */
  cvy_downs downs; /* of the device */
} cvy_blackbox;

/* Before a device is opened: judges the markers that are there and sets its own. ERR_DEVICE with a
 * sentence if the machine went down with the device too often. */
convoy_status cvy_blackbox_open(convoy_context *context, const convoy_device_info *info);
/* Removes the marker. */
void cvy_blackbox_close(convoy_context *context);
/* A public call begins: about once a minute the marker is written anew. */
void cvy_blackbox_refresh(convoy_context *context);

/* Around the enqueueing of a job. A kernel's first use waits for that of the kernel before, so that
 * the marker names one at a time; a fault met there has been dealt with. */
void cvy_blackbox_before(convoy_context *context, const cvy_choice *choice,
                         const cvy_problem *problem);
void cvy_blackbox_after(convoy_context *context);
/* Everything up to `ticket` is done, well or badly: the machine still stands. */
void cvy_blackbox_done(convoy_context *context, uint64_t ticket);

/* Whether a file of the state folder could be found or written; that it could not, for the reason of the
 * last error, is logged once per context. */
bool cvy_blackbox_keeps(convoy_context *context, convoy_status status);

#endif
