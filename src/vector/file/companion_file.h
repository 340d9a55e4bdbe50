/* vector/file/companion_file.h: reads and writes files that belong to an index, and replaces them together with it. */
#ifndef FW_VECTOR_FILE_COMPANION_FILE_H
#define FW_VECTOR_FILE_COMPANION_FILE_H

#include "furrow/attributes.h"
#include "io/atomic_file.h"
#include "vector/data/companion.h"

furrow_status fw_index_stamp_of_file(const char *path, fw_index_stamp *stamp, furrow_error *err) FURROW_MUST_USE;

/* Opens the file of that kind that belongs to an index. E_NOT_FOUND: there is none; E_FORMAT: it is damaged, or belongs
 * to another index. The caller frees *object, after kind->clear. */
furrow_status fw_companion_load(const fw_companion_kind *kind, void **object, const char *index_path,
                                furrow_error *err) FURROW_MUST_USE;
/* Writes the file of an index that is in place. */
furrow_status fw_companion_save(const fw_companion_kind *kind, const fw_companion *file, const char *index_path,
                                furrow_error *err) FURROW_MUST_USE;
/* Removes the file of an index, if there is one. */
furrow_status fw_companion_discard(const fw_companion_kind *kind, const char *index_path,
                                   furrow_error *err) FURROW_MUST_USE;

/* What is stored next to an index. NULL: it has none. */
typedef struct fw_companions {
  const furrow_id_names *names;
  const furrow_attributes *attributes;
  const struct fw_card *card;
} fw_companions;

static inline bool fw_companions_any(const fw_companions *with) {
  return with->names || with->attributes || with->card;
}

/* Commits an index file together with what is stored next to it. With `overwrite`, what only the previous index had is
 * removed. As no single step can replace several files, each waits in PATH.….new with
 * the stamp of its index file until that is in place (docs/formats/index_names.md). Loading uses whichever of the two
 * files matches the index. Fails with E_EXISTS if a file exists and `overwrite` is false, or is of another kind. */
furrow_status fw_companions_commit(fw_atomic_file *file, const fw_companions *with, const char *path,
                                   const fw_index_stamp *stamp, bool overwrite, furrow_error *err) FURROW_MUST_USE;

#endif
