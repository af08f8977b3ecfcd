/* The OpenCL devices there are, in the order the platforms give them. */
#include "ocl/engine/opencl/devices.h"

#include <stdlib.h>
#include <string.h>

#include "ocl/engine/opencl/errors.h"

#define MOST_PLATFORMS 16
#define MOST_DEVICES 64 /* per platform */

static void device_text(cl_device_id id, cl_device_info what, char *to, size_t size) {
  char text[1024] = "";
  if (clGetDeviceInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS) text[0] = 0;
  const char *from = text;
  while (*from == ' ') from++;
  cvy_text_copy(to, size, from);
}

static int64_t device_ulong(cl_device_id id, cl_device_info what) {
  cl_ulong value = 0;
  if (clGetDeviceInfo(id, what, sizeof value, &value, NULL) != CL_SUCCESS) return 0;
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int32_t device_uint(cl_device_id id, cl_device_info what) {
  cl_uint value = 0;
  if (clGetDeviceInfo(id, what, sizeof value, &value, NULL) != CL_SUCCESS) return 0;
  return (int32_t)value;
}

static int64_t device_size(cl_device_id id, cl_device_info what) {
  size_t value = 0;
  if (clGetDeviceInfo(id, what, sizeof value, &value, NULL) != CL_SUCCESS) return 0;
  return (int64_t)value;
}

#define VENDOR_AMD 0x1002
#define BOARD_NAME_AMD 0x4038 /* of cl_amd_device_attribute_query */

/* AMD's driver names a chip, gfx1010:xnack-, which several cards have. The card is what people
 * know, and what tells apart how fast they are, so it is added: "gfx1010:xnack- (AMD Radeon RX 5600
 * XT)". */
static void device_name(cl_device_id id, char *to, size_t size) {
  char board[128] = "";
  device_text(id, CL_DEVICE_NAME, to, size);
  if (device_uint(id, CL_DEVICE_VENDOR_ID) == VENDOR_AMD)
    device_text(id, BOARD_NAME_AMD, board, sizeof board);
  if (!board[0] || strstr(to, board)) return;
  size_t used = strlen(to);
  cvy_text text = cvy_text_in(to + used, size - used);
  cvy_text_add(&text, used ? " (%s)" : "%s", board);
}

/* A simulator may claim to be of every type; it is a processor. */
static int32_t device_type(cl_device_id id) {
  cl_device_type type = 0;
  clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  if (type & CL_DEVICE_TYPE_CPU) return CONVOY_DEVICE_CPU;
  if (type & CL_DEVICE_TYPE_GPU) return CONVOY_DEVICE_GPU;
  return CONVOY_DEVICE_ACCELERATOR;
}

static int64_t preferred_multiple(cl_device_id id, int32_t type) {
  if (type == CONVOY_DEVICE_CPU) return 1;
  return device_uint(id, CL_DEVICE_VENDOR_ID) == VENDOR_AMD ? 64 : 32;
}

#define PCI_BUS_INFO 0x410F /* of cl_khr_pci_bus_info: domain, bus, device, function */
#define TOPOLOGY_AMD 0x4037 /* of cl_amd_device_attribute_query */
#define PCI_BUS_NV 0x4008   /* of cl_nv_device_attribute_query */
#define PCI_SLOT_NV 0x4009
#define PCI_DOMAIN_NV 0x400A

static void write_bus(cvy_facts *out, unsigned domain, unsigned bus, unsigned device,
                      unsigned function) {
  cvy_text text = cvy_text_in(out->bus, sizeof out->bus);
  cvy_text_add(&text, "%04x:%02x:%02x.%x", domain & 0xffffu, bus & 0xffu, device & 0x1fu,
               function & 7u);
}

/* Where the card is; there are three ways to ask, and some drivers have none. */
static void device_bus(cl_device_id id, cvy_facts *out) {
  cl_uint place[4], bus, slot, domain = 0;
  unsigned char topology[24]; /* a type, 1 for PCIe; at its end bus, device and function */
  cl_uint type;
  if (clGetDeviceInfo(id, PCI_BUS_INFO, sizeof place, place, NULL) == CL_SUCCESS) {
    write_bus(out, place[0], place[1], place[2], place[3]);
  } else if (clGetDeviceInfo(id, PCI_BUS_NV, sizeof bus, &bus, NULL) == CL_SUCCESS &&
             clGetDeviceInfo(id, PCI_SLOT_NV, sizeof slot, &slot, NULL) == CL_SUCCESS) {
    clGetDeviceInfo(id, PCI_DOMAIN_NV, sizeof domain, &domain, NULL);
    write_bus(out, domain, bus, slot >> 3, slot);
  } else if (clGetDeviceInfo(id, TOPOLOGY_AMD, sizeof topology, topology, NULL) == CL_SUCCESS) {
    memcpy(&type, topology, sizeof type);
    if (type == 1) write_bus(out, 0, topology[21], topology[22], topology[23]);
  }
}

static void fill_facts(cl_platform_id platform, cl_device_id id, int32_t index, cvy_facts *out) {
  convoy_device_info *info = &out->info;
  info->struct_size = sizeof *info;
  info->type = device_type(id);
  info->compute_units = device_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  if (info->compute_units < 1) info->compute_units = 1; /* plans divide by it */
  info->clock_mhz = device_uint(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  info->memory_bytes = device_ulong(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  info->max_allocation_bytes = device_ulong(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info->local_memory_bytes = device_ulong(id, CL_DEVICE_LOCAL_MEM_SIZE);
  cvy_text text = cvy_text_in(info->id, sizeof info->id);
  cvy_text_add(&text, "ocl:%d", (int)index);
  device_name(id, info->name, sizeof info->name);
  device_text(id, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof info->platform - 1, info->platform, NULL);
  info->simulator = strstr(info->platform, "clgrind") || strstr(info->name, "clgrind");

  out->local_memory_bytes = info->local_memory_bytes;
  out->max_work_group = device_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  out->preferred_multiple = preferred_multiple(id, info->type);
  out->max_allocation_bytes = info->max_allocation_bytes;
  out->runtime = CVY_RUNTIME_OPENCL;
  device_bus(id, out);
}

/* Adds the devices of one platform. A platform that has none, or fails, has none. */
static void list_platform(cl_platform_id platform, runtime_device *out, int32_t capacity,
                          int32_t *count) {
  cl_device_id devices[MOST_DEVICES];
  cl_uint there = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &there) != CL_SUCCESS)
    return;
  if (there > MOST_DEVICES) there = MOST_DEVICES;
  for (cl_uint i = 0; i < there; i++, (*count)++) {
    if (*count >= capacity) continue;
    memset(&out[*count], 0, sizeof out[*count]);
    out[*count].id = devices[i];
    fill_facts(platform, devices[i], *count, &out[*count].facts);
  }
}

convoy_status opencl_devices(runtime_device *out, int32_t capacity, int32_t *count) {
  *count = 0;
  cl_platform_id platforms[MOST_PLATFORMS];
  cl_uint there = 0;
  cl_int code = clGetPlatformIDs(MOST_PLATFORMS, platforms, &there);
  if (code == -1001)
    there = 0; /* The loader found no driver, so there are no devices, which is no error. */
  else if (code != CL_SUCCESS)
    return opencl_fail(code, "cannot list OpenCL platforms");
  if (there > MOST_PLATFORMS) there = MOST_PLATFORMS;
  for (cl_uint i = 0; i < there; i++) list_platform(platforms[i], out, capacity, count);
  return CONVOY_OK;
}

static bool has_extension(cl_device_id id, const char *name) {
  size_t size = 0;
  if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS) return false;
  char *all = calloc(1, size + 1);
  if (!all) return false;
  clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, all, NULL);
  bool found = strstr(all, name) != NULL;
  free(all);
  return found;
}

/* PoCL has a cache of its own, unless told to have none. For a binary it compiles every kernel of
 * the program once more, for work-groups of any size, which takes longer than all the rest. */
static bool keeps_programs(const convoy_device_info *info) {
  const char *keeps = cvy_env("POCL_KERNEL_CACHE");
  return strcmp(info->platform, "Portable Computing Language") == 0 &&
         !(keeps && strcmp(keeps, "0") == 0);
}

static uint64_t hash_of_compiler(cl_device_id id, const convoy_device_info *info) {
  char version[128] = "";
  cl_platform_id platform = NULL;
  clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
  const char *const texts[] = {info->name, info->driver, info->platform, version};
  uint64_t hash = 0;
  for (size_t i = 0; i < CVY_COUNT(texts); i++)
    hash = cvy_hash(hash, texts[i], strlen(texts[i]) + 1);
  return hash;
}

void opencl_traits(const runtime_device *device, runtime_traits *out) {
  const cl_device_id id = device->id;
  *out = (runtime_traits){.alignment = device_uint(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8,
                          .takes_registers = has_extension(id, "cl_nv_compiler_options"),
                          .keeps_programs = keeps_programs(&device->facts.info),
                          .compiler = hash_of_compiler(id, &device->facts.info)};
}
