/* furrow/attributes.h: attributes of the vectors of an index, and filters by them.
 *
 * An index stores vectors and ids. Their attributes (price, language, genres, date) are stored next to it, in
 * PATH.attributes (docs/formats/index_attributes.md): one row for each id, with columns of numbers, texts, sets and
 * times. They are written with the index (furrow_index_save_params.attributes), and loading makes sure that they belong
 * to it. A filter is a line of text:
 *
 *   furrow_attributes *attributes = NULL;
 *   furrow_selection *selection = NULL;
 *   const char *where = "price < 10 and lang in (\"de\", \"fr\") and not sold";
 *   furrow_status status = furrow_attributes_load(&attributes, "items.index", &err);
 *   if (status == FURROW_OK) status = furrow_attributes_select(attributes, where, &selection, &err);
 *   if (status == FURROW_OK) printf("%zu vectors match\n", furrow_selection_count(selection));
 *   furrow_selection_free(selection);
 *   furrow_attributes_free(attributes);
 *
 * The selected vectors are searched by furrow_filtered_search, which finds all of them that are among the nearest.
 *
 * The language of filters:
 *
 *   price < 10                     = != < <= > >= compare a column with a value
 *   lang in ("de", "fr")           one of several values; not in: none of them
 *   genres = "Comedy"              a set is equal to each of its elements; < and > do not apply to sets
 *   added >= "2024-05-31 12:00"    a time is compared with a text in ISO 8601 (UTC), or with seconds since 1970
 *   sold                           a number that is not 0; true and false are 1 and 0
 *   year is missing                the vector has no value there; is not missing: it has one
 *   not, and, or, ( )              in this order of precedence; they may be in upper case, as may in, is and missing
 *   `release year` > 1999          a column whose name is not a word
 *
 * Texts are quoted by " or '; a backslash before a quote or a backslash makes it a part of the text. Texts are compared
 * byte by byte, so upper case comes before lower case. A missing value is equal to nothing, and neither less nor
 * greater than anything: = < <= > >= in are false for it, != and not in are true.
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of it.
 */
#ifndef FURROW_ATTRIBUTES_H
#define FURROW_ATTRIBUTES_H

#include "furrow/columns.h"
#include "furrow/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Attributes ------------------------------------------------------------------------------------------- */

/* Makes attributes without rows and columns.
 * Errors: E_MEMORY.
 * Owner:  the caller frees *attributes with furrow_attributes_free. */
FURROW_API furrow_status furrow_attributes_create(furrow_attributes **attributes, furrow_error *err) FURROW_MUST_USE;
/* Opens the attributes of an index file, whose own bytes are read once, to see that the attributes belong to them.
 * Errors: E_NOT_FOUND, the index has no attributes; E_FORMAT, the file of attributes is damaged, or belongs to another
 *         index or to this one before it was changed (err->file is that file); E_IO; E_MEMORY.
 * Owner:  the caller frees *attributes with furrow_attributes_free. */
FURROW_API furrow_status furrow_attributes_load(furrow_attributes **attributes, const char *index_path,
                                                furrow_error *err) FURROW_MUST_USE;
/* Frees attributes. Takes NULL. */
FURROW_API void furrow_attributes_free(furrow_attributes *attributes);

/* Returns: the number of rows, one for each id. */
FURROW_API size_t furrow_attributes_count(const furrow_attributes *attributes);
/* Returns: the number of columns. */
FURROW_API size_t furrow_attributes_column_count(const furrow_attributes *attributes);

/* A column of attributes. The library makes it; it may grow at its end. */
typedef struct furrow_attribute_info {
  size_t size;             /* set by furrow_attribute_info_init */
  const char *name;        /* its name, not ended by a 0; valid as long as the attributes are not changed */
  size_t name_size;        /* bytes of the name */
  furrow_column_type type; /* what its values are */
  uint64_t missing;        /* rows without a value */
  uint64_t distinct;       /* TEXT and SET: different texts; 0 otherwise */
} furrow_attribute_info;

/* Sets the size, and everything else to 0. */
static inline void furrow_attribute_info_init(furrow_attribute_info *info) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
}

/* Fills *info, which furrow_attribute_info_init has initialised, with the i-th column, in the order in which columns
 * were added.
 * Errors: E_ARGUMENT, there is no i-th column. */
FURROW_API furrow_status furrow_attributes_get_column(const furrow_attributes *attributes, size_t i,
                                                      furrow_attribute_info *info, furrow_error *err) FURROW_MUST_USE;
/* Returns: the number of a row's values in column i: 0, it is missing or there is no such row or column; 1; of a set,
 *          the number of its elements. */
