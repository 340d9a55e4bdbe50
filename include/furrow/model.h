/* furrow/model.h: models as Angel stores them.
 *
 * A model is a directory with a folder for each matrix; a matrix folder has a metadata file (_meta, or meta before
 * Angel 3.2) and data files in one of eight formats. docs/formats/angel.md describes them byte by byte.
 *
 * The shortest use: one matrix, in memory.
 *
 *   furrow_matrix *m = NULL;
 *   furrow_error err;
 *   furrow_status status = furrow_matrix_load(&m, "deepfm/embedding_embedding", NULL, &err);
 *   float vector[8];
 *   if (status == FURROW_OK) furrow_matrix_column(m, 4711, NULL, vector);
 *   furrow_matrix_free(m);
 *
 * Three levels, each built on the one before:
 *   metadata    furrow_matrix_meta: what _meta says; read, changed, written to the byte as Angel writes it
 *   streams     furrow_matrix_source with furrow_partition_reader or furrow_matrix_for_each_panel, and
 *               furrow_matrix_writer: panels of elements, one partition after the other, in little memory
 *   in memory   furrow_matrix: look-ups by row, column, range of columns and element
 * Whole jobs are built on top of them: convert, verify, compare, statistics (below), export and import
 * (furrow/exchange.h).
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of
 * it. Different handles are independent.
 */
#ifndef FURROW_MODEL_H
#define FURROW_MODEL_H

#include <stdbool.h>
#include <string.h>

#include "furrow/io.h"
#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types and row types ------------------------------------------------------------------------ */

/* X(name, C type, text): the types of an element, in the order of Angel's numbers. */
#define FURROW_ELEMENT_TYPES(X) \
  X(F64, double, "f64")         \
  X(F32, float, "f32")          \
  X(I64, int64_t, "i64")        \
  X(I32, int32_t, "i32")

/* The type of an element. */
typedef enum furrow_element_type {
#define FURROW_X(name, type, text) FURROW_ELEMENT_##name,
  FURROW_ELEMENT_TYPES(FURROW_X)
#undef FURROW_X
} furrow_element_type;

/* Returns: bytes of one element; 0 for a number that is not an element type. */
FURROW_API size_t furrow_element_size(furrow_element_type type);
/* Returns: "f64", "f32" …; "?" for a number that is not an element type.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_element_type_name(furrow_element_type type);

/* A borrowed array of elements; the element type that comes with it says which member is valid. Layout fixed. */
typedef union furrow_elements {
  const void *any;    /* whatever the type is */
  const double *f64;  /* FURROW_ELEMENT_F64 */
  const float *f32;   /* FURROW_ELEMENT_F32 */
  const int64_t *i64; /* FURROW_ELEMENT_I64 */
  const int32_t *i32; /* FURROW_ELEMENT_I32 */
} furrow_elements;

/* Returns: element i as a double. Beyond 2^53 an i64 rounds: read a.i64[i] instead. */
FURROW_INLINE double furrow_elements_get(furrow_elements a, furrow_element_type type, size_t i) {
  switch (type) {
  case FURROW_ELEMENT_F64: return a.f64[i];
  case FURROW_ELEMENT_F32: return a.f32[i];
  case FURROW_ELEMENT_I64: return (double)a.i64[i];
  default: return a.i32[i];
  }
}

/* The most bytes that furrow_element_to_text writes. */
#define FURROW_ELEMENT_TEXT 32
/* Writes element i as text to `out`, which holds FURROW_ELEMENT_TEXT bytes, without a terminating 0: integers in
 * decimal, floats as %.9g, doubles as %.17g (they read back to the same bits), NaN, Infinity, -Infinity.
 * Returns: the length of the text. */
FURROW_API size_t furrow_element_to_text(furrow_elements a, furrow_element_type type, size_t i, char *out);

/* X(kind, suffix of the name, bits of a key, dense): the kinds of rows. Angel's row types are numbers: 0 … 27 are a
 * grid of element type (number / 7) and kind (number % 7), 28 … 32 are rows of objects. */
#define FURROW_MATRIX_ROW_KINDS(X)           \
  X(0, "_DENSE", 32, true)                   \
  X(1, "_DENSE_COMPONENT", 32, true)         \
  X(2, "_DENSE_LONGKEY_COMPONENT", 64, true) \
  X(3, "_SPARSE", 32, false)                 \
  X(4, "_SPARSE_COMPONENT", 32, false)       \
  X(5, "_SPARSE_LONGKEY", 64, false)         \
  X(6, "_SPARSE_LONGKEY_COMPONENT", 64, false)
/* The number of Angel's row types; their numbers are 0 … FURROW_MATRIX_ROW_TYPES - 1. */
#define FURROW_MATRIX_ROW_TYPES 33

/* What a row type means. The library allocates it; it may grow at its end. */
typedef struct furrow_matrix_row_type {
  int32_t number;              /* Angel's number */
  const char *name;            /* "T_FLOAT_DENSE" */
  furrow_element_type element; /* undefined for objects */
  int key_bits;                /* 32 or 64: bits of a stored column id */
  bool dense;                  /* every column of a partition has an element */
  bool objects;                /* 28 … 32: elements are Java objects, which Furrow does not read */
} furrow_matrix_row_type;

/* Returns: the row type with that number; NULL if there is none.
 * Owner:   the library; valid for ever. */
FURROW_API const furrow_matrix_row_type *furrow_matrix_row_type_get(int32_t number);
/* Finds a row type by name ("T_FLOAT_SPARSE", also without "T_", in any case of letters) or number in decimal.
 * Errors: E_ARGUMENT, not a row type (err has the names of all).
 * Owner:  the library; *type is valid for ever. */
FURROW_API furrow_status furrow_matrix_row_type_find(const char *name, const furrow_matrix_row_type **type,
                                                     furrow_error *err) FURROW_MUST_USE;

/* ---- Metadata ------------------------------------------------------------------------------------------- */

/* What the metadata says about a row of a partition. An element of an array: layout fixed. Fields of metadata are named
 * after Angel's keys. `extra` keeps the text of members that Angel does not know ("\"k\":v,…", as the file has them),
 * which are written again after the others. */
typedef struct furrow_matrix_row_meta {
  int32_t row_id;      /* id of the row */
  int64_t offset;      /* not used: the partition's offset, or -1 in column formats */
  int32_t element_num; /* elements of this row in this partition; -1: the metadata does not say (Angel 1.x) */
  int32_t save_type;   /* 0; in SnapshotFormat 0 dense, 1 sparse */
  const char *extra;   /* unknown members; NULL: none */
} furrow_matrix_row_meta;

