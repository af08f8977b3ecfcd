/* The traps, one function each. */
#include "traps.h"

#include <dirent.h>
#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"

static const char standard_vendors[] = "/etc/OpenCL/vendors";

/* Variables that hide or disguise a GPU. */
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

static int find_disguises(FILE *out) {
  int found = 0;
  for (size_t i = 0; i < sizeof disguises / sizeof disguises[0]; i++) {
    const char *value = getenv(disguises[i].name);
    if (!value) continue;
    fprintf(out, "  %s=%s is set: %s\n", disguises[i].name, value, disguises[i].effect);
    found++;
  }
  return found;
}

static int find_settings(FILE *out) {
  int found = 0;
  for (int i = 0; machine_variables[i]; i++) {
    const char *value = getenv(machine_variables[i]);
    if (!value || strncmp(machine_variables[i], "CONVOY_", 7) != 0) continue;
    fprintf(out, "  %s=%s is set: every Convoy program here obeys it\n", machine_variables[i],
            value);
    found++;
  }
  return found;
}

/* access() asks for permission without opening the file. */
static int check_node(FILE *out, const char *path) {
  struct stat about;
  if (stat(path, &about) != 0 || access(path, R_OK | W_OK) == 0) return 0;
  const struct group *owner = getgrgid(about.st_gid);
  const char *name = owner ? owner->gr_name : "of the file";
  fprintf(out, "  %s: no permission. Join group %s: sudo usermod -aG %s $USER, then log in again\n",
          path, name, name);
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
  const size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* An ICD file holds one line, the driver's library. A bare name is searched for by the loader. */
static int check_icd(FILE *out, const char *path) {
  char line[512] = "";
  FILE *from = fopen(path, "r");
  if (from) {
    if (!fgets(line, sizeof line, from)) line[0] = 0;
    fclose(from);
  }
  line[strcspn(line, "\r\n")] = 0;
  int found = 0;
  if (line[0] == 0 || (line[0] == '/' && access(line, R_OK) != 0)) {
    fprintf(out, "  %s names a library that is not there: %s\n", path, line);
    found++;
  }
  if (strcasestr(line, "rusticl") && !getenv("RUSTICL_ENABLE")) {
    fprintf(out,
            "  %s: rusticl shows no device unless RUSTICL_ENABLE names its driver, for example "
            "radeonsi\n",
            path);
    found++;
  }
  return found;
}

static int find_icd_troubles(FILE *out) {
  const char *set = getenv("OCL_ICD_VENDORS");
  const char *where = set && *set ? set : standard_vendors;
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
  fprintf(out, "  no *.icd file in %s: no OpenCL driver is installed, or its package lacks it\n",
          where);
  return found + 1;
}

static int (*const traps[])(FILE *) = {find_disguises, find_settings, find_forbidden_nodes,
                                       find_icd_troubles};

int traps_print(FILE *out) {
  int found = 0;
  for (size_t i = 0; i < sizeof traps / sizeof traps[0]; i++) found += traps[i](out);
  return found;
}
