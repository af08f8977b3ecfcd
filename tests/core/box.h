/* The black box in a folder of its own, on a boot, at a time and with a disk that the test sets. */
#ifndef BOX_H
#define BOX_H

#include "convoy/convoy.h"
#include "core/marker.h"
#include "os/os.h"

typedef struct box_state {
  int boot;           /* which it is; another number is another boot */
  double later;       /* seconds that the clock is ahead */
  bool contained;     /* this process is in a container */
  cvy_past_boot past; /* what is known of earlier boots: alive and orderly */
  bool disk_full;     /* nothing can be written */
  char folder[40];    /* the library's state folder */
  char logged[4096];  /* warnings since box_fresh */
} box_state;
extern box_state box;

/* Set-up and tear-down of a group of tests, set-up of each. */
int box_make_folder(void **state);
int box_remove_folder(void **state);
int box_fresh(void **state);

int box_lines_logged(void);
/* Files of a kind: "running", "downs", "reports". */
int box_files(const char *kind);
/* The path of the last one, and its text, which the caller frees. */
void box_path(const char *kind, char *path, size_t size);
char *box_text(const char *kind);
cvy_marker box_marker(void);

/* Enqueues a convolution and does not wait for it. */
void box_enqueue(convoy_context *context);
/* A trainer that ends without closing anything, during the first use of a kernel or after it. */
void box_die_in_use(bool in_first_use);
const char *box_device(convoy_context *context);
void box_check_opens(const char *device);

#endif
