/* The devices that a command works on. Each is an open context. */
#ifndef COMMON_DEVICES_H
#define COMMON_DEVICES_H

#include "common/options.h"
#include "convoy/convoy.h"

enum { DEVICES_MOST = 16 };

typedef struct device_survey {
  int32_t count;
  convoy_device_info item[DEVICES_MOST];
  char why[512]; /* why there are no others, "" */
} device_survey;

/* Finds what devices there are, without opening them. */
convoy_status devices_list_all(device_survey *out);

/* Where there is a GPU, lists the ids of all but simulators and OpenCL devices that are processors.
 * Elsewhere it lists none, which means all. */
void devices_beside_gpu(const device_survey *found, words *ids);

typedef struct device {
  convoy_context *context;
  convoy_device_info info;
  char label[sizeof((convoy_device_info *)0)->id]; /* its id, or "cpu/4" */
  double gflops, gigabytes;                        /* measured peaks; NaN if unknown */
  int32_t threads;                                 /* 0: as many as the library chooses */
} device;

typedef struct device_list {
  int count;
  int failed; /* devices that are there and could not be opened */
  device item[DEVICES_MOST];
} device_list;

/* Opens the devices named: by ids, by parts of names, or by "all", which is the CPU engine and
 * every OpenCL device that is no simulator. With no name it is CONVOY_DEVICE that counts, and all
 * if that is not set. A fault of a device is an error on it, not a reason to compute elsewhere.
 * Complaints go to stderr. Returns an exit status; unless it is 0 no device is open. */
int devices_open(const words *names, device_list *out);
/* The same with the CPU engine once for each number of threads: "1", "2", ... Its label then
 * is "cpu/1" and so on. With no number it is as many as the library chooses. */
int devices_open_with(const words *names, const words *threads, device_list *out);
void devices_close(device_list *list);

/* Finds what device a command would work on, by opening and closing it. `name` is one as in
 * CONVOY_DEVICE, or NULL. */
convoy_status device_probe(const char *name, convoy_device_info *out);

/* Opens a device again after a fault. */
convoy_status device_reopen(device *one);

bool device_has_algorithm(const device *one, const char *name);
/* Checks that each name is "auto", "all" or in some device's table, and says on stderr if it is
 * not. Returns an exit status. */
int devices_check_algorithms(const device_list *list, const words *names);

/* Returns how a type of device is called. */
const char *device_type_name(int32_t type);

#endif
