/* cli/index/index_names.c: names of the ids of an index, which are in a file beside it. */
#include "index/index_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/ranks_join.h"
#include "core/text_file.h"
#include "core/written.h"
#include "index/index_source.h"

/* Names and index are of one save: they are read one after the other, and may be replaced meanwhile. */
furrow_status index_names_load(furrow_id_names **names, const char *path, furrow_error *err) {
  furrow_status status = furrow_id_names_load(names, path, err);
  if (index_source_was_replaced(path)) {
    status = fail_file(err, FURROW_E_STATE, path, "was replaced while it was read", 0);
    add_hint(err, "run the command again");
    return status;
  }
  if (status == FURROW_E_NOT_FOUND) return FURROW_OK;
  if (status != FURROW_E_FORMAT) return status;
  /* --set and --drop leave a file alone that does not begin as names do */
  add_hint(err, err->offset == 0
                    ? "move it away: the names go there"
                    : "'furrow index names INDEX --set FILE' names the vectors anew, --drop does without names");
  return status;
}

furrow_status index_names_check_path(const char *target, bool force, furrow_error *err) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s.names", target);
  return written_check_path(path, force, err);
}

furrow_status index_names_check_apart(const char *index_path, const char *other, furrow_error *err) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s.names", index_path);
  return written_check_apart(path, other, err);
}

void index_names_report(report *r, const char *key, const furrow_id_names *names, int64_t id) {
  size_t size = 0;
  const char *name = furrow_id_names_text(names, id, &size);
  char *copy = name ? strndup(name, size) : NULL;
  if (copy)
    report_text(r, key, copy);
  else
    report_none(r, key);
  if (name && !copy) r->out->errnum = ENOMEM;
  free(copy);
}
