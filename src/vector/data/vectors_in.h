/* vector/data/vectors_in.h: readers of vectors, and kinds of files. */
#ifndef FW_VECTOR_DATA_VECTORS_IN_H
#define FW_VECTOR_DATA_VECTORS_IN_H

#include "array/array.h"
#include "furrow/vector_data.h"

typedef struct fw_data_kind {
  bool raw; /* elements without a header */
  fw_array_kind array;
} fw_data_kind;

/* Finds the kind by `name`: "fvecs", or the name for raw elements ("f32", "i64"); NULL: by the extension of path. Fails
 * with E_ARGUMENT if it is unknown. */
furrow_status fw_data_kind_find(fw_data_kind *kind, const char *path, const char *name, const char *raw_name,
                                furrow_error *err) FURROW_MUST_USE;

/* Whether a path has the extension `ending`, before .gz or .zst. */
bool fw_data_path_ends(const char *path, const char *ending);
/* Fails with E_STATE unless the path is a regular file. */
furrow_status fw_check_rereadable(const char *path, furrow_error *err) FURROW_MUST_USE;

typedef struct fw_vectors_methods {
  /* Reads up to `rows` vectors; ids may be NULL. */
  furrow_status (*next)(furrow_vectors_reader *v, size_t rows, float *out, int64_t *ids, size_t *got,
                        furrow_error *err);
  furrow_status (*rewind)(furrow_vectors_reader *v, furrow_error *err);
  void (*close)(furrow_vectors_reader *v); /* closes and frees the reader */
  /* Moves to a vector. Returns false if the source cannot seek; vectors are then read and dropped instead. NULL: the
   * source can never seek. */
  bool (*seek)(furrow_vectors_reader *v, uint64_t to, furrow_status *status, furrow_error *err);
  /* Reads the names of all vectors; the caller rewinds the reader. NULL: have_names is never set. */
  furrow_status (*names)(furrow_vectors_reader *v, furrow_name_list *list, furrow_error *err);
} fw_vectors_methods;

/* The first member of the struct of each source. */
struct furrow_vectors_reader {
  const fw_vectors_methods *methods;
  char *path;
  size_t d;
  uint64_t count; /* may be FURROW_COUNT_UNKNOWN */
  bool have_ids, have_names;
  bool once;       /* it cannot be read in parts: a query */
  bool restricted; /* whether the reader is restricted to `count` vectors from number `first` on; `left` of them are not
                      read yet */
  uint64_t first, left;
};

/* ---- Text (vectors_text.c) ---- */

typedef struct fw_text_kind {
  bool blanks;    /* fields are between blanks */
  char separator; /* the separator of cells; 0: detected from the first line */
} fw_text_kind;

/* Returns whether `name` (NULL: the extension of path) is a kind of text: csv, tsv, txt, vec. */
bool fw_text_kind_find(fw_text_kind *kind, const char *path, const char *name);
/* d: elements of a vector; 0: the dimension in the file. */
furrow_status fw_text_vectors_open(furrow_vectors_reader **vectors, const char *path, const fw_text_kind *kind,
                                   size_t d, furrow_error *err) FURROW_MUST_USE;

#endif