FURROW_API size_t furrow_attributes_values(const furrow_attributes *attributes, int64_t id, size_t i);
/* Returns: a number or a time of a row; NaN: it is missing, or the column has texts. */
FURROW_API double furrow_attributes_number(const furrow_attributes *attributes, int64_t id, size_t i);
/* Returns: text `value` of a row (0: the text; of a set, each of its elements), *size bytes without a terminating 0;
 *          NULL: there is none.
 * Owner:   the attributes; valid until they are changed or freed. */
FURROW_API const char *furrow_attributes_text(const furrow_attributes *attributes, int64_t id, size_t i, size_t value,
                                              size_t *size);

/* The next functions change attributes completely or, after a failure, not at all. Each takes time in proportion to all
 * attributes. */

/* Sets the values of n ids in `count` columns. An id that is there keeps its values of other columns; new ids and new
 * columns have no other values. With count 0, the ids get rows without values.
 * Errors: E_ARGUMENT, an id or a column comes twice, a column has another type than before, a name or a text is not
 *         UTF-8; E_RANGE, more than 1000 columns, or more texts than 2^32 - 2; E_MEMORY. */
FURROW_API furrow_status furrow_attributes_set(furrow_attributes *attributes, const int64_t *ids, size_t n,
                                               const furrow_column *columns, size_t count,
                                               furrow_error *err) FURROW_MUST_USE;
/* Removes the rows of the ids that the filter keeps, as furrow_index_remove does with vectors. renumber: ids after a
 * removed one move up, as dense ids do there.
 * Errors: E_ARGUMENT, the filter is wrong; E_MEMORY. */
FURROW_API furrow_status furrow_attributes_remove(furrow_attributes *attributes, const furrow_id_filter *filter,
                                                  bool renumber, furrow_error *err) FURROW_MUST_USE;
/* Adds the rows of `other` (not changed), with id_shift added to their ids. For an id that both have, the values of
 * `other` count.
 * Errors: E_ARGUMENT, a column has different types (the token is its name); E_RANGE, an id becomes too large;
 *         E_MEMORY. */
FURROW_API furrow_status furrow_attributes_merge(furrow_attributes *attributes, const furrow_attributes *other,
                                                 int64_t id_shift, furrow_error *err) FURROW_MUST_USE;

/* How rows of a table found their vectors. */
typedef struct furrow_attributes_fit {
  size_t size;       /* set by furrow_attributes_fit_init */
  uint64_t matched;  /* rows whose vector is in the index */
  uint64_t left_out; /* rows without a vector, which were left out */
  uint64_t without;  /* ids of the index that have no row, neither in the table nor before */
} furrow_attributes_fit;

/* Sets the size, and everything else to 0. */
static inline void furrow_attributes_fit_init(furrow_attributes_fit *fit) {
  memset(fit, 0, sizeof *fit);
  fit->size = sizeof *fit;
}

/* Sets attributes to those of an index: one row for each of its ids, and no others. Ids keep the values that they have;
 * rows of `table` (NULL: none) are matched by the texts of its column `key`, which is not kept: names of ids, or ids if
 * `names` is NULL. Rows without a vector are left out, vectors without a row have no values. Fills *fit (may be NULL),
 * which furrow_attributes_fit_init has initialised.
 * Errors: E_ARGUMENT, the table has no column `key` of texts, or as furrow_attributes_set; E_PARSE, a key is missing or
 *         not an id (the message has its row, the token is the key); E_EXISTS, two rows have the same key; E_STATE, no
 *         row has a vector in the index, or the contents of the lists are missing; E_MEMORY. */
FURROW_API furrow_status furrow_attributes_join(furrow_attributes *attributes, const furrow_index *index,
                                                const furrow_id_names *names, const furrow_columns *table,
                                                const char *key, furrow_attributes_fit *fit,
                                                furrow_error *err) FURROW_MUST_USE;
/* The same for n ids in any order, of an index that does not have all of them yet: what may fail comes before the
 * change of the index.
 * Errors: as furrow_attributes_join. */
FURROW_API furrow_status furrow_attributes_join_ids(furrow_attributes *attributes, const int64_t *ids, size_t n,
                                                    const furrow_id_names *names, const furrow_columns *table,
                                                    const char *key, furrow_attributes_fit *fit,
                                                    furrow_error *err) FURROW_MUST_USE;

/* Checks that every id of an index has a row, and that each text is found. Lists whose contents are missing are not
 * checked. *unused (may be NULL) is the number of rows without a vector.
 * Errors: E_FORMAT, names the first id that has no row; E_MEMORY. */