/* What the metadata says about a partition. An element of an array: layout fixed. */
typedef struct furrow_partition_meta {
  int32_t part_id;              /* id of the partition */
  int32_t start_row, end_row;   /* its rows; the end is exclusive */
  int64_t start_col, end_col;   /* its columns; both 0: a hash partition */
  int64_t nnz;                  /* elements on the server, saved or not; informative */
  int32_t save_row_num;         /* row formats: saved rows */
  int32_t save_col_num;         /* column formats: saved columns */
  int32_t save_col_elem_num;    /* column formats: elements of a column, that is saved rows */
  const char *file_name;        /* within the matrix folder */
  int64_t offset, length;       /* bytes in that file */
  size_t row_count;             /* number of rows */
  furrow_matrix_row_meta *rows; /* in the order of the file (JSON: the order of a Java HashMap) */
  const char *extra;            /* unknown members; NULL: none */
} furrow_partition_meta;

/* An attribute of a matrix. An element of an array: layout fixed. */
typedef struct furrow_matrix_option {
  const char *key, *value; /* texts */
} furrow_matrix_option;

/* Which kind of file metadata was read from. */
typedef enum furrow_matrix_meta_origin {
  FURROW_META_JSON,   /* _meta or meta: length and JSON */
  FURROW_META_PSMETA, /* what one server wrote: no name, format, row type, shape */
  FURROW_META_ANGEL1  /* the binary form of Angel 1.x */
} furrow_matrix_meta_origin;

/* The metadata of a matrix. Only the library allocates it (load, read, copy, plan), and it may grow at its end; callers
 * may change its fields. Texts and arrays that the library put in belong to it; a caller may set fields to its own
 * memory, which must stay valid as long as the metadata is used. */
typedef struct furrow_matrix_meta {
  int32_t matrix_id;                /* Angel's number of the matrix */
  const char *matrix_name;          /* NULL: not known (psmeta) */
  const char *format_class_name;    /* NULL: not known (psmeta) */
  int32_t row_type;                 /* number; -1: not known (psmeta) */
  int32_t row;                      /* rows of the matrix, saved or not */
  int64_t col;                      /* columns; -1: no limit */
  int32_t block_row;                /* rows of a partition */
  int64_t block_col;                /* columns of a partition; both -1: hash partitions */
  size_t option_count;              /* number of options */
  furrow_matrix_option *options;    /* attributes, written in the order of a Java HashMap */
  size_t part_count;                /* number of parts */
  furrow_partition_meta *parts;     /* ascending part_id */
  const char *extra;                /* unknown members; NULL: none */
  furrow_matrix_meta_origin origin; /* the kind of file that it was read from */
  void *memory;                     /* the library's own */
} furrow_matrix_meta;

/* Reads the metadata of a matrix folder: file `name` in it, or, with name NULL, _meta, else meta, else psmeta (or
 * psmeta.<server> files, taken together). Everything is checked: types, ranges, partitions that are listed twice, row
 * ids outside their partition, negative lengths, file names that leave the folder.
 * Errors: E_NOT_FOUND, there is no such file; E_FORMAT, a check failed (err has the byte, and the path of the field as
 *         in partMetas/3/offset), or _meta and meta differ and name is NULL; E_IO; E_MEMORY.
 * Owner:  the caller frees *meta with furrow_matrix_meta_free. */
