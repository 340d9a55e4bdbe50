/* model/jobs/verify_files.c: checks the data files against the partitions. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "model/jobs/verify.h"

/* A partition in its file. */
typedef struct piece {
  const char *file;
  uint64_t offset, length;
  size_t part; /* index in the metadata, ascending by id */
} piece;

static int by_place(const void *a, const void *b) {
  const piece *x = a, *y = b;
  const int files = strcmp(x->file, y->file);
  if (files) return files;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  if (x->length != y->length) return x->length < y->length ? -1 : 1; /* empty pieces first */
  return x->part < y->part ? -1 : 1;
}

static int32_t id_of(const fw_verification *v, const piece *p) {
  return v->meta->parts[p->part].part_id;
}

/* ---- One file ---- */

/* A missing file is reported once, at its first partition, but none of its partitions can be read. */
static furrow_status report_missing_file(fw_verification *v, const piece *pieces, size_t n, const char *path,
                                         furrow_status status, const char *what, furrow_error *err) {
  for (size_t i = 0; i < n; i++) v->parts[pieces[i].part].unreadable = true;
  return fw_findings_add(&v->parts[pieces[0].part], status, id_of(v, &pieces[0]), path, FURROW_NO_OFFSET, err,
                         "%s; %zu partition%s in it", what, n, n == 1 ? " is" : "s are");
}

static furrow_status check_end(fw_verification *v, const piece *p, const char *path, uint64_t size, furrow_error *err) {
  if (p->offset <= size && p->length <= size - p->offset) return FURROW_OK;
  v->parts[p->part].unreadable = true;
  return fw_findings_add(&v->parts[p->part], FURROW_E_FORMAT, id_of(v, p), path, size, err,
                         "the file ends here, but the partition has bytes %" PRIu64 " to %" PRIu64, p->offset,
                         p->offset + p->length);
}

/* `reached` is the end of the preceding partitions. */
static furrow_status check_neighbour(fw_verification *v, const piece *before, const piece *p, uint64_t reached,
                                     const char *path, furrow_error *err) {
  fw_findings *list = &v->parts[p->part];
  if (p->offset > reached)
    return fw_findings_add(
        list, FURROW_E_FORMAT, id_of(v, p), path, reached, err, "%" PRIu64 " %s to no partition", p->offset - reached,
        fw_plural(p->offset - reached, "byte before the partition belongs", "bytes before the partition belong"));
  if (p->offset < reached && p->length > 0)
    return fw_findings_add(list, FURROW_E_FORMAT, id_of(v, p), path, p->offset, err,
                           "the partition overlaps partition %" PRId32 ", which ends at byte %" PRIu64,
                           id_of(v, before), reached);
  return FURROW_OK;
}

/* A data file is named after the id of its lowest partition. */
static furrow_status check_name(fw_verification *v, const piece *pieces, size_t n, const char *path,
                                furrow_error *err) {
  size_t lowest = pieces[0].part;
  bool ascending = true;
  for (size_t i = 1; i < n; i++) {
    lowest = pieces[i].part < lowest ? pieces[i].part : lowest;
    ascending = ascending && pieces[i].part > pieces[i - 1].part;
  }
  const int32_t id = v->meta->parts[lowest].part_id;
  char name[16];
  snprintf(name, sizeof name, "%" PRId32, id);
  furrow_status status = FURROW_OK;
  if (strcmp(name, pieces[0].file) != 0)
    status = fw_findings_add(&v->parts[lowest], FW_REMARK_STATUS, id, path, FURROW_NO_OFFSET, err,
                             "the file is not named after its lowest partition, %s", name);
  if (status == FURROW_OK && !ascending)
    status = fw_findings_add(&v->parts[lowest], FW_REMARK_STATUS, id, path, FURROW_NO_OFFSET, err,
                             "the partitions of the file are not in the order of their ids");
  return status;
}

static furrow_status check_pieces(fw_verification *v, const piece *pieces, size_t n, const char *path, uint64_t size,
                                  furrow_error *err) {
  uint64_t reached = 0;
  size_t last = 0; /* the partition with the largest end */
  furrow_status status = check_name(v, pieces, n, path, err);
  for (size_t i = 0; i < n && status == FURROW_OK; i++) {
    status = check_neighbour(v, &pieces[last], &pieces[i], reached, path, err);
    if (status == FURROW_OK) status = check_end(v, &pieces[i], path, size, err);
    if (pieces[i].offset + pieces[i].length < reached) continue;
    reached = pieces[i].offset + pieces[i].length;
    last = i;
  }
  if (status != FURROW_OK || reached >= size) return status;
  return fw_findings_add(&v->parts[pieces[last].part], FURROW_E_FORMAT, id_of(v, &pieces[last]), path, reached, err,
                         "%" PRIu64 " %s to no partition", size - reached,
                         fw_plural(size - reached, "byte after the last partition of the file belongs",
                                   "bytes after the last partition of the file belong"));
}

