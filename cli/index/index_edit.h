/* cli/index/index_edit.h: an index that a command reads, changes and writes, in place or elsewhere. */
#ifndef CLI_INDEX_INDEX_EDIT_H
#define CLI_INDEX_INDEX_EDIT_H

#include "index/index_source.h"

/* What the options of edit_options fill. */
typedef struct edit_values {
  const char *destination; /* NULL: in place */
  bool force;
  const char *compat; /* of compat_options */
} edit_values;

extern const option edit_options[];

/* Fill a const char *: the release of Faiss that is to read the index; NULL: the newest. */
extern const option compat_options[];

/* E_EXISTS where there is a file that is not to be replaced, E_ARGUMENT where it is one of those that are read besides
 * the index: `inputs`, NULL for what is not given. */
furrow_status edit_check(const char *path, const edit_values *values, const index_source_values *reading,
                         const char *const inputs[2], furrow_error *err);
/* Free the index, also after a failure. */
furrow_status edit_load(furrow_index **index, const char *path, const edit_values *values,
                        const index_source_values *reading, furrow_error *err);
/* Writes it; lists of a data file become part of the file. *size: its bytes. */
furrow_status edit_save(const furrow_index *index, const char *path, const edit_values *values, uint64_t *size,
                        furrow_error *err);
/* Where it is written to. */
const char *change_target(const char *path, const edit_values *values);

#endif
