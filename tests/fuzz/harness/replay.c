/* tests/fuzz/harness/replay.c: runs a fuzz harness over files: a main for builds without libFuzzer.
 *
 *   replay_NAME [FILE | FOLDER] …
 *
 * The empty input comes first, then every file, the files of a folder by name. A harness that finds fault crashes; the
 * last name printed is then the input's.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The copy is as long as the data, so that reading beyond it is noticed. */
static void run_input(const char *name, const void *data, size_t size) {
  printf("%s\n", name);
  fflush(stdout);
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) abort();
  if (size) memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

static bool complain(const char *path) {
  fprintf(stderr, "%s: %s\n", path, strerror(errno));
  return false;
}

static bool run_file(const char *path, size_t size, size_t *inputs) {
  char *data = malloc(size ? size : 1);
  FILE *file = fopen(path, "rb");
  bool good = data && file && fread(data, 1, size, file) == size;
  if (!good) complain(path);
  if (good) run_input(path, data, size);
  if (file) fclose(file);
  free(data);
  *inputs += good;
  return good;
}

static bool run_path(const char *path, size_t *inputs);

static bool run_folder(const char *folder, size_t *inputs) {
  struct dirent **entries;
  int count = scandir(folder, &entries, NULL, alphasort);
  if (count < 0) return complain(folder);
  bool good = true;
  for (int i = 0; i < count; i++) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (entries[i]->d_name[0] != '.') good = length < (int)sizeof path && run_path(path, inputs) && good;
    free(entries[i]);
  }
  free(entries);
  return good;
}

static bool run_path(const char *path, size_t *inputs) {
  struct stat info;
  if (stat(path, &info) != 0) return complain(path);
  if (S_ISDIR(info.st_mode)) return run_folder(path, inputs);
  return run_file(path, (size_t)info.st_size, inputs);
}

int main(int argc, char **argv) {
  bool good = true;
  size_t inputs = 0;
  run_input("(empty)", "", 0);
  for (int i = 1; i < argc; i++) good = run_path(argv[i], &inputs) && good;
  printf("%zu inputs\n", inputs + 1);
  if (argc > 1 && inputs == 0) fprintf(stderr, "%s: no files in the folders given\n", argv[0]);
  return good && (argc == 1 || inputs > 0) ? 0 : 1;
}
