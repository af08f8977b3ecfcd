/* Looks for traps. Each has a function. */
#include "report/traps.h"

#include <dirent.h>
#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/machine.h"
#include "common/places.h"

enum { PATH_BYTES = 4096, TEXT_BYTES = 1024 };

static const char standard_vendors[] = "/etc/OpenCL/vendors";

/* These variables hide or disguise a GPU. */
static const struct {
  const char *name, *effect;
} disguises[] = {
    {"HSA_OVERRIDE_GFX_VERSION",
     "ROCm compiles for another GPU than the one there; wrong results and hangs are known"},
    {"HIP_VISIBLE_DEVICES", "ROCm hides GPUs that are not listed"},
    {"ROCR_VISIBLE_DEVICES", "ROCm hides GPUs that are not listed"},
    {"GPU_DEVICE_ORDINAL", "ROCm's OpenCL hides GPUs that are not listed"},
    {"CUDA_VISIBLE_DEVICES", "the NVIDIA driver hides GPUs that are not listed"},
    {"OCL_ICD_VENDORS", "OpenCL drivers are looked for there, not in /etc/OpenCL/vendors"},
    {"OCL_ICD_FILENAMES", "only or also these OpenCL drivers are loaded"},
};

/* Returns a variable's value, fit to be sent to others, or NULL. */
static const char *value_of(const char *name, char *out, size_t size) {
  const char *value = getenv(name);
  return value ? places_without_home(value, out, size) : NULL;
}

static int find_disguises(FILE *out) {
  int found = 0;
  for (size_t i = 0; i < sizeof disguises / sizeof disguises[0]; i++) {
    char text[TEXT_BYTES];
    const char *value = value_of(disguises[i].name, text, sizeof text);
    if (!value) continue;
    fprintf(out, "  %s=%s is set: %s\n", disguises[i].name, value, disguises[i].effect);
    found++;
  }
  return found;
}

static int find_settings(FILE *out) {
  int found = 0;
  for (int i = 0; machine_variables[i]; i++) {
    char text[TEXT_BYTES];
    const char *value = value_of(machine_variables[i], text, sizeof text);
    if (!value || strncmp(machine_variables[i], "CONVOY_", 7) != 0) continue;
    fprintf(out, "  %s=%s is set: every Convoy program here obeys it\n", machine_variables[i],
            value);
    found++;
  }
  return found;
}

/* In a container the host's group often has a number only, or another group has its name. */
void traps_tell_group(FILE *out, const char *path, gid_t group) {
  const struct group *owner = getgrgid(group);
  fprintf(out, "  %s: no permission. ", path);
  if (owner) {
    fprintf(out, "Join group %s: sudo usermod -aG %s $USER, then log in again\n", owner->gr_name,
            owner->gr_name);
    return;
  }
  const char *name = getgrnam("render") ? "gpu-render" : "render";
  fprintf(
      out,
      "Its group, number %u, has no name here. Give it one and join it: sudo groupadd -g %u %s; "
      "sudo usermod -aG %s $USER, then log in again\n",
      (unsigned)group, (unsigned)group, name, name);
}

/* access() asks for permission without opening the file. */
static int check_node(FILE *out, const char *path) {
  struct stat about;
  if (stat(path, &about) != 0 || access(path, R_OK | W_OK) == 0) return 0;
  traps_tell_group(out, path, about.st_gid);
  return 1;
}

static int find_forbidden_nodes(FILE *out) {
  int found = check_node(out, "/dev/kfd");
  DIR *folder = opendir("/dev/dri");
  if (!folder) return found;
  const struct dirent *entry;
  while ((entry = readdir(folder))) {
    char path[300];
    if (strncmp(entry->d_name, "renderD", 7) != 0) continue;
    snprintf(path, sizeof path, "/dev/dri/%s", entry->d_name);
    found += check_node(out, path);
  }
  closedir(folder);
  return found;
}

