/* Feeds every file of a folder to a fuzz target: the corpus as an ordinary test, without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int replay(const char *folder, const char *name) {
  char path[4096];
  uint8_t bytes[65536];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return -1;
  }
  const size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  fprintf(stderr, "%s, %zu bytes\n", name,
          count); /* the last line before an abort names the input */
  return LLVMFuzzerTestOneInput(bytes, count);
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  int files = 0;
  if (folder == NULL) {
    fprintf(stderr, "usage: %s FOLDER (of inputs)\n", argv[0]);
    return EXIT_FAILURE;
  }
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    if (replay(argv[1], entry->d_name) != 0) return EXIT_FAILURE;
    files++;
  }
  closedir(folder);
  printf("%d inputs\n", files);
  return files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