static furrow_status check_file(fw_verification *v, const piece *pieces, size_t n, furrow_error *err) {
  char *path;
  furrow_status status = fw_path_join(&path, v->folder, pieces[0].file, err);
  if (status != FURROW_OK) return status;
  struct stat info;
  furrow_error why;
  const furrow_status looked = fw_path_stat(path, &info, &why);
  if (looked == FURROW_E_NOT_FOUND)
    status = report_missing_file(v, pieces, n, path, FURROW_E_NOT_FOUND, "no such file", err);
  else if (looked != FURROW_OK)
    status = report_missing_file(v, pieces, n, path, looked, why.message, err);
  else if (!S_ISREG(info.st_mode))
    status = report_missing_file(v, pieces, n, path, FURROW_E_FORMAT, "the file is not a regular file", err);
  else
    status = check_pieces(v, pieces, n, path, (uint64_t)info.st_size, err);
  fw_free(path);
  return status;
}

/* ---- Unused files ---- */

static bool is_data_name(const char *name) {
  return name[strspn(name, "0123456789")] == 0; /* names are never empty */
}

/* Partitions sorted by file. */
typedef struct piece_list {
  const piece *pieces;
  size_t count;
} piece_list;

static bool is_unused(void *user, const char *name) {
  const piece_list *list = user;
  if (!is_data_name(name)) return false;
  size_t low = 0, high = list->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(list->pieces[middle].file, name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low == list->count || strcmp(list->pieces[low].file, name) != 0;
}

static furrow_status tell_unused(fw_verification *v, const char *name, furrow_error *err) {
  char *path = NULL;
  furrow_status status = fw_path_join(&path, v->folder, name, err);
  if (status == FURROW_OK)
    status = fw_findings_add(fw_verification_common(v), FW_REMARK_STATUS, -1, path, FURROW_NO_OFFSET, err,
                             "looks like a data file, but has no partition");
  fw_free(path);
  return status;
}

static furrow_status check_unused(fw_verification *v, const piece *pieces, size_t n, furrow_error *err) {
  piece_list list = {pieces, n};
  fw_dir_names names = {0};
  furrow_status status = fw_dir_names_read(&names, v->folder, is_unused, &list, err);
  for (size_t i = 0; i < names.count && status == FURROW_OK; i++) status = tell_unused(v, names.names[i], err);
  fw_dir_names_clear(&names);
  return status;
}

/* Pipes, sockets and devices would block a program that copies or opens the files of the folder. */
static furrow_status report_if_odd(fw_verification *v, const char *name, furrow_error *err) {
  char *path = NULL;
  struct stat info;
  FW_TRY(fw_path_join(&path, v->folder, name, err));
  furrow_status status = FURROW_OK;
  if (fw_path_stat(path, &info, NULL) == FURROW_OK && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    status = fw_findings_add(fw_verification_common(v), FURROW_E_FORMAT, -1, path, FURROW_NO_OFFSET, err,
                             "neither a file nor a folder");
  fw_free(path);
  return status;
}

static bool is_not_data_name(void *user, const char *name) {
  (void)user;
  return !is_data_name(name);
}

static furrow_status check_odd(fw_verification *v, furrow_error *err) {
  fw_dir_names names = {0};
  furrow_status status = fw_dir_names_read(&names, v->folder, is_not_data_name, NULL, err);
  for (size_t i = 0; i < names.count && status == FURROW_OK; i++) status = report_if_odd(v, names.names[i], err);
  fw_dir_names_clear(&names);
  return status;
}

/* ---- The metadata file ---- */

/* Readers stop at the end of the JSON that the length in the header gives. */
static furrow_status check_meta_end(fw_verification *v, furrow_error *err) {
  unsigned char head[4];
  size_t got = 0;
  struct stat info;
  fw_input *input = NULL;
  if (v->meta->origin != FURROW_META_JSON) return FURROW_OK;
  furrow_status status = fw_input_open(&input, v->meta_path, err);
  if (status != FURROW_OK) return status;
  status = fw_input_read_at(input, head, sizeof head, 0, &got, err);
  const uint64_t size = fw_input_stat(input, &info, NULL) == FURROW_OK ? (uint64_t)info.st_size : 0;
  fw_input_close(input);
  if (status != FURROW_OK || got < sizeof head) return status;
  const uint64_t end = 4 + (uint64_t)fw_get_be32(head);
  if (size <= end) return FURROW_OK;
  return fw_findings_add(fw_verification_common(v), FW_REMARK_STATUS, -1, v->meta_path, end, err,
                         "%" PRIu64 " %s not used", size - end,
                         fw_plural(size - end, "byte after the JSON is", "bytes after the JSON are"));
}

/* ---- All files ---- */

furrow_status fw_verify_files(fw_verification *v, furrow_error *err) {
  const size_t n = v->meta->part_count;
  piece *pieces;
  furrow_status status = FW_ALLOC(&pieces, n, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < n; i++) {
    const furrow_partition_meta *p = &v->meta->parts[i];
    pieces[i] = (piece){p->file_name, (uint64_t)p->offset, (uint64_t)p->length, i};
  }
  if (n > 1) qsort(pieces, n, sizeof *pieces, by_place);
  for (size_t first = 0, end; first < n && status == FURROW_OK; first = end) {
    for (end = first + 1; end < n && strcmp(pieces[end].file, pieces[first].file) == 0;) end++;
    status = check_file(v, pieces + first, end - first, err);
  }
  if (status == FURROW_OK) status = check_unused(v, pieces, n, err);
  if (status == FURROW_OK) status = check_odd(v, err);
  if (status == FURROW_OK) status = check_meta_end(v, err);
  fw_free(pieces);
  return status;
}