static bool is_icd(const char *name) {
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* An ICD file holds one line, the driver's library. A bare name is searched for by the loader. */
static void read_icd(const char *path, char *line, size_t size) {
  FILE *from = fopen(path, "r");
  line[0] = 0;
  if (!from) return;
  if (!fgets(line, (int)size, from)) line[0] = 0;
  fclose(from);
  line[strcspn(line, "\r\n")] = 0;
}

static int check_icd(FILE *out, const char *path) {
  char line[512], shown_path[PATH_BYTES], shown_line[512];
  int found = 0;
  read_icd(path, line, sizeof line);
  bool missing = line[0] == 0 || (line[0] == '/' && access(line, R_OK) != 0);
  bool hidden = strcasestr(line, "rusticl") && !getenv("RUSTICL_ENABLE");
  path = places_without_home(path, shown_path, sizeof shown_path);
  if (missing) {
    fprintf(out, "  %s names a library that is not there: %s\n", path,
            places_without_home(line, shown_line, sizeof shown_line));
    found++;
  }
  if (hidden) {
    fprintf(out,
            "  %s: rusticl shows no device unless RUSTICL_ENABLE names its driver, for example "
            "radeonsi\n",
            path);
    found++;
  }
  return found;
}

static const char *vendors_folder(void) {
  const char *set = getenv("OCL_ICD_VENDORS");
  return set && *set ? set : standard_vendors;
}

static int find_icd_troubles(FILE *out) {
  const char *where = vendors_folder();
  if (is_icd(where)) return check_icd(out, where);
  DIR *folder = opendir(where);
  int found = 0, files = 0;
  const struct dirent *entry;
  while (folder && (entry = readdir(folder))) {
    char path[4096];
    if (!is_icd(entry->d_name)) continue;
    snprintf(path, sizeof path, "%.3800s/%.255s", where, entry->d_name);
    files++;
    found += check_icd(out, path);
  }
  if (folder) closedir(folder);
  if (files > 0) return found;
  char shown[PATH_BYTES];
  fprintf(out, "  no *.icd file in %s: no OpenCL driver is installed, or its package lacks it\n",
          places_without_home(where, shown, sizeof shown));
  return found + 1;
}

/* ------------------------------------------------------------------- cards without a driver */

/* The vendor id of the PCI bus says whose card it is, and so what brings OpenCL to it. */
static const struct {
  unsigned id;
  const char *name, *packages;
} makers[] = {
    {0x1002, "AMD",
     "either Mesa's rusticl (package mesa-opencl-icd, with RUSTICL_ENABLE=radeonsi set) or ROCm's "
     "(rocm-opencl-runtime from AMD's repository)"},
    {0x10de, "NVIDIA",
     "the one of the vendor's driver (nvidia-opencl-icd; on Ubuntu libnvidia-compute-NNN)"},
    {0x8086, "Intel", "intel-opencl-icd"},
};

/* Says whether a driver could be one of a GPU. PoCL and oclgrind are processors. */
static bool drives_a_card(const char *path) {
  char line[512];
  read_icd(path, line, sizeof line);
  return line[0] && !strcasestr(line, "pocl") && !strcasestr(line, "oclgrind");
}

static bool is_driven(const char *vendors) {
  if (is_icd(vendors)) return drives_a_card(vendors);
  DIR *folder = opendir(vendors);
  const struct dirent *entry;
  bool found = false;
  while (folder && !found && (entry = readdir(folder))) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/%.255s", vendors, entry->d_name);
    found = is_icd(entry->d_name) && drives_a_card(path);
  }
  if (folder) closedir(folder);
  return found;
}

static int tell_undriven(FILE *out, const char *root, const char *node) {
  char path[PATH_BYTES];
  unsigned id = 0;
  snprintf(path, sizeof path, "%.3000s/sys/class/drm/%.255s/device/vendor", root, node);
  FILE *from = fopen(path, "r");
  if (from && fscanf(from, "%x", &id) != 1) id = 0;
  if (from) fclose(from);
  for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
    if (makers[i].id != id) continue;
    fprintf(out, "  /dev/dri/%s is a card of %s, and no OpenCL driver for a GPU is installed: %s\n",
            node, makers[i].name, makers[i].packages);
    return 1;
  }
  return 0;
}

int traps_find_undriven(FILE *out, const char *root, const char *vendors) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%.3000s/dev/dri", root);
  DIR *folder = is_driven(vendors) ? NULL : opendir(path);
  const struct dirent *entry;
  int found = 0;
  while (folder && (entry = readdir(folder)))
    if (strncmp(entry->d_name, "renderD", 7) == 0) found += tell_undriven(out, root, entry->d_name);
  if (folder) closedir(folder);
  return found;
}

static int find_undriven(FILE *out) {
  return traps_find_undriven(out, "", vendors_folder());
}

static int (*const traps[])(FILE *) = {find_disguises, find_settings, find_forbidden_nodes,
                                       find_icd_troubles, find_undriven};

int traps_print(FILE *out) {
  int found = 0;
  for (size_t i = 0; i < sizeof traps / sizeof traps[0]; i++) found += traps[i](out);
  return found;
}
