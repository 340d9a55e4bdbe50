/* cli/index/index_edit.h: an index that a command reads, changes and writes, in place or elsewhere. */
#ifndef CLI_INDEX_INDEX_EDIT_H
#define CLI_INDEX_INDEX_EDIT_H

#include "furrow/card.h"
#include "index/index_source.h"

/* The form of an index file that is written: what the options of form_options fill. */
typedef struct form_values {
  const char *compat;     /* the release of Faiss that has to read the index; NULL: the newest */
  const char *lists_file; /* the data file for the lists; NULL: they are part of the index */
} form_values;

extern const option form_options[];

/* What the options of edit_options fill. */
typedef struct edit_values {
  const char *destination; /* NULL: in place */
  bool force;
  form_values form;
} edit_values;

extern const option edit_options[];

/* E_EXISTS: the target exists and must not be replaced. E_ARGUMENT: the target is one of `inputs`, the other files that
 * are read (NULL: not given). */
furrow_status edit_check(const char *path, const edit_values *values, const index_source_values *reading,
                         const char *const inputs[4], furrow_error *err);
/* Whether an index can be written to a path: there is no file, or it may be replaced; E_STATE: a writable server has
 * left changes in its log, which would be applied to the new one. */
furrow_status edit_check_target(const char *path, bool force, furrow_error *err);
/* E_EXISTS: the data file for the lists exists. E_ARGUMENT: it is not in the folder of the index. NULL: there is none.
 */
furrow_status edit_check_lists_file(const char *path, const char *lists_file, furrow_error *err);
/* Locks an index file that is changed in place. E_STATE: another process changes it, or a writable server has left
 * changes in its log, which would then be applied to the wrong vectors. */
furrow_status edit_lock(furrow_file_lock **lock, const char *path, furrow_error *err);
/* An index, the names of its ids, and their attributes. */
typedef struct named_index {
  furrow_index *index;
  furrow_id_names *names;        /* NULL: none */
  furrow_attributes *attributes; /* NULL: none */
  bool unique_ids;               /* saving fails if an id occurs more than once */
  furrow_file_lock *lock;        /* lock of the file that is changed in place; NULL: another one is written */
} named_index;

/* Loads an index with its names and attributes; E_STATE: another process changes the same file. Clear it, even after a
 * failure. */
furrow_status edit_load(named_index *loaded, const char *path, const edit_values *values,
                        const index_source_values *reading, furrow_error *err);
void edit_clear(named_index *loaded);
/* Writes the index with its names and attributes; lists from a data file become part of the file, or go to a new data
 * file. *size: bytes of the index file. */
furrow_status edit_save(const named_index *changed, const char *path, const edit_values *values, uint64_t *size,
                        furrow_error *err);
/* Adds a hint to the error about an id that occurs more than once. */
furrow_status explain_repeated(furrow_status status, furrow_error *err);
/* Returns whether the index, or the one inside of its transforms, is a plain IVF index, whose lists store ids. */
bool is_list_index(const furrow_index *index);
/* Returns whether the index scales vectors to unit length, before other transforms or after them. */
bool scales_vectors(const furrow_index *index);
/* Returns whether ids are positions in the index, or in the index inside of its transforms. */
bool has_implicit_ids(const furrow_index *index);
/* Returns the path that is written. */
const char *change_target(const char *path, const edit_values *values);

/* Says that a changed index should be rebuilt, as soon as that is known. */
void edit_note_stale(const furrow_index *index, bool quiet);

#endif