FURROW_API furrow_status furrow_matrix_meta_load(furrow_matrix_meta **meta, const char *folder, const char *name,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Reads metadata from `size` bytes of a _meta, meta or psmeta file. `name` is the name of the file: errors show it, and
 * one that begins with "psmeta" selects that form.
 * Errors: E_FORMAT, as furrow_matrix_meta_load; E_MEMORY.
 * Owner:  the caller frees *meta with furrow_matrix_meta_free. */
FURROW_API furrow_status furrow_matrix_meta_read(furrow_matrix_meta **meta, const void *bytes, size_t size,
                                                 const char *name, furrow_error *err) FURROW_MUST_USE;
/* Writes the bytes that Angel would write (length and JSON), whatever the origin.
 * Errors: E_ARGUMENT, a field that must be known is not (err names it); E_MEMORY.
 * Owner:  the caller frees *bytes with furrow_free. */
FURROW_API furrow_status furrow_matrix_meta_write(const furrow_matrix_meta *meta, char **bytes, size_t *size,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Copies metadata with all texts and arrays.
 * Errors: E_MEMORY.
 * Owner:  the caller frees *copy with furrow_matrix_meta_free. */
FURROW_API furrow_status furrow_matrix_meta_copy(furrow_matrix_meta **copy, const furrow_matrix_meta *meta,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Frees metadata and what the library put in it. Takes NULL. */
FURROW_API void furrow_matrix_meta_free(furrow_matrix_meta *meta);
/* Returns: the value of an option; NULL if there is none.
 * Owner:   the metadata. */
FURROW_API const char *furrow_matrix_meta_option(const furrow_matrix_meta *meta, const char *key);
/* Returns: the partition with that id; NULL if there is none.
 * Owner:   the metadata. */
FURROW_API const furrow_partition_meta *furrow_matrix_meta_partition(const furrow_matrix_meta *meta, int32_t part_id);

/* ---- Planning a matrix: partitions and files as Angel lays them out ------------------------------------- */

/* Describes a new matrix; furrow_matrix_plan makes its metadata, furrow_model_import the whole matrix. Texts and arrays
 * are read during the call only. */
typedef struct furrow_matrix_spec {
  size_t size;        /* set by furrow_matrix_spec_init */
  int32_t matrix_id;  /* 0 */
  int32_t row_type;   /* number; -1, the default: T_FLOAT_DENSE; import: as the data is */
  const char *name;   /* must be set; import: NULL is the name of the target */
  const char *format; /* name or class name; NULL, the default: RowIdColIdValueTextRowFormat */
  int32_t rows;       /* rows of the matrix, saved or not; must be set (import: 0, as needed) */
  int32_t hash_parts; /* 0: range partitions; > 0: the number of hash partitions; -1: servers * 5 hash partitions */
  int64_t cols;       /* columns; -1: no limit, which range partitions refuse; must be set (import: 0) */
  int64_t first_col;  /* 0: the index range begins here and ends at first_col + cols */
  const furrow_matrix_option *options; /* attributes; the two entries of the index range are added */
  size_t option_count;                 /* number of options */
  const int32_t *saved_rows;           /* rows that are saved, in this order; NULL: all */
  size_t saved_row_count;              /* number of saved_rows */
  int64_t block_cols;                  /* range: columns of a partition; 0: as Angel computes them from the next two */
  int64_t part_size;                   /* elements of a partition; 500000 */
  int32_t max_parts;                   /* partitions at most; 500 */
  int32_t block_rows;                  /* range: rows of a partition; 0: all */
  int32_t servers;                     /* 1: partition i belongs to server i % servers */
  int32_t parts_per_file;              /* partitions of a server in one file; 5 */
} furrow_matrix_spec;

/* Sets the defaults. */
static inline void furrow_matrix_spec_init(furrow_matrix_spec *spec) {
  memset(spec, 0, sizeof *spec);
  spec->size = sizeof *spec;
  spec->row_type = -1;
  spec->part_size = 500000;
  spec->max_parts = 500;
  spec->servers = 1;
  spec->parts_per_file = 5;
}

/* Plans a matrix: metadata with every partition, its rows and its file. Lengths, offsets and counts are 0 until data is
 * written. Partitions that have none of the saved rows are left out.
 * Errors: E_ARGUMENT, a field is wrong (err names it); E_NOT_FOUND, there is no such format; E_MEMORY.
 * Owner:  the caller frees *meta with furrow_matrix_meta_free. */
FURROW_API furrow_status furrow_matrix_plan(furrow_matrix_meta **meta, const furrow_matrix_spec *spec,
                                            furrow_error *err) FURROW_MUST_USE;
/* Reassigns the partitions of a plan to files: partition i belongs to server i % servers, which puts at most
 * parts_per_file of its partitions in one file.
 * Errors: E_ARGUMENT, a number is not positive; E_MEMORY. */
FURROW_API furrow_status furrow_matrix_plan_files(furrow_matrix_meta *meta, int32_t servers, int32_t parts_per_file,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Returns: the hash partition, 0 … parts - 1, of a column: |col| mod parts as long as |col| < 65536; beyond that more
 * bits are mixed in, as Angel does. */
FURROW_API int32_t furrow_matrix_hash_partition(int64_t col, int32_t parts);

/* ---- Panels: the unit of every stream ------------------------------------------------------------------- */

/* A rectangle of elements, borrowed: every one of its rows has an element in every one of its columns. Row formats
 * give panels of one row, column formats panels of all saved rows. Element (r, c) is values[c * rows + r]. Layout
 * fixed.
 */
typedef struct furrow_panel {
  size_t rows;              /* rows, 0 or more */
  const int32_t *row_ids;   /* their ids; ascending */
  size_t cols;              /* columns, 0 or more */
  const int64_t *col_ids;   /* their ids; NULL: first_col, first_col + 1, … */
  int64_t first_col;        /* first column of a panel without col_ids */
  furrow_element_type type; /* type of the values */
  furrow_elements values;   /* rows * cols of them */
} furrow_panel;

/* Returns: the id of column c. */
FURROW_INLINE int64_t furrow_panel_col(const furrow_panel *panel, size_t c) {
  return panel->col_ids ? panel->col_ids[c] : panel->first_col + (int64_t)c;
}
/* Returns: the element in row r and column c as a double. */
FURROW_INLINE double furrow_panel_get(const furrow_panel *panel, size_t r, size_t c) {
  return furrow_elements_get(panel->values, panel->type, c * panel->rows + r);
}

/* ---- Formats -------------------------------------------------------------------------------------------- */

/* A format defines how the elements of a partition are stored as bytes. The library does the rest (partitions, rows,
 * files, metadata, windows of bytes, threads: different partitions may be decoded or encoded at once). For the library
 * a partition is a sequence of records:
 *   a row format has a record for each element, row after row;
 *   a column format (FURROW_MATRIX_FORMAT_BY_COLUMN) has a record for each column, with one value for each saved row.
 */
enum {
  FURROW_MATRIX_FORMAT_TEXT = 1,      /* records are lines; the separator counts */
  FURROW_MATRIX_FORMAT_BY_COLUMN = 2, /* a column format; needs COL_IDS */
  FURROW_MATRIX_FORMAT_ROW_IDS = 4,   /* a record has its row id */
  /* a record has its column id; without it columns count up from the partition's first */
  FURROW_MATRIX_FORMAT_COL_IDS = 8
};

/* What the library passes to the functions of a format. It may grow at its end. */
typedef struct furrow_matrix_format_context {
  furrow_element_type type; /* type of the elements */
  int key_bits;             /* 32, 64 */
  const char *separator;    /* separator of text */
  size_t separator_length;  /* its bytes */
  bool angel_bytes;         /* encode: write the same bytes as Angel, even where that loses digits */
  bool dense;               /* the row type is dense */
  size_t record_values;     /* 1; column formats: saved rows */
  int32_t row_id;           /* row formats without row ids: the row that the records belong to */
  int32_t save_type;        /* its save_type */
  int64_t first_col;        /* first column of the partition */
  int64_t end_col;          /* one past its last column; both 0: a hash partition */
  uint64_t position;        /* records of this row (column formats: of the partition) that came before */
  uint64_t *state;          /* four words of the format's own, 0 at the start of a partition */
} furrow_matrix_format_context;

/* What decode fills; the library allocates it, and it may grow at its end. Each array has space for `capacity` records
 * (values: capacity * record_values) and 64 elements more; an array that the format's flags do not announce is NULL. */
typedef struct furrow_matrix_records {
  size_t capacity;  /* records that fit */
  size_t count;     /* out: records that were read */
  int32_t *row_ids; /* out: FURROW_MATRIX_FORMAT_ROW_IDS */
  int64_t *col_ids; /* out: FURROW_MATRIX_FORMAT_COL_IDS */
  void *values;     /* out: elements of the context's type */
} furrow_matrix_records;

/* A format: a table of texts and functions. furrow_matrix_format_find and furrow_matrix_format_at return a copy of the
 * registered table, which the library allocates; fields that an older table lacks are 0 in the copy. */
typedef struct furrow_matrix_format {
  size_t size;            /* set by furrow_matrix_format_init, or sizeof(furrow_matrix_format) */
  const char *name;       /* "TextColumnFormat": the name that users write; a letter, then letters, digits, _ */
  const char *class_name; /* class name in the metadata; its last part is the name */
  const char *about;      /* a description in one line */
  unsigned flags;         /* bits: FURROW_MATRIX_FORMAT_… */
  /* Bounds on the bytes of a record; least > 0. Equal bounds make positions computable. `most` bounds what encode
   * writes; a format of text (FURROW_MATRIX_FORMAT_TEXT) may read longer records. */
  void (*record_size)(const furrow_matrix_format_context *context, size_t *least, size_t *most);
  /* Reads whole records from bytes[0 … size-1], at most records->capacity, and sets *used to the bytes they took. A
   * record that is cut off by the end of the bytes is not read, unless `last` says that no more bytes follow. 64 bytes
   * before and after `bytes` may be read; their content is undefined. With `last`, or with size >= most (text: with a
   * whole record), the function must consume bytes (*used > 0, if only of a header) or fail; malformed records are
   * errors: set the message, err->offset from the start of `bytes`, and for text the token. On failure *used and
   * records->count are unchanged; the arrays may have changed.
   */
  furrow_status (*decode)(const furrow_matrix_format_context *context, const char *bytes, size_t size, bool last,
                          size_t *used, furrow_matrix_records *records, furrow_error *err);
  /* Writes the records of columns first … first+count-1 of the panel to `out`, which holds count * most bytes, and sets
   * *written to the bytes written. Row formats: the panel has one row. NULL: the format is only read. */
  furrow_status (*encode)(const furrow_matrix_format_context *context, const furrow_panel *panel, size_t first,
                          size_t count, char *out, size_t *written, furrow_error *err);
} furrow_matrix_format;

/* Sets the size and clears the rest. */
static inline void furrow_matrix_format_init(furrow_matrix_format *format) {
  memset(format, 0, sizeof *format);
  format->size = sizeof *format;
}

/* Adds a format for the whole process. The library copies the table but not its texts, which must stay valid.
 * Errors:  E_ARGUMENT, a field is missing or wrong; E_UNSUPPORTED, the table is of a newer version of this header;
 *          E_EXISTS, the name or class name is taken; E_MEMORY.
 * Threads: may be called from any thread. */
FURROW_API furrow_status furrow_matrix_format_register(const furrow_matrix_format *format,
                                                       furrow_error *err) FURROW_MUST_USE;
/* Defined by a plugin (furrow_plugin_load), not by the library: its formats; NULL ends them. */
FURROW_PLUGIN_API extern const furrow_matrix_format *const furrow_plugin_matrix_formats[];
/* Finds a format by name ("TextColumnFormat", or "TextColumn") or class name.
 * Errors:  E_NOT_FOUND, there is no such format (err->hint lists the known names).
 * Owner:   the library; *format is valid for ever.
 * Threads: may be called from any thread. */
FURROW_API furrow_status furrow_matrix_format_find(const char *name, const furrow_matrix_format **format,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Returns: the i-th known format, built-in formats first; NULL past the last one.
 * Owner:   the library; valid for ever.
 * Threads: may be called from any thread. */
FURROW_API const furrow_matrix_format *furrow_matrix_format_at(size_t i);

/* ---- Reading: a matrix folder and its partitions -------------------------------------------------------- */

/* The order of rows in the file of a partition whose format stores no row ids. */
typedef enum furrow_matrix_row_order {
  FURROW_MATRIX_ROW_ORDER_AUTO,      /* ascending; an error if the data contradicts that order. psmeta: as listed */
  FURROW_MATRIX_ROW_ORDER_ASCENDING, /* by row id */
  FURROW_MATRIX_ROW_ORDER_META,      /* as the metadata lists the rows */
  FURROW_MATRIX_ROW_ORDER_LIST       /* as furrow_matrix_source_params lists them */
} furrow_matrix_row_order;

/* What to assume about a matrix folder if its files leave it open or are wrong. */
typedef struct furrow_matrix_source_params {
  size_t size;                       /* set by furrow_matrix_source_params_init */
  const char *meta_name;             /* metadata file; NULL: searched, see furrow_matrix_meta_load */
  const char *separator;             /* separator of text; NULL: the one of the first record, "," if there is none */
  const char *format;                /* NULL: what the metadata says; must be set for psmeta */
  int32_t row_type;                  /* -1, the default: what the metadata says; must be set for psmeta */
  furrow_matrix_row_order row_order; /* AUTO; for formats without row ids */
  /* LIST: the rows in the order in which Angel saved them, each once; a partition skips the rows that it does not have.
   * Only furrow_matrix_source_open reads the array. */
  const int32_t *rows;
  size_t row_count; /* number of rows */
} furrow_matrix_source_params;

/* Sets the defaults. */
static inline void furrow_matrix_source_params_init(furrow_matrix_source_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->row_type = -1;
}

/* A matrix folder, opened for reading: metadata read, format found, every data file there and long enough. */
typedef struct furrow_matrix_source furrow_matrix_source;

/* Opens a matrix folder. params NULL: the defaults.
 * Errors: E_NOT_FOUND, no metadata, no such data file or format; E_FORMAT, metadata or files are wrong; E_ARGUMENT, a
 *         parameter is wrong, or neither the metadata nor params name the format or the row type; E_UNSUPPORTED, rows
 *         of objects; E_STATE, another program replaced the folder meanwhile; E_IO; E_MEMORY.
 * Owner:  the caller closes *source with furrow_matrix_source_close. */
FURROW_API furrow_status furrow_matrix_source_open(furrow_matrix_source **source, const char *folder,
                                                   const furrow_matrix_source_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Closes a source. Takes NULL. */
FURROW_API void furrow_matrix_source_close(furrow_matrix_source *source);
/* Returns: the path of the folder; the name of the metadata file that was read ("_meta"); the separator of text.
 * Owner:   the source. */
FURROW_API const char *furrow_matrix_source_folder(const furrow_matrix_source *source);
FURROW_API const char *furrow_matrix_source_meta_name(const furrow_matrix_source *source);
FURROW_API const char *furrow_matrix_source_separator(const furrow_matrix_source *source);
/* Returns: the metadata with what the parameters added.
 * Owner:   the source. */
FURROW_API const furrow_matrix_meta *furrow_matrix_source_meta(const furrow_matrix_source *source);
/* Returns: the format of the data files.
 * Owner:   the library; valid for ever. */
FURROW_API const furrow_matrix_format *furrow_matrix_source_format(const furrow_matrix_source *source);
/* Returns: the row type.
 * Owner:   the library; valid for ever. */
FURROW_API const furrow_matrix_row_type *furrow_matrix_source_row_type(const furrow_matrix_source *source);

/* Reads one partition, panel after panel, in the order of the file. Every record is checked: it belongs to the
 * partition, its row has as many elements as the metadata says, and no bytes are left over. */
typedef struct furrow_partition_reader furrow_partition_reader;

/* Opens partition `part` of the source: an index into the parts of its metadata.
 * Errors: E_ARGUMENT, there is no such partition; E_IO; E_STALE, the file is not the one that the source checked;
 *         E_MEMORY.
 * Owner:  the caller closes *reader with furrow_partition_reader_close, before the source. */
FURROW_API furrow_status furrow_partition_reader_open(furrow_partition_reader **reader,
                                                      const furrow_matrix_source *source, size_t part,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Reads the next panel, whose arrays belong to the reader and are valid until the next call.
 * Errors: END after the last panel; E_PARSE, E_FORMAT, E_RANGE, a record is wrong (err has its place); E_IO; E_MEMORY.
 */
FURROW_API furrow_status furrow_partition_reader_next(furrow_partition_reader *reader, furrow_panel *panel,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Closes a reader. Takes NULL. */
FURROW_API void furrow_partition_reader_close(furrow_partition_reader *reader);

/* A part of a matrix: the elements that satisfy every field that is set. */
typedef struct furrow_matrix_selection {
  size_t size;                /* set by furrow_matrix_selection_init */
  const int32_t *rows;        /* row ids in any order; NULL: all */
  size_t row_count;           /* number of rows */
  int64_t first_col, end_col; /* columns, the end is exclusive; INT64_MIN, INT64_MAX */
  const int32_t *part_ids;    /* ids of partitions in any order; NULL: all */
  size_t part_count;          /* number of part_ids */
} furrow_matrix_selection;

/* Sets the defaults: everything. */
static inline void furrow_matrix_selection_init(furrow_matrix_selection *selection) {
  memset(selection, 0, sizeof *selection);
  selection->size = sizeof *selection;
  selection->first_col = INT64_MIN;
  selection->end_col = INT64_MAX;
}

/* How to go through the panels of a source. */
typedef struct furrow_matrix_scan_params {
  size_t size;                              /* set by furrow_matrix_scan_params_init */
  const furrow_matrix_selection *selection; /* NULL: everything */
  unsigned threads;                         /* 0: one for each processor */
  size_t memory;                            /* sorted scans: bytes of elements in memory; 0: 1 GiB */
} furrow_matrix_scan_params;

/* Sets the defaults. */
static inline void furrow_matrix_scan_params_init(furrow_matrix_scan_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Receives a panel of partition `part` (an index into the parts of the metadata).
 * Returns: OK to continue; any other status ends the scan and becomes its result. */
typedef furrow_status (*furrow_panel_callback)(void *user, size_t part, const furrow_panel *panel, furrow_error *err);
/* Calls visit for every panel of the selected partitions, cut to the selection. Panels of one partition come in order
 * from one thread; panels of different partitions come at once from several threads. params NULL: the defaults.
 * Errors: as furrow_partition_reader_open and furrow_partition_reader_next; what visit returned. */
FURROW_API furrow_status furrow_matrix_for_each_panel(const furrow_matrix_source *source,
                                                      const furrow_matrix_scan_params *params,
                                                      furrow_panel_callback visit, void *user,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Calls visit, from the caller's thread, with panels of one row, sorted by row, then by column, across partitions;
 * their `part` is SIZE_MAX. params NULL: the defaults.
 * Errors: as furrow_matrix_for_each_panel; E_MEMORY, one row needs more than params->memory. */
FURROW_API furrow_status furrow_matrix_for_each_panel_sorted(const furrow_matrix_source *source,
                                                             const furrow_matrix_scan_params *params,
                                                             furrow_panel_callback visit, void *user,
                                                             furrow_error *err) FURROW_MUST_USE;

/* ---- In memory ------------------------------------------------------------------------------------------ */

/* What to load, and how. */
typedef struct furrow_matrix_load_params {
  size_t size;                               /* set by furrow_matrix_load_params_init */
  const furrow_matrix_source_params *source; /* NULL: the defaults; furrow_matrix_load_source does not use it */
  const furrow_matrix_selection *selection;  /* NULL: everything */
  unsigned threads;                          /* 0: one for each processor */
  size_t memory;                             /* most bytes that the matrix may take; 0: no limit */
} furrow_matrix_load_params;

/* Sets the defaults. */
static inline void furrow_matrix_load_params_init(furrow_matrix_load_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* A matrix in memory: panels with ascending columns; each row is in one panel only. A matrix from a row format has a
 * panel for each saved row (also for a row without elements), one from a column format a panel for each block of rows.
 * If an element is stored twice, the later one counts. */
typedef struct furrow_matrix furrow_matrix;

/* Loads a matrix folder. params NULL: all of it.
 * Errors: as furrow_matrix_source_open and furrow_partition_reader_next; E_MEMORY, before anything is read, where the
 *         matrix needs more than params->memory.
 * Owner:  the caller frees *matrix with furrow_matrix_free. */
FURROW_API furrow_status furrow_matrix_load(furrow_matrix **matrix, const char *folder,
                                            const furrow_matrix_load_params *params, furrow_error *err) FURROW_MUST_USE;
/* Loads a matrix from an open source.
 * Errors: as furrow_matrix_load.
 * Owner:  the caller frees *matrix with furrow_matrix_free. */
FURROW_API furrow_status furrow_matrix_load_source(furrow_matrix **matrix, const furrow_matrix_source *source,
                                                   const furrow_matrix_load_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Returns: the bytes that loading the selection (NULL: everything) takes at most, computed from the metadata alone;
 * SIZE_MAX if the selection is wrong or memory is short. */
FURROW_API size_t furrow_matrix_load_size(const furrow_matrix_source *source, const furrow_matrix_selection *selection);
/* Makes a matrix of copies of these panels. Each row is in one of them; columns may come in any order.
 * Errors: E_ARGUMENT, element types differ, rows of a panel do not ascend, or two panels have the same row; E_MEMORY.
 * Owner:  the caller frees *matrix with furrow_matrix_free. */
FURROW_API furrow_status furrow_matrix_create(furrow_matrix **matrix, const furrow_panel *panels, size_t count,
                                              furrow_error *err) FURROW_MUST_USE;
/* Makes a matrix that uses the arrays of these panels (row_ids, col_ids, values) without a copy; the panels themselves
 * are copied. furrow_matrix_free calls release(user), unless release is NULL; until then the arrays must stay as they
 * are. On failure nothing was kept, and release is not called.
 * Errors: E_ARGUMENT, as furrow_matrix_create; columns of a panel do not ascend; values are not aligned to the size of
 *         an element; E_MEMORY.
 * Owner:  the caller frees *matrix with furrow_matrix_free; the arrays stay the caller's until release. */
FURROW_API furrow_status furrow_matrix_borrow(furrow_matrix **matrix, const furrow_panel *panels, size_t count,
                                              void (*release)(void *user), void *user,
                                              furrow_error *err) FURROW_MUST_USE;
/* Frees a matrix. Takes NULL. */
FURROW_API void furrow_matrix_free(furrow_matrix *matrix);

/* Returns: the type of all elements. */
FURROW_API furrow_element_type furrow_matrix_type(const furrow_matrix *matrix);
/* Returns: the number of panels; the number of saved rows. */
FURROW_API size_t furrow_matrix_panel_count(const furrow_matrix *matrix);
FURROW_API size_t furrow_matrix_row_count(const furrow_matrix *matrix);
/* Returns: panel i; panels ascend by their first row.
 * Owner:   the matrix. */
FURROW_API const furrow_panel *furrow_matrix_panel(const furrow_matrix *matrix, size_t i);
/* Returns: the ids of all saved rows, ascending.
 * Owner:   the matrix. */
FURROW_API const int32_t *furrow_matrix_row_ids(const furrow_matrix *matrix);
/* Returns: the number of elements. */
FURROW_API uint64_t furrow_matrix_count(const furrow_matrix *matrix);

/* The elements of a row, columns ascending: element i is values[i * stride] in column col_ids[i]. Borrowed from the
 * matrix. Layout fixed. */
typedef struct furrow_matrix_row_view {
  size_t count;             /* elements */
  const int64_t *col_ids;   /* their columns; NULL: first_col, first_col + 1, … */
  int64_t first_col;        /* first column of a view without col_ids */
  furrow_element_type type; /* type of the values */
  furrow_elements values;   /* points at the first element */
  size_t stride;            /* distance of two elements in values */
} furrow_matrix_row_view;

/* Returns: the column of element i. */
FURROW_INLINE int64_t furrow_matrix_row_view_col(const furrow_matrix_row_view *row, size_t i) {
  return row->col_ids ? row->col_ids[i] : row->first_col + (int64_t)i;
}
/* Returns: element i as a double. */
FURROW_INLINE double furrow_matrix_row_view_get(const furrow_matrix_row_view *row, size_t i) {
  return furrow_elements_get(row->values, row->type, i * row->stride);
}

/* Sets *view to the elements of a row.
 * Returns: false, and an empty view, if the row was not saved. */
FURROW_API bool furrow_matrix_row(const furrow_matrix *matrix, int32_t row, furrow_matrix_row_view *view);
/* Returns: the elements of a view in columns first … end-1. */
FURROW_API furrow_matrix_row_view furrow_matrix_row_view_range(const furrow_matrix_row_view *row, int64_t first,
                                                               int64_t end);
/* Copies an element, in the matrix's type, to *element.
 * Returns: false, and *element is untouched, if there is no such element. */
FURROW_API bool furrow_matrix_element(const furrow_matrix *matrix, int32_t row, int64_t col, void *element);
/* Returns: an element as a double; 0 if there is no such element. */
FURROW_API double furrow_matrix_get(const furrow_matrix *matrix, int32_t row, int64_t col);
/* Copies the elements of a column, by ascending row, in the matrix's type, and their rows to row_ids unless that is
 * NULL. Both arrays hold furrow_matrix_row_count entries.
 * Returns: the number of elements of the column. */
FURROW_API size_t furrow_matrix_column(const furrow_matrix *matrix, int64_t col, int32_t *row_ids, void *elements);

/* ---- Writing -------------------------------------------------------------------------------------------- */

/* How matrices and models are written. */
typedef struct furrow_matrix_write_params {
  size_t size;           /* set by furrow_matrix_write_params_init */
  const char *separator; /* separator of text; NULL: "," (convert: the source's). Formats with several fields refuse
                            line ends and what numbers consist of: letters, digits, + - . */
  const char *meta_name; /* "_meta" or "meta"; NULL: "_meta" (convert: the source's) */
  bool angel_bytes;      /* write what Angel would write, even where that loses data: six decimals of doubles in
                            RowIdColIdValueTextRowFormat, columns that the first row does not have in column formats,
                            columns of hash partitions in column formats, columns of sparse rows in formats of values
                            alone. false: nothing is lost; such formats of sparse rows are E_ARGUMENT */
  bool overwrite;        /* replace an existing folder if it is empty, or holds only a matrix or a model: readable
                            metadata, the files named in it, json files of a model. Otherwise E_EXISTS, which names what
                            would be lost. false: E_EXISTS if the folder exists */
  unsigned threads;      /* 0: one for each processor */
} furrow_matrix_write_params;

/* Sets the defaults. */
static inline void furrow_matrix_write_params_init(furrow_matrix_write_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* A model directory that is being written under a temporary name in the same directory, until commit renames it,
 * complete and synced, in one step. After a crash there is the old directory or the new one. */
typedef struct furrow_model_writer furrow_model_writer;

/* Begins a model directory. params NULL: the defaults.
 * Errors: E_EXISTS, see furrow_matrix_write_params; E_ARGUMENT, a parameter is wrong; E_UNSUPPORTED, a path on which
 *         directories cannot be written; E_IO; E_MEMORY.
 * Owner:  the caller closes *writer with furrow_model_writer_close. */
FURROW_API furrow_status furrow_model_writer_open(furrow_model_writer **writer, const char *folder,
                                                  const furrow_matrix_write_params *params,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Adds a file (graph.json …) with these bytes.
 * Errors: E_ARGUMENT, the name is not a plain file name; E_EXISTS, there is such an entry; E_IO. */
FURROW_API furrow_status furrow_model_writer_write_file(furrow_model_writer *writer, const char *name,
                                                        const void *bytes, size_t size,
                                                        furrow_error *err) FURROW_MUST_USE;
/* Puts the directory in its place.
 * Errors: E_STATE, a matrix was begun and not committed; E_EXISTS; E_IO. */
FURROW_API furrow_status furrow_model_writer_commit(furrow_model_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Frees a writer and removes what was not committed. Takes NULL. */
FURROW_API void furrow_model_writer_close(furrow_model_writer *writer);

/* One matrix folder that is being written, partition after partition, each from panels. */
typedef struct furrow_matrix_writer furrow_matrix_writer;

/* Begins a matrix folder, which appears when the writer commits. `plan` (copied) says partitions, rows, files and
 * format. params NULL: the defaults.
 * Errors: as furrow_model_writer_open; E_ARGUMENT, the plan is wrong; E_NOT_FOUND, no such format.
 * Owner:  the caller closes *writer with furrow_matrix_writer_close. */
FURROW_API furrow_status furrow_matrix_writer_open(furrow_matrix_writer **writer, const char *folder,
                                                   const furrow_matrix_meta *plan,
                                                   const furrow_matrix_write_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Begins the folder plan->matrix_name of a model, which appears when the model commits.
 * Errors: as furrow_matrix_writer_open; E_EXISTS, the model has such an entry.
 * Owner:  the caller closes *writer with furrow_matrix_writer_close, before the model. */
FURROW_API furrow_status furrow_matrix_writer_open_in(furrow_matrix_writer **writer, furrow_model_writer *model,
                                                      const furrow_matrix_meta *plan,
                                                      const furrow_matrix_write_params *params,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Begins partition `part` of the plan; partitions of one file come in order.
 * Errors: E_ARGUMENT, there is no such partition; E_STATE, it is out of order; E_IO. */
FURROW_API furrow_status furrow_matrix_writer_begin_partition(furrow_matrix_writer *writer, size_t part,
                                                              furrow_error *err) FURROW_MUST_USE;
/* Adds a panel to the partition, in the order that the format stores: for row formats all panels of a row follow each
 * other; for column formats every panel has all rows of the partition. Columns ascend. A dense row type needs every
 * column.
 * Errors: E_STATE, the panel is out of order; E_RANGE, an element is outside of the partition, or a value or a column
 *         does not fit its type; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_matrix_writer_write_panel(furrow_matrix_writer *writer, const furrow_panel *panel,
                                                          furrow_error *err) FURROW_MUST_USE;
/* Writes the metadata; a folder that is not in a model appears. Partitions that were not written are empty.
 * Errors: E_STATE, a partition lacks elements or an earlier call failed; E_EXISTS; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_matrix_writer_commit(furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Frees a writer and removes what was not committed. Takes NULL. */
FURROW_API void furrow_matrix_writer_close(furrow_matrix_writer *writer);

/* Writes all elements of a matrix with several threads. Elements are converted to the plan's row type where that loses
 * nothing but rounding. A dense row type gets 0 where the matrix has no element.
 * Errors: E_RANGE, an element is outside of the plan's partitions, or does not fit the row type (err names it);
 * E_STATE; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_matrix_writer_write_matrix(furrow_matrix_writer *writer, const furrow_matrix *matrix,
                                                           furrow_error *err) FURROW_MUST_USE;
/* Writes a matrix folder in one call: furrow_matrix_writer_open, furrow_matrix_writer_write_matrix, commit.
 * Errors: as these three functions. */
FURROW_API furrow_status furrow_matrix_save(const furrow_matrix *matrix, const char *folder,
                                            const furrow_matrix_meta *plan, const furrow_matrix_write_params *params,
                                            furrow_error *err) FURROW_MUST_USE;

/* ---- Model directories ---------------------------------------------------------------------------------- */

/* An entry of a model directory. An element of an array: layout fixed. */
typedef struct furrow_model_entry {
  const char *name;   /* name of the matrix folder, or of a file */
  const char *folder; /* path of a matrix folder; NULL: another file of the model (graph.json) */
} furrow_model_entry;

/* What is in a model directory: matrix folders (they have a metadata file), then other files, by name. The path may be
 * a matrix folder itself. Hidden files and Angel's temporary ones (_tmp.…) are left out. The library allocates it; it
 * may grow at its end. */
typedef struct furrow_model_listing {
  const char *path;                     /* path of the directory */
  bool single;                          /* the path is a matrix folder, the only entry */
  size_t matrix_count, file_count;      /* numbers of matrices and of files */
  furrow_model_entry *matrices, *files; /* by name */
  void *memory;                         /* the library's own */
} furrow_model_listing;

/* Lists a model directory. An entry that cannot be examined (a dangling link, a folder without permission) does not
 * make the listing fail: it may be a matrix, so it is listed as one, and opening it reports the error. The same holds
 * for a folder whose metadata file cannot be examined.
 * Errors: E_NOT_FOUND, there is no such directory; E_FORMAT, there is no matrix in it; E_IO; E_MEMORY.
 * Owner:  the caller frees *listing with furrow_model_listing_free. */
FURROW_API furrow_status furrow_model_listing_load(furrow_model_listing **listing, const char *path,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Frees a listing. Takes NULL. */
FURROW_API void furrow_model_listing_free(furrow_model_listing *listing);

/* ---- Whole jobs ----------------------------------------------------------------------------------------- */

/* What furrow_model_convert changes. */
typedef struct furrow_model_convert_params {
  size_t size;                               /* set by furrow_model_convert_params_init */
  const furrow_matrix_source_params *source; /* NULL: the defaults */
  const furrow_matrix_selection
      *selection; /* other elements (rows of optimizer state …) are left out; NULL: all stay */
  const furrow_matrix_write_params *write; /* NULL: the defaults */
  const char *format;                      /* NULL: the source's */
  /* Chooses the format of one matrix of a model: *format is params->format when it is called, and may be replaced. A
   * status other than OK ends the job. NULL: all matrices get params->format. */
  furrow_status (*choose_format)(void *user, const furrow_matrix_source *source, const char **format,
                                 furrow_error *err);
  void *user;               /* the user pointer of choose_format */
  int32_t row_type;         /* -1, the default: the source's */
  int32_t part_rows;        /* rows of a partition; 0: the source's partitions */
  int64_t part_cols;        /* columns of a partition; 0: the source's partitions */
  int32_t hash_parts;       /* 0: the source's partitions; > 0: the number of hash partitions */
  int32_t servers;          /* 0: the source's files */
  int32_t parts_per_file;   /* 0: the source's files */
  size_t memory;            /* bytes of elements and text in memory; 0: 1 GiB */
  furrow_progress progress; /* "reading", in bytes of data files; NULL: none */
  void *progress_user;      /* the user pointer of progress */
} furrow_model_convert_params;

/* Sets the defaults. */
static inline void furrow_model_convert_params_init(furrow_model_convert_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->row_type = -1;
}

/* What furrow_model_convert wrote. */
typedef struct furrow_model_convert_result {
  size_t size;       /* set by furrow_model_convert_result_init */
  size_t matrices;   /* matrix folders */
  size_t files;      /* other files */
  uint64_t elements; /* elements of all matrices */
  uint64_t dropped;  /* elements lost to angel_bytes */
  uint64_t bytes;    /* bytes of data files */
} furrow_model_convert_result;

/* Sets the size and clears the rest. */
static inline void furrow_model_convert_result_init(furrow_model_convert_result *result) {
  memset(result, 0, sizeof *result);
  result->size = sizeof *result;
}

/* Converts a model directory or a matrix folder. What params do not change stays as it is: without any change the copy
 * is the same, byte for byte. Elements are streamed. params NULL: a copy; result may be NULL.
 * Errors: as furrow_model_listing_load, furrow_matrix_source_open, furrow_partition_reader_next and
 *         furrow_matrix_writer_open; E_ARGUMENT, a parameter is wrong, or the target lies in the source; E_RANGE, an
 *         element does not fit; E_MEMORY, one partition of the result needs more than params->memory (err says how
 *         much); E_CANCELLED. */
FURROW_API furrow_status furrow_model_convert(const char *source, const char *target,
                                              const furrow_model_convert_params *params,
                                              furrow_model_convert_result *result, furrow_error *err) FURROW_MUST_USE;

/* How furrow_matrix_compute_stats reads. */
typedef struct furrow_matrix_stats_params {
  size_t size;              /* set by furrow_matrix_stats_params_init */
  unsigned threads;         /* 0: one for each processor */
  furrow_progress progress; /* "reading", in bytes of data files; NULL: none */
  void *progress_user;      /* the user pointer of progress */
} furrow_matrix_stats_params;

/* Sets the defaults. */
static inline void furrow_matrix_stats_params_init(furrow_matrix_stats_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Statistics of all elements of a matrix. */
typedef struct furrow_matrix_stats {
  size_t size;                                /* set by furrow_matrix_stats_init */
  uint64_t elements, zeros, nans, infinities; /* numbers of elements, of zeros, of NaN and of infinities */
  double min, max, mean, deviation;           /* of the finite elements; NaN if there are none */
  int64_t min_col, max_col;                   /* valid if elements > 0 */
  uint64_t rows;                              /* saved rows */
  uint64_t bytes;                             /* bytes of all partitions */
} furrow_matrix_stats;

/* Sets the size and clears the rest. */
static inline void furrow_matrix_stats_init(furrow_matrix_stats *stats) {
  memset(stats, 0, sizeof *stats);
  stats->size = sizeof *stats;
}

/* Computes statistics of a matrix. params NULL: the defaults.
 * Errors: as furrow_matrix_for_each_panel; E_CANCELLED. */
FURROW_API furrow_status furrow_matrix_compute_stats(const furrow_matrix_source *source,
                                                     const furrow_matrix_stats_params *params,
                                                     furrow_matrix_stats *stats, furrow_error *err) FURROW_MUST_USE;

/* Something that furrow_matrix_verify found. The library allocates it; it may grow at its end. */
typedef struct furrow_matrix_finding {
  bool fatal;           /* an error; otherwise a remark: Angel or Furrow reads it, but it is unusual */
  int32_t part_id;      /* -1: not of one partition */
  const char *file;     /* path; "" if not of a file */
  uint64_t offset;      /* byte in that file, or FURROW_NO_OFFSET */
  furrow_status status; /* status of an error; OK for a remark */
  const char *message;  /* what is wrong, one line */
  const char *hint;     /* what to do about it, one line; "" = none */
} furrow_matrix_finding;

/* How furrow_matrix_verify reads, and the function that receives its findings. */
typedef struct furrow_matrix_verify_params {
  size_t size;                               /* set by furrow_matrix_verify_params_init */
  const furrow_matrix_source_params *source; /* NULL: the defaults */
  unsigned threads;                          /* 0: one for each processor */
  /* Receives each finding, in the order of partitions, at the end, from the caller's thread; NULL: findings are not
   * wanted. The finding is valid during the call. */
  void (*found)(void *user, const furrow_matrix_finding *finding);
  void *user;               /* the user pointer of found */
  furrow_progress progress; /* "reading", in bytes of data files; NULL: none */
  void *progress_user;      /* the user pointer of progress */
} furrow_matrix_verify_params;

/* Sets the defaults. */
static inline void furrow_matrix_verify_params_init(furrow_matrix_verify_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Checks everything about a matrix folder: metadata, files, overlaps and gaps between partitions, every record.
 * params NULL: the defaults.
 * Errors: the status and error of the first fatal finding; E_ARGUMENT, a parameter is wrong; E_MEMORY; E_CANCELLED. */
FURROW_API furrow_status furrow_matrix_verify(const char *folder, const furrow_matrix_verify_params *params,
                                              furrow_error *err) FURROW_MUST_USE;

/* An element that differs between matrices a and b. An element of an array: layout fixed. */
typedef struct furrow_matrix_difference {
  int32_t row;                        /* its row */
  int64_t col;                        /* its column */
  double a, b;                        /* its values; 0 where it is absent */
  bool in_a, in_b;                    /* whether each has it */
  furrow_element_type type_a, type_b; /* types of the elements in a and in b */
  int64_t exact_a, exact_b;           /* a, b where the type is i64 or i32: beyond 2^53 a double rounds; else 0 */
} furrow_matrix_difference;

/* How furrow_matrix_compare reads, and where it puts the largest differences. */
typedef struct furrow_matrix_compare_params {
  size_t size;                   /* set by furrow_matrix_compare_params_init */
  furrow_matrix_difference *top; /* out: the largest differences, ties by row and column; may be NULL */
  size_t top_capacity;           /* most that `top` holds */
  unsigned threads;              /* 0: one for each processor */
  size_t memory;                 /* bytes of elements in memory; 0: 1 GiB */
  furrow_progress progress;      /* "comparing", in ranges of columns; NULL: none */
  void *progress_user;           /* the user pointer of progress */
} furrow_matrix_compare_params;

/* Sets the defaults. */
static inline void furrow_matrix_compare_params_init(furrow_matrix_compare_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* The differences of two matrices, element by element. */
typedef struct furrow_matrix_diff {
  size_t size;                     /* set by furrow_matrix_diff_init */
  uint64_t elements_a, elements_b; /* elements of each */
  uint64_t only_a, only_b;         /* elements that only one matrix has; they are compared with 0 */
  uint64_t different;              /* elements of both whose values differ (all NaN are equal) */
  double largest;                  /* |a - b|; NaN against a number counts as infinity */
  double rms;                      /* root mean square over all elements of either */
  size_t top_count;                /* number of differences in params->top */
} furrow_matrix_diff;

/* Sets the size and clears the rest. */
static inline void furrow_matrix_diff_init(furrow_matrix_diff *diff) {
  memset(diff, 0, sizeof *diff);
  diff->size = sizeof *diff;
}

/* Compares two matrices. Both are read in the same ranges of columns, as memory allows. params NULL: the defaults.
 * Errors: as furrow_matrix_load_source; E_CANCELLED. */
FURROW_API furrow_status furrow_matrix_compare(const furrow_matrix_source *a, const furrow_matrix_source *b,
                                               const furrow_matrix_compare_params *params, furrow_matrix_diff *diff,
                                               furrow_error *err) FURROW_MUST_USE;

/* ---- Which format a layer's matrices get ---------------------------------------------------------------- */

/* The keys of Angel's configuration that choose output formats, and their values. */
typedef struct furrow_layer_formats furrow_layer_formats;

/* The kind of a layer, its key of the configuration and its default format. */
typedef enum furrow_layer_kind {
  FURROW_LAYER_INPUT,     /* ml.simpleinputlayer.matrix.output.format, ColIdValueTextRowFormat */
  FURROW_LAYER_EMBEDDING, /* ml.embedding.matrix.output.format, TextColumnFormat */
  FURROW_LAYER_FC,        /* ml.fclayer.matrix.output.format, RowIdColIdValueTextRowFormat */
  FURROW_LAYER_OTHER      /* OUT_FORMAT_CLASS, RowIdColIdValueTextRowFormat: GBDT, k-means, LDA */
} furrow_layer_kind;

/* Makes a configuration with the defaults.
 * Errors: E_MEMORY.
 * Owner:  the caller frees *conf with furrow_layer_formats_free. */
FURROW_API furrow_status furrow_layer_formats_create(furrow_layer_formats **conf, furrow_error *err) FURROW_MUST_USE;
/* Frees a configuration. Takes NULL. */
FURROW_API void furrow_layer_formats_free(furrow_layer_formats *conf);
/* Returns: whether a key is one of Angel's output keys: the four above, the two names that two of them had in 2018,
 *          text.format.filed.sep.
 */
FURROW_API bool furrow_layer_formats_has_key(const char *key);
/* Sets a key.
 * Errors: E_ARGUMENT, not one of these keys (err->hint names the nearest), or the value is wrong; E_NOT_FOUND, there is
 *         no such format; E_MEMORY. */
FURROW_API furrow_status furrow_layer_formats_set(furrow_layer_formats *conf, const char *key, const char *value,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Returns: whether a key for such layers was set. */
FURROW_API bool furrow_layer_formats_is_set(const furrow_layer_formats *conf, furrow_layer_kind kind);
/* Returns: the format for matrices of a layer. conf NULL: the default.
 * Owner:   the library; valid for ever. */
FURROW_API const furrow_matrix_format *furrow_layer_formats_get(const furrow_layer_formats *conf,
                                                                furrow_layer_kind kind);
/* Returns: the separator of text. conf NULL: the default.
 * Owner:   the configuration. */
FURROW_API const char *furrow_layer_formats_separator(const furrow_layer_formats *conf);
/* Returns: the kind of layer that a matrix belongs to: by the type that graph.json gives its layer (`graph`, `size`
 * bytes; NULL: there is none), else by name and format: …_embedding is an embedding; …_weight and …_bias belong to an
 * input layer if the layer is called input… or wide…, to an fc layer if it is called fc…, else to an input layer if the
 * format has column ids but no row ids; all the rest is OTHER. */
FURROW_API furrow_layer_kind furrow_layer_kind_of(const char *matrix_name, const furrow_matrix_format *format,
                                                  const char *graph, size_t size);
/* Returns: "input", "embedding", "fc", "other"; "?" for a number that is not a kind.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_layer_kind_name(furrow_layer_kind kind);
/* Returns: the layers whose matrices an algorithm saves, a bit 1 << kind for each (DeepFM: input, embedding, fc); 0 if
 * there is no such algorithm. Names are Angel's classes without package, or as people write them (lr, svm, fm,
 * wide_and_deep …). */
FURROW_API unsigned furrow_algorithm_layer_kinds(const char *algorithm);

#ifdef __cplusplus
}
#endif

#endif
