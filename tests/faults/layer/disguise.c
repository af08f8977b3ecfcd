/* A device that calls itself a Radeon RX 5600 XT, to see what is chosen for one. */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

#define CL_DEVICE_BOARD_NAME_AMD_ 0x4038

static const char name[] = "gfx1010:xnack-", vendor[] = "Advanced Micro Devices, Inc.";
static const char board[] = "AMD Radeon RX 5600 XT";
static const cl_device_type type = CL_DEVICE_TYPE_GPU;
static const cl_uint vendor_id = 0x1002, units = 18;
static const cl_ulong local_bytes = 65536;

static const struct {
  cl_device_info what;
  size_t bytes;
  const void *value;
} answers[] = {
    {CL_DEVICE_NAME, sizeof name, name},
    {CL_DEVICE_VENDOR, sizeof vendor, vendor},
    {CL_DEVICE_BOARD_NAME_AMD_, sizeof board, board},
    {CL_DEVICE_TYPE, sizeof type, &type},
    {CL_DEVICE_VENDOR_ID, sizeof vendor_id, &vendor_id},
    {CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units},
    {CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes},
};

bool disguise_info(cl_device_info what, size_t size, void *value, size_t *size_needed,
                   cl_int *code) {
  const char *wanted = getenv("CONVOY_FAULT_DEVICE");
  if (!wanted || strcmp(wanted, "gfx1010") != 0) return false;
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    if (answers[i].what != what) continue;
    *code = value && size < answers[i].bytes ? CL_INVALID_VALUE : CL_SUCCESS;
    if (size_needed) *size_needed = answers[i].bytes;
    if (value && *code == CL_SUCCESS) memcpy(value, answers[i].value, answers[i].bytes);
    return true;
  }
  return false;
}
