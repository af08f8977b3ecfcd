/* Traps that the machine at hand need not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "report/traps.h"

static char root[] = "/tmp/convoy-traps-XXXXXX";

static void make(const char *path, const char *text) {
  char full[256];
  snprintf(full, sizeof full, "%s/%s", root, path);
  for (char *at = full + sizeof root; (at = strchr(at, '/')); *at++ = '/') {
    *at = 0;
    mkdir(full, 0777);
  }
  FILE *file = fopen(full, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* How many are told of a machine with these drivers, and whether `part` is among what is told. */
static int undriven(const char *part) {
  char *text = NULL, vendors[256];
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  snprintf(vendors, sizeof vendors, "%s/vendors", root);
  int found = traps_find_undriven(out, root, vendors);
  fclose(out);
  if (part && !strstr(text, part)) fail_msg("no \"%s\" in: %s", part, text);
  free(text);
  return found;
}

static void pocl_drives_no_card(void **state) {
  (void)state;
  assert_non_null(mkdtemp(root));
  make("vendors/pocl.icd", "libpocl.so.2.10.0\n");
  assert_int_equal(undriven(NULL), 0); /* and there is none */
  make("dev/dri/renderD128", "");
  make("sys/class/drm/renderD128/device/vendor", "0x1002\n");
  assert_int_equal(undriven("renderD128 is a card of AMD"), 1);
  assert_int_equal(undriven("RUSTICL_ENABLE=radeonsi"), 1);
  make("dev/dri/renderD129", "");
  make("sys/class/drm/renderD129/device/vendor", "0x8086\n");
  assert_int_equal(undriven("intel-opencl-icd"), 2);
  make("dev/dri/renderD130", "");
  make("sys/class/drm/renderD130/device/vendor", "0x1af4\n"); /* a virtual one */
  assert_int_equal(undriven(NULL), 2);
  make("vendors/amdocl64.icd", "libamdocl64.so\n");
  assert_int_equal(undriven(NULL), 0);
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", root);
  assert_int_equal(system(command), 0);
}

static void a_group_without_a_name_gets_one(void **state) {
  (void)state;
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  traps_tell_group(out, "/dev/kfd", 3999999);
  traps_tell_group(out, "/dev/kfd", 0);
  fclose(out);
  assert_non_null(strstr(text, "sudo groupadd -g 3999999 "));
  assert_non_null(strstr(text, "Join group root: sudo usermod -aG root $USER"));
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pocl_drives_no_card),
      cmocka_unit_test(a_group_without_a_name_gets_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
