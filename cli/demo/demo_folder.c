/* cli/demo/demo_folder.c: the folder of the demo's files. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/text_file.h"
#include "demo/demo_results.h"

/* This file marks a folder that a demo created. */
static const char mark[] = ".furrow-demo";

/* All files that the demo writes, in order; small ones are not listed in the report. */
static const struct {
  const char *name;
  bool small;
} made[] = {{"log.csv", false},
            {"items.csv", false},
            {"schema.json", true},
            {"train.csv", false},
            {"test.csv", false},
            {"shop.model", false},
            {"shop.rank.json", true},
            {"fm.model", false},
            {"fm.history.csv", true},
            {"fm.curve.svg", true},
            {"fm.eval.json", true},
            {"fm.rank.json", true},
            {"fm.info.json", true},
            {"deepfm.model", false},
            {"deepfm.history.csv", true},
            {"deepfm.curve.svg", true},
            {"deepfm.eval.json", true},
            {"deepfm.rank.json", true},
            {"deepfm.info.json", true},
            {"recommended.csv", false},
            {"items.fbin", false},
            {"items.fbin.names.txt", true},
            {"users.fbin", false},
            {"users.fbin.names.txt", true},
            {"items.index", false},
            {"items.index.names", true},
            {"items.info.json", true},
            {"items.map.json", true},
            {"items.recall.txt", true},
            {"refined.index", false},
            {"refined.index.names", true},
            {"refined.info.json", true},
            {"refined.recall.txt", true},
            {"nearest.txt", true},
            {"report.html", false}};
enum { MADE = sizeof made / sizeof *made };

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info, (void)kind, (void)place;
  return remove(path);
}

static furrow_status remove_made(const char *name, furrow_error *err) {
  struct stat info;
  if (lstat(name, &info) != 0) return FURROW_OK;
  if (nftw(name, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0) return FURROW_OK;
  return fail_file(err, FURROW_E_IO, name, "cannot be removed", errno);
}

static bool is_empty(const char *path) {
  DIR *folder = opendir(path);
  bool empty = true;
  if (!folder) return false;
  for (const struct dirent *entry; empty && (entry = readdir(folder));)
    empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
  closedir(folder);
  return empty;
}

static furrow_status make_folder(const char *path, bool *there, furrow_error *err) {
  struct stat info;
  *there = false;
  if (mkdir(path, 0777) == 0) return FURROW_OK;
  if (errno != EEXIST) return fail_file(err, FURROW_E_IO, path, "cannot be created", errno);
  *there = true;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return FURROW_OK;
  fail_file(err, FURROW_E_EXISTS, path, "exists already and is not a folder", 0);
  return add_hint(err, "name another folder with --out");
}

furrow_status demo_folder_enter(const char *path, bool force, furrow_error *err) {
  static const char text[] = "written by 'furrow demo'; the next demo replaces the files in this folder\n";
  bool there;
  furrow_status status = make_folder(path, &there, err);
  if (status != FURROW_OK) return status;
  const bool empty = is_empty(path);
  if (chdir(path) != 0) return fail_file(err, FURROW_E_IO, path, "cannot be entered", errno);
  if (there && !force && !empty && access(mark, F_OK) != 0) {
    fail_file(err, FURROW_E_EXISTS, path, "holds files that 'furrow demo' did not write", 0);
    return add_hint(err, "name another folder with --out, or write into this one with --force");
  }
  for (size_t i = 0; i < MADE && status == FURROW_OK; i++) status = remove_made(made[i].name, err);
  if (status == FURROW_OK) status = text_file_write(mark, text, sizeof text - 1, true, err);
  return status;
}

/* ---- Sizes ---- */

/* Bytes of a file, or of all files in a folder. */
static uint64_t tree_bytes(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) return 0;
  DIR *folder = S_ISDIR(info.st_mode) ? opendir(path) : NULL;
  if (!folder) return S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
  uint64_t bytes = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    char inside[512];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) < (int)sizeof inside) bytes += tree_bytes(inside);
  }
  closedir(folder);
  return bytes;
}

void demo_folder_list(demo_results *results) {
  for (size_t i = 0; i < MADE && results->file_count < DEMO_FILES; i++) {
    if (made[i].small) continue;
    demo_file *file = &results->files[results->file_count];
    file->bytes = tree_bytes(made[i].name);
    snprintf(file->name, sizeof file->name, "%s", made[i].name);
    results->file_count += file->bytes > 0;
  }
}
