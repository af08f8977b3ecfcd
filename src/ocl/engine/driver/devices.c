/* The devices that a driver has, and what it says of them. */
#include "ocl/engine/driver/devices.h"

#include <string.h>

#include "ocl/engine/driver/compiler.h"

int driver_number(const runtime_device *device) {
  return (int)(intptr_t)device->id;
}

static int32_t attribute(const driver_calls *calls, int what, int device) {
  int value = 0;
  return calls->attribute(&value, what, device) == 0 && value > 0 ? value : 0;
}

/* The version of the driver's interface, and of the driver where the card's OpenCL, which comes
 * with it, says so. Records of faults and of tuning are of a name and a driver, so
 * that those of one card through two runtimes are kept apart. */
static void write_version(const gpu_driver *driver, const driver_calls *calls, cvy_facts *out) {
  int version = 0;
  cvy_text text = cvy_text_in(out->info.driver, sizeof out->info.driver);
  calls->version(&version);
  cvy_text_add(&text, "%s %d.%d", driver->platform, version / driver->major,
               version % driver->major / driver->minor);
  if (version % driver->minor) cvy_text_add(&text, ".%d", version % driver->minor);
  driver_compiler_version(out, &text);
}

/* As OpenCL has it, since what was measured is kept under the name. */
static void write_name(const gpu_driver *driver, const driver_calls *calls, int device, char *to,
                       size_t size) {
  char chip[64] = "", card[128] = "";
  cvy_text text = cvy_text_in(to, size);
  if (driver->chip) driver->chip(device, chip, sizeof chip);
  calls->name(card, sizeof card - 1, device);
  cvy_text_add(&text, chip[0] && card[0] ? "%s (%s)" : "%s%s", chip, card);
}

static void fill_facts(const gpu_driver *driver, const driver_calls *calls, int device,
                       int32_t index, cvy_facts *out) {
  convoy_device_info *info = &out->info;
  size_t bytes = 0;
  info->struct_size = sizeof *info;
  info->type = CONVOY_DEVICE_GPU;
  info->compute_units = attribute(calls, driver->units, device);
  if (info->compute_units < 1) info->compute_units = 1; /* plans divide by it */
  info->clock_mhz = attribute(calls, driver->clock, device) / 1000;
  if (calls->memory_bytes(&bytes, device) == 0) info->memory_bytes = (int64_t)bytes;
  info->max_allocation_bytes = info->memory_bytes;
  info->local_memory_bytes = attribute(calls, driver->local_memory, device);
  cvy_text text = cvy_text_in(info->id, sizeof info->id);
  cvy_text_add(&text, "%s:%d", driver->name, (int)index);
  write_name(driver, calls, device, info->name, sizeof info->name);
  cvy_text_copy(info->platform, sizeof info->platform, driver->platform);

  out->local_memory_bytes = info->local_memory_bytes;
  out->max_work_group = attribute(calls, driver->work_group, device);
  out->preferred_multiple = attribute(calls, driver->width, device);
  out->max_allocation_bytes = info->max_allocation_bytes;
  out->runtime = driver->runtime;
  calls->bus(out->bus, sizeof out->bus - 1, device);
  write_version(driver, calls, out);
}

convoy_status driver_devices(const gpu_driver *driver, runtime_device *out, int32_t capacity,
                             int32_t *count) {
  const driver_calls *calls = driver->calls();
  int there = 0;
  *count = 0;
  if (!calls) return CONVOY_OK;
  int code = calls->count(&there);
  if (code) return driver_fail(driver, -code, "cannot count devices");
  for (int i = 0; i < there; i++, (*count)++) {
    int device;
    if (i >= capacity || calls->device(&device, i)) continue;
    memset(&out[i], 0, sizeof out[i]);
    out[i].id = (void *)(intptr_t)device;
    fill_facts(driver, calls, device, i, &out[i].facts);
  }
  return CONVOY_OK;
}