FURROW_API furrow_status furrow_attributes_check(const furrow_attributes *attributes, const furrow_index *index,
                                                 uint64_t *unused, furrow_error *err) FURROW_MUST_USE;
/* Writes the attributes of an existing index file: PATH.attributes, which is replaced if it exists.
 * Errors: E_NOT_FOUND, there is no such index file; E_EXISTS, PATH.attributes is another kind of file; E_IO; E_MEMORY.
 */
FURROW_API furrow_status furrow_attributes_save(const furrow_attributes *attributes, const char *index_path,
                                                furrow_error *err) FURROW_MUST_USE;
/* Removes the file of attributes of an index file, if there is one.
 * Errors: E_EXISTS, PATH.attributes is another kind of file; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_attributes_discard(const char *index_path, furrow_error *err) FURROW_MUST_USE;

/* ---- Filters ---------------------------------------------------------------------------------------------- */

/* The ids that a filter keeps. */
typedef struct furrow_selection furrow_selection;

/* Finds the ids whose attributes match an expression of the language above, in time in proportion to the rows times the
 * length of the expression.
 * Errors: E_ARGUMENT, the expression is wrong: err->column is the place (in bytes, from 1) and err->token the text
 *         there; E_MEMORY.
 * Owner:  the caller frees *selection with furrow_selection_free; it does not need the attributes. */
FURROW_API furrow_status furrow_attributes_select(const furrow_attributes *attributes, const char *expression,
                                                  furrow_selection **selection, furrow_error *err) FURROW_MUST_USE;
/* Frees a selection. Takes NULL. */
FURROW_API void furrow_selection_free(furrow_selection *selection);
/* Returns: the number of ids. */
FURROW_API size_t furrow_selection_count(const furrow_selection *selection);
/* Returns: the selection as a filter of ids, for every function that takes one.
 * Owner:   the selection; valid until it is freed. */
FURROW_API const furrow_id_filter *furrow_selection_filter(const furrow_selection *selection);
/* Returns: the i-th id, ascending; -1 past the last one. */
FURROW_API int64_t furrow_selection_id(const furrow_selection *selection, size_t i);

/* ---- Filtered searches ------------------------------------------------------------------------------------ */

/* A filter that is prepared for the searches of a searcher, for any filter of ids. A plain search with a filter
 * (furrow_search_params.filter) does the work that is right for all vectors, and finds the less, the fewer vectors the
 * filter keeps. A filtered search either compares all vectors that match, or searches with more and more work until the
 * results do not change any more; it finds k vectors whenever k match. What an index has only as codes is compared as
 * codes: the recall is that of searching all of the index. */
typedef struct furrow_filtered furrow_filtered;

/* How a filtered search is done. */
typedef struct furrow_filtered_params {
  size_t size;                        /* set by furrow_filtered_params_init */
  const furrow_search_params *search; /* must be set, with a filter; nprobe, ef_search and k_factor are where the work
                                         begins. The filter's arrays must stay as long as the handle */
  double recall;                      /* 0.95: share of the nearest matching vectors that are found */
} furrow_filtered_params;

/* Sets the size and the defaults, which stand first in the comments above. */
static inline void furrow_filtered_params_init(furrow_filtered_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->recall = 0.95;
}

/* Prepares a filter, which takes a pass over all ids. The searcher must outlive it. Shards give the results of one
 * index with the same vectors; of several processes, all call it with the same parameters and ids, and search together.
 * Errors: E_ARGUMENT, params are wrong; E_UNSUPPORTED, max_codes with shards; E_STATE, another rank failed; E_MEMORY.
 * Owner:  the caller frees *filtered with furrow_filtered_free. */
FURROW_API furrow_status furrow_filtered_create(furrow_filtered **filtered, const furrow_searcher *searcher,
                                                const furrow_filtered_params *params,
                                                furrow_error *err) FURROW_MUST_USE;
/* Frees a prepared filter. Takes NULL. */
FURROW_API void furrow_filtered_free(furrow_filtered *filtered);
/* Returns: the number of vectors that match. */
FURROW_API uint64_t furrow_filtered_matches(const furrow_filtered *filtered);
/* Returns: whether searches compare all vectors that match. */
FURROW_API bool furrow_filtered_is_exact(const furrow_filtered *filtered);
/* Finds the k best of the vectors that match for each of n queries, as furrow_searcher_search does of all.
 * Errors: as furrow_searcher_search. */
FURROW_API furrow_status furrow_filtered_search(const furrow_filtered *filtered, const float *queries, size_t n,
                                                size_t k, float *distances, int64_t *ids,
                                                furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
