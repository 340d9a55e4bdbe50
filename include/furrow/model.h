/* furrow/model.h: models as Angel stores them.
 *
 * A model is a directory with a folder for each matrix; a matrix folder has a metadata file (_meta, or meta before
 * Angel 3.2) and data files in one of eight formats. What they hold, byte by byte: docs/formats/angel.md.
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
 *   streams     furrow_matrix_source with furrow_partition_reader or furrow_matrix_for_each_panel;
 * furrow_matrix_writer: panels of elements, one partition after the other, under any size of memory in memory
 * furrow_matrix: look-ups by row, column, range and point and whole jobs on top: convert, verify, diff, statistics
 * (below), export and import (furrow/exchange.h).
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of
 * it. Different handles are independent.
 */
#ifndef FURROW_MODEL_H
#define FURROW_MODEL_H

#include <stdbool.h>

#include "furrow/io.h"
#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types and row types ------------------------------------------------------------------------ */

/* X(name, C type, text): the types of an element, in the order of Angel's numbers */
#define FURROW_ELEMENT_TYPES(X) \
  X(F64, double, "f64")         \
  X(F32, float, "f32")          \
  X(I64, int64_t, "i64")        \
  X(I32, int32_t, "i32")

typedef enum furrow_element_type {
#define FURROW_X(name, type, text) FURROW_ELEMENT_##name,
  FURROW_ELEMENT_TYPES(FURROW_X)
#undef FURROW_X
} furrow_element_type;

/* Bytes of one element; 0 for a value that is no such type. */
FURROW_API size_t furrow_element_size(furrow_element_type type);
/* "f64", "f32" …; "?" for a value that is no such type. */
FURROW_API const char *furrow_element_type_name(furrow_element_type type);

/* A borrowed array of elements; the type tag beside it says which member holds. */
typedef union furrow_elements {
  const void *any;
  const double *f64;
  const float *f32;
  const int64_t *i64;
  const int32_t *i32;
} furrow_elements;

/* Beyond 2^53 an i64 rounds: read a.i64 itself. */
static inline double furrow_elements_get(furrow_elements a, furrow_element_type type, size_t i) {
  switch (type) {
  case FURROW_ELEMENT_F64: return a.f64[i];
  case FURROW_ELEMENT_F32: return a.f32[i];
  case FURROW_ELEMENT_I64: return (double)a.i64[i];
  default: return a.i32[i];
  }
}

/* Writes element i as text to `out`, which has room for FURROW_ELEMENT_TEXT bytes; no 0 behind it. Integers plainly,
 * floats as %.9g, doubles as %.17g (they read back to the same bits); NaN, Infinity, -Infinity. Returns its length. */
#define FURROW_ELEMENT_TEXT 32
FURROW_API size_t furrow_element_to_text(furrow_elements a, furrow_element_type type, size_t i, char *out);

/* Angel's row types are numbers 0 … 27: a grid of element type (number / 7) and kind (number % 7), and 28 … 32 for rows
 * of objects. X(kind, suffix of the name, bits of a key, dense). */
#define FURROW_MATRIX_ROW_KINDS(X)           \
  X(0, "_DENSE", 32, true)                   \
  X(1, "_DENSE_COMPONENT", 32, true)         \
  X(2, "_DENSE_LONGKEY_COMPONENT", 64, true) \
  X(3, "_SPARSE", 32, false)                 \
  X(4, "_SPARSE_COMPONENT", 32, false)       \
  X(5, "_SPARSE_LONGKEY", 64, false)         \
  X(6, "_SPARSE_LONGKEY_COMPONENT", 64, false)
#define FURROW_MATRIX_ROW_TYPES 33

typedef struct furrow_matrix_row_type {
  int32_t number;
  const char *name;            /* "T_FLOAT_DENSE" */
  furrow_element_type element; /* undefined for objects (number >= 28) */
  int key_bits;                /* 32 or 64: what a column id is stored as */
  bool dense;                  /* every column of a partition has an element */
  bool objects;                /* 28 … 32: elements are Java objects, which no format here reads */
} furrow_matrix_row_type;

/* NULL for a number that is no row type. */
FURROW_API const furrow_matrix_row_type *furrow_matrix_row_type_get(int32_t number);
/* By name ("T_FLOAT_SPARSE", also without "T_", in any case) or number in decimal; E_ARGUMENT lists the names. */
FURROW_API furrow_status furrow_matrix_row_type_find(const char *name, const furrow_matrix_row_type **type,
                                                     furrow_error *err) FURROW_MUST_USE;

/* ---- Metadata ------------------------------------------------------------------------------------------- */

/* Plain data; what a furrow_matrix_meta points at belongs to it. Fields are named after Angel's keys. `extra` is the
 * text of members that Angel does not know ("\"k\":v,…" as they stood), which a rewrite keeps behind the others; NULL:
 * none. */
typedef struct furrow_matrix_row_meta {
  int32_t row_id;
  int64_t offset;      /* not used by anyone: the partition's offset, or -1 in column formats */
  int32_t element_num; /* elements of this row in this partition; -1: the metadata does not say (Angel 1.x) */
  int32_t save_type;   /* 0; in SnapshotFormat 0 dense, 1 sparse */
  const char *extra;
} furrow_matrix_row_meta;

typedef struct furrow_partition_meta {
  int32_t part_id;
  int32_t start_row, end_row; /* end exclusive */
  int64_t start_col, end_col; /* both 0: a hash partition */
  int64_t nnz;                /* elements on the server, saved or not; informative */
  int32_t save_row_num;       /* row formats: saved rows */
  int32_t save_col_num;       /* column formats: saved columns */
  int32_t save_col_elem_num;  /* column formats: elements of a column, that is saved rows */
  const char *file_name;      /* within the matrix folder */
  int64_t offset, length;     /* bytes in that file */
  size_t row_count;
  furrow_matrix_row_meta *rows; /* in the order of the file (JSON: that of a Java HashMap) */
  const char *extra;
} furrow_partition_meta;

typedef struct furrow_matrix_option {
  const char *key, *value;
} furrow_matrix_option;

typedef enum furrow_matrix_meta_origin {
  FURROW_META_JSON,   /* _meta or meta: length and JSON */
  FURROW_META_PSMETA, /* what one server wrote: no name, format, row type, shape */
  FURROW_META_ANGEL1  /* the binary form of Angel 1.x */
} furrow_matrix_meta_origin;

typedef struct furrow_matrix_meta {
  int32_t matrix_id;
  const char *matrix_name;       /* NULL: not known (psmeta) */
  const char *format_class_name; /* NULL: not known (psmeta) */
  int32_t row_type;              /* -1: not known (psmeta) */
  int32_t row;
  int64_t col; /* -1: no limit */
  int32_t block_row;
  int64_t block_col; /* both -1: hash partitions */
  size_t option_count;
  furrow_matrix_option *options; /* written in the order of a Java HashMap */
  size_t part_count;
  furrow_partition_meta *parts; /* ascending part_id */
  const char *extra;
  furrow_matrix_meta_origin origin;
  void *memory; /* the library's own */
} furrow_matrix_meta;

/* Reads the metadata of a matrix folder: file `name` in it, or, with name NULL, _meta, else meta, else psmeta (or
 * psmeta.<server> files, taken together). _meta and meta that differ are refused (E_FORMAT): name one. Everything is
 * checked: types, ranges, partitions that are there twice, row ids outside their partition, negative lengths, file
 * names that leave the folder. The error has the byte and the path of the field (partMetas/3/offset). E_NOT_FOUND: no
 * such file. */
FURROW_API furrow_status furrow_matrix_meta_load(furrow_matrix_meta **meta, const char *folder, const char *name,
                                                 furrow_error *err) FURROW_MUST_USE;
/* The same from bytes: `size` bytes of a _meta, meta or psmeta file. `name` is for errors, and "psmeta…" decides. */
FURROW_API furrow_status furrow_matrix_meta_read(furrow_matrix_meta **meta, const void *bytes, size_t size,
                                                 const char *name, furrow_error *err) FURROW_MUST_USE;
/* The bytes that Angel would write for it (length and JSON), whatever its origin; E_ARGUMENT names a field that must
 * be known and is not. Free them with furrow_free. */
FURROW_API furrow_status furrow_matrix_meta_write(const furrow_matrix_meta *meta, char **bytes, size_t *size,
                                                  furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_matrix_meta_copy(furrow_matrix_meta **copy, const furrow_matrix_meta *meta,
                                                 furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_matrix_meta_free(furrow_matrix_meta *meta);
/* The value of an option; NULL: there is none. */
FURROW_API const char *furrow_matrix_meta_option(const furrow_matrix_meta *meta, const char *key);
/* The partition with that id; NULL: there is none. */
FURROW_API const furrow_partition_meta *furrow_matrix_meta_partition(const furrow_matrix_meta *meta, int32_t part_id);

/* ---- Planning a matrix: partitions and files as Angel lays them out ------------------------------------- */

typedef struct furrow_matrix_spec {
  int32_t matrix_id;                   /* 0 */
  const char *name;                    /* must be set */
  const char *format;                  /* name or class name; "RowIdColIdValueTextRowFormat" */
  int32_t row_type;                    /* number; T_FLOAT_DENSE */
  int32_t rows;                        /* of the matrix, saved or not; must be set */
  int64_t cols;                        /* -1: no limit, which range partitions refuse; must be set */
  int64_t first_col;                   /* 0: where the index range begins; it ends at first_col + cols */
  const furrow_matrix_option *options; /* attributes; the two entries of the index range are added */
  size_t option_count;
  const int32_t *saved_rows; /* NULL: all. In this order they are saved */
  size_t saved_row_count;
  int32_t hash_parts;     /* 0: range partitions; > 0: so many hash partitions; -1: servers * 5 of them */
  int32_t block_rows;     /* range: rows of a partition; 0: all */
  int64_t block_cols;     /* range: columns of a partition; 0: as Angel computes it from the next two */
  int64_t part_size;      /* 500000 */
  int32_t max_parts;      /* 500 */
  int32_t servers;        /* 1: partition i belongs to server i % servers */
  int32_t parts_per_file; /* 5 */
} furrow_matrix_spec;

FURROW_API void furrow_matrix_spec_init(furrow_matrix_spec *spec);
/* Metadata with every partition, its rows and its file; lengths, offsets and counts are 0 until data is written.
 * E_ARGUMENT names the field that is wrong. Partitions with none of the saved rows are left out. */
FURROW_API furrow_status furrow_matrix_plan(furrow_matrix_meta **meta, const furrow_matrix_spec *spec,
                                            furrow_error *err) FURROW_MUST_USE;
/* Gives each partition of a plan its file anew: partition i belongs to server i % servers, which puts at most
 * parts_per_file of its partitions in one file. */
FURROW_API furrow_status furrow_matrix_plan_files(furrow_matrix_meta *meta, int32_t servers, int32_t parts_per_file,
                                                  furrow_error *err) FURROW_MUST_USE;
/* The hash partition, of `parts`, that a column belongs to: |col| mod parts as long as |col| < 65536; beyond that more
 * bits are mixed in, as Angel does. */
FURROW_API int32_t furrow_matrix_hash_partition(int64_t col, int32_t parts);

/* ---- Panels: the unit of every stream ------------------------------------------------------------------- */

/* A rectangle of elements, borrowed: every one of its rows has an element in every one of its columns. Row formats
 * give panels of one row, column formats panels of all saved rows. Element (r, c) is values[c * rows + r]. */
typedef struct furrow_panel {
  size_t rows;
  const int32_t *row_ids; /* ascending when rows > 1 */
  size_t cols;
  const int64_t *col_ids; /* NULL: first_col, first_col + 1, … */
  int64_t first_col;      /* of a panel without col_ids */
  furrow_element_type type;
  furrow_elements values;
} furrow_panel;

static inline int64_t furrow_panel_col(const furrow_panel *panel, size_t c) {
  return panel->col_ids ? panel->col_ids[c] : panel->first_col + (int64_t)c;
}
static inline double furrow_panel_get(const furrow_panel *panel, size_t r, size_t c) {
  return furrow_elements_get(panel->values, panel->type, c * panel->rows + r);
}

/* ---- Formats -------------------------------------------------------------------------------------------- */

/* A format says how the elements of a partition are bytes. The library does the rest (partitions, rows, files,
 * metadata, windows of bytes, threads: different partitions may be decoded or encoded at once). To it a partition is a
 * sequence of records:
 *   a row format has a record for each element, row after row;
 *   a column format (FURROW_MATRIX_FORMAT_BY_COLUMN) has a record for each column, with one value for each saved row.
 */
enum {
  FURROW_MATRIX_FORMAT_TEXT = 1,      /* records are lines; the separator counts */
  FURROW_MATRIX_FORMAT_BY_COLUMN = 2, /* a column format; COL_IDS goes with it */
  FURROW_MATRIX_FORMAT_ROW_IDS = 4,   /* a record has its row id */
  FURROW_MATRIX_FORMAT_COL_IDS =
      8 /* a record has its column id; without it columns count up from the partition's first */
};

/* What a format is told. */
typedef struct furrow_matrix_format_context {
  furrow_element_type type;
  int key_bits; /* 32, 64 */
  const char *separator;
  size_t separator_length;
  bool angel_bytes;     /* encode: as Angel, even where that loses digits */
  size_t record_values; /* 1; column formats: saved rows */
  int32_t row_id;       /* row formats without row ids: the row that the records belong to */
  int32_t save_type;    /* its save_type */
  bool dense;           /* the row type is */
  int64_t first_col;    /* of the partition */
  int64_t end_col;      /* behind its last one; both 0: a hash partition */
  uint64_t position;    /* records of this row (column formats: of the partition) that came before */
  uint64_t *state;      /* four words of the format's own, 0 at the start of a partition */
} furrow_matrix_format_context;

/* What decode fills. Each array has room for `capacity` records (values: capacity * record_values) and 64 elements
 * more; an array that the format's flags do not announce is NULL. */
typedef struct furrow_matrix_records {
  size_t capacity;
  size_t count; /* out */
  int32_t *row_ids;
  int64_t *col_ids;
  void *values; /* of the context's type */
} furrow_matrix_records;

#define FURROW_FORMAT_ABI 1

typedef struct furrow_matrix_format {
  uint32_t abi; /* FURROW_FORMAT_ABI */
  unsigned flags;
  const char *name;       /* "TextColumnFormat": what users write; a letter, then letters, digits, _ */
  const char *class_name; /* what the metadata says; its last part is the name */
  const char *about;      /* one line */
  /* Bounds on the bytes of a record; least > 0. Equal bounds make positions computable. */
  void (*record_size)(const furrow_matrix_format_context *context, size_t *least, size_t *most);
  /* Reads whole records from bytes[0 … size-1], at most records->capacity, and says how many bytes they took. A
   * record that the end of the bytes cuts is left alone unless `last` says that no more will come. 64 bytes before
   * and behind may be read, whatever they are. No progress (bytes taken, if only those of a header: *used > 0) with
   * `last` or with size >= most is an error, as is anything that does not make sense: message, err->offset from the
   * start of `bytes`, token if text. On failure *used and records->count are as they were, but the arrays may not be.
   */
  furrow_status (*decode)(const furrow_matrix_format_context *context, const char *bytes, size_t size, bool last,
                          size_t *used, furrow_matrix_records *records, furrow_error *err);
  /* Writes the records of columns first … first+count-1 of the panel to `out`, which has room for count * most bytes;
   * returns the bytes in *written. Row formats: the panel has one row. NULL: the format is only read. */
  furrow_status (*encode)(const furrow_matrix_format_context *context, const furrow_panel *panel, size_t first,
                          size_t count, char *out, size_t *written, furrow_error *err);
} furrow_matrix_format;

/* Adds a format for the whole process; it and its texts must stay as they are. E_EXISTS: the name or class name is
 * taken. E_ARGUMENT: a field is missing. Thread-safe. */
FURROW_API furrow_status furrow_matrix_format_register(const furrow_matrix_format *format,
                                                       furrow_error *err) FURROW_MUST_USE;
/* Defined by a plugin (furrow_plugin_load), not by the library: its formats; NULL ends them. */
FURROW_PLUGIN_API extern const furrow_matrix_format *const furrow_plugin_matrix_formats[];
/* By name ("TextColumnFormat", or "TextColumn") or class name; E_NOT_FOUND lists the names there are. */
FURROW_API furrow_status furrow_matrix_format_find(const char *name, const furrow_matrix_format **format,
                                                   furrow_error *err) FURROW_MUST_USE;
/* The formats there are, built-in ones first; NULL from their count on. */
FURROW_API const furrow_matrix_format *furrow_matrix_format_at(size_t i);

/* ---- Reading: a matrix folder and its partitions -------------------------------------------------------- */

typedef enum furrow_matrix_row_order {
  FURROW_MATRIX_ROW_ORDER_AUTO, /* ascending; refused where the data contradicts it. psmeta: as listed, that is, saved
                                 */
  FURROW_MATRIX_ROW_ORDER_ASCENDING, /* rows of a partition follow each other by their id */
  FURROW_MATRIX_ROW_ORDER_META       /* … as the metadata lists them */
} furrow_matrix_row_order;

typedef struct furrow_matrix_source_params {
  const char *meta_name;             /* NULL: found, see furrow_matrix_meta_load */
  const char *separator;             /* NULL: found by looking at the first record; "," if there is none */
  const char *format;                /* NULL: what the metadata says; must be set for psmeta */
  int32_t row_type;                  /* -1: what the metadata says; must be set for psmeta */
  furrow_matrix_row_order row_order; /* for formats without row ids */
} furrow_matrix_source_params;

FURROW_API void furrow_matrix_source_params_init(furrow_matrix_source_params *params);

/* A matrix folder, opened for reading: metadata read, format found, every data file there and long enough. */
typedef struct furrow_matrix_source furrow_matrix_source;

/* params NULL: the defaults. */
FURROW_API furrow_status furrow_matrix_source_open(furrow_matrix_source **source, const char *folder,
                                                   const furrow_matrix_source_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_matrix_source_close(furrow_matrix_source *source);
FURROW_API const char *furrow_matrix_source_folder(const furrow_matrix_source *source);
/* Name of the metadata file that was read ("_meta"). */
FURROW_API const char *furrow_matrix_source_meta_name(const furrow_matrix_source *source);
/* The metadata with what the parameters added; the source's own. */
FURROW_API const furrow_matrix_meta *furrow_matrix_source_meta(const furrow_matrix_source *source);
FURROW_API const furrow_matrix_format *furrow_matrix_source_format(const furrow_matrix_source *source);
FURROW_API const furrow_matrix_row_type *furrow_matrix_source_row_type(const furrow_matrix_source *source);
FURROW_API const char *furrow_matrix_source_separator(const furrow_matrix_source *source);

/* Reads one partition (the i-th of the metadata), panel after panel, in the order of the file. Every record is
 * checked: it belongs to the partition, its row has as many as the metadata says, nothing is left over. */
typedef struct furrow_partition_reader furrow_partition_reader;

FURROW_API furrow_status furrow_partition_reader_open(furrow_partition_reader **reader,
                                                      const furrow_matrix_source *source, size_t part,
                                                      furrow_error *err) FURROW_MUST_USE;
/* The next panel, good until the next call; FURROW_END when the partition has no more. */
FURROW_API furrow_status furrow_partition_reader_next(furrow_partition_reader *reader, furrow_panel *panel,
                                                      furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_partition_reader_close(furrow_partition_reader *reader);

/* A part of a matrix. What is not set does not choose. */
typedef struct furrow_matrix_selection {
  const int32_t *rows; /* NULL: all; any order */
  size_t row_count;
  int64_t first_col, end_col; /* end exclusive; INT64_MIN, INT64_MAX */
  const int32_t *part_ids;    /* NULL: all */
  size_t part_count;
} furrow_matrix_selection;

FURROW_API void furrow_matrix_selection_init(furrow_matrix_selection *selection);

/* Calls visit(user, part, panel, err) for every panel of the chosen partitions, cut to the selection. Panels of one
 * partition come in order from one thread; different partitions come at once from up to `threads` threads (0: as many
 * as there are processors). The first status that is not OK ends it and is returned. selection NULL: everything. */
typedef furrow_status (*furrow_panel_callback)(void *user, size_t part, const furrow_panel *panel, furrow_error *err);
FURROW_API furrow_status furrow_matrix_for_each_panel(const furrow_matrix_source *source,
                                                      const furrow_matrix_selection *selection, unsigned threads,
                                                      furrow_panel_callback visit, void *user,
                                                      furrow_error *err) FURROW_MUST_USE;

/* ---- In memory ------------------------------------------------------------------------------------------ */

typedef struct furrow_matrix_load_params {
  furrow_matrix_source_params source; /* used by furrow_matrix_load */
  furrow_matrix_selection selection;
  unsigned threads; /* 0: as many as there are processors */
  size_t memory;    /* E_MEMORY, before anything is read, when it would take more; 0: no limit */
} furrow_matrix_load_params;

FURROW_API void furrow_matrix_load_params_init(furrow_matrix_load_params *params);

/* A matrix in memory: panels with rows of their own, columns ascending. What row formats stored has a panel for each
 * saved row (also for one without elements); what column formats stored has one for each block of rows. Where one
 * element was stored twice, the later one counts. */
typedef struct furrow_matrix furrow_matrix;

/* params NULL: all of it. */
FURROW_API furrow_status furrow_matrix_load(furrow_matrix **matrix, const char *folder,
                                            const furrow_matrix_load_params *params, furrow_error *err) FURROW_MUST_USE;
/* The same from an open source (params->source is not used). */
FURROW_API furrow_status furrow_matrix_load_source(furrow_matrix **matrix, const furrow_matrix_source *source,
                                                   const furrow_matrix_load_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Bytes that loading it would take, at most; from the metadata alone. */
FURROW_API size_t furrow_matrix_load_size(const furrow_matrix_source *source, const furrow_matrix_selection *selection);
/* A matrix of copies of these panels: rows in no more than one of them, columns in any order. */
FURROW_API furrow_status furrow_matrix_create(furrow_matrix **matrix, const furrow_panel *panels, size_t count,
                                              furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_matrix_free(furrow_matrix *matrix);

FURROW_API furrow_element_type furrow_matrix_type(const furrow_matrix *matrix);
/* Panels, ascending by their first row. */
FURROW_API size_t furrow_matrix_panel_count(const furrow_matrix *matrix);
FURROW_API const furrow_panel *furrow_matrix_panel(const furrow_matrix *matrix, size_t i);
/* Saved rows, ascending. */
FURROW_API size_t furrow_matrix_row_count(const furrow_matrix *matrix);
FURROW_API const int32_t *furrow_matrix_row_ids(const furrow_matrix *matrix);
/* Elements there are. */
FURROW_API uint64_t furrow_matrix_count(const furrow_matrix *matrix);

/* The elements of a row, columns ascending: element i is values[i * stride] in column col_ids[i] (NULL: first_col + i).
 */
typedef struct furrow_matrix_row_view {
  size_t count;
  const int64_t *col_ids;
  int64_t first_col;
  furrow_element_type type;
  furrow_elements values;
  size_t stride;
} furrow_matrix_row_view;

static inline int64_t furrow_matrix_row_view_col(const furrow_matrix_row_view *row, size_t i) {
  return row->col_ids ? row->col_ids[i] : row->first_col + (int64_t)i;
}
static inline double furrow_matrix_row_view_get(const furrow_matrix_row_view *row, size_t i) {
  return furrow_elements_get(row->values, row->type, i * row->stride);
}

/* The row; false (and a view of nothing): it was not saved. */
FURROW_API bool furrow_matrix_row(const furrow_matrix *matrix, int32_t row, furrow_matrix_row_view *view);
/* What a view has in columns first … end-1. */
FURROW_API furrow_matrix_row_view furrow_matrix_row_view_range(const furrow_matrix_row_view *row, int64_t first,
                                                               int64_t end);
/* The element, in the matrix's type; false (and *element untouched): there is none. */
FURROW_API bool furrow_matrix_element(const furrow_matrix *matrix, int32_t row, int64_t col, void *element);
/* The same as a double, 0 where there is none. */
FURROW_API double furrow_matrix_get(const furrow_matrix *matrix, int32_t row, int64_t col);
/* The elements of a column, by ascending row, in the matrix's type; their rows to row_ids unless it is NULL. Both have
 * room for furrow_matrix_row_count. Returns how many there are. */
FURROW_API size_t furrow_matrix_column(const furrow_matrix *matrix, int64_t col, int32_t *row_ids, void *elements);

/* ---- Writing -------------------------------------------------------------------------------------------- */

typedef struct furrow_matrix_write_params {
  const char *separator; /* ","; formats with several fields refuse line ends and what numbers are made of: letters,
                            digits, + - . */
  const char *meta_name; /* "_meta", or "meta"; nothing else */
  bool angel_bytes;      /* what Angel would write, even where that loses something: six decimals of doubles in
                            RowIdColIdValueTextRowFormat, columns that the first row does not have in column formats,
                            columns of hash partitions in column formats. false: nothing is lost */
  bool replace;          /* an existing folder is replaced, if it is empty, or a matrix or a model and nothing else:
                            metadata that can be read, the files that it names, json files of a model. E_EXISTS names
                            what would be lost */
  unsigned threads;      /* 0: as many as there are processors */
} furrow_matrix_write_params;

FURROW_API void furrow_matrix_write_params_init(furrow_matrix_write_params *params);

/* A model directory that is being written: under a temporary name beside it, until commit renames it, complete and
 * synced, in one step. A kill leaves the old one or the new one. */
typedef struct furrow_model_writer furrow_model_writer;

FURROW_API furrow_status furrow_model_writer_open(furrow_model_writer **writer, const char *folder,
                                                  const furrow_matrix_write_params *params,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Adds a file (graph.json …) with these bytes. */
FURROW_API furrow_status furrow_model_writer_write_file(furrow_model_writer *writer, const char *name,
                                                        const void *bytes, size_t size,
                                                        furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_model_writer_commit(furrow_model_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Frees; removes what was not committed. Takes NULL. */
FURROW_API void furrow_model_writer_close(furrow_model_writer *writer);

/* One matrix folder that is being written, partition after partition, each from panels. */
typedef struct furrow_matrix_writer furrow_matrix_writer;

/* A folder of its own, which appears when the writer commits. `plan` (copied) says partitions, rows, files, format. */
FURROW_API furrow_status furrow_matrix_writer_open(furrow_matrix_writer **writer, const char *folder,
                                                   const furrow_matrix_meta *plan,
                                                   const furrow_matrix_write_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
/* The folder plan->matrix_name of a model; it appears when the model commits. Close it before the model. */
FURROW_API furrow_status furrow_matrix_writer_open_in(furrow_matrix_writer **writer, furrow_model_writer *model,
                                                      const furrow_matrix_meta *plan,
                                                      const furrow_matrix_write_params *params,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Begins the i-th partition of the plan; partitions of one file come in order. */
FURROW_API furrow_status furrow_matrix_writer_begin_partition(furrow_matrix_writer *writer, size_t part,
                                                              furrow_error *err) FURROW_MUST_USE;
/* Adds a panel to the partition, in the order that the format stores: for row formats row after row, a row that was
 * left does not come again; for column formats the same rows, all of the partition's, in every panel. Columns ascend.
 * E_STATE says what is out of order, E_RANGE what is outside of the partition. A dense row type wants every column. */
FURROW_API furrow_status furrow_matrix_writer_write_panel(furrow_matrix_writer *writer, const furrow_panel *panel,
                                                          furrow_error *err) FURROW_MUST_USE;
/* Writes the metadata; a folder of its own appears. Partitions that were not written are empty. */
FURROW_API furrow_status furrow_matrix_writer_commit(furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Frees; removes what was not committed. Takes NULL. */
FURROW_API void furrow_matrix_writer_close(furrow_matrix_writer *writer);

/* Writes all elements of a matrix that fall into the plan's partitions, threads side by side; an element outside of
 * them is E_RANGE. Elements are converted to the plan's row type where that loses nothing but rounding; E_RANGE names
 * one that does not fit. A dense row type gets 0 where the matrix has no element. */
FURROW_API furrow_status furrow_matrix_writer_write_matrix(furrow_matrix_writer *writer, const furrow_matrix *matrix,
                                                           furrow_error *err) FURROW_MUST_USE;
/* All at once: open, put, commit. */
FURROW_API furrow_status furrow_matrix_save(const furrow_matrix *matrix, const char *folder,
                                            const furrow_matrix_meta *plan, const furrow_matrix_write_params *params,
                                            furrow_error *err) FURROW_MUST_USE;

/* ---- Model directories ---------------------------------------------------------------------------------- */

typedef struct furrow_model_entry {
  const char *name;   /* of the matrix folder; of a file */
  const char *folder; /* path of a matrix folder; NULL: another file of the model (graph.json) */
} furrow_model_entry;

/* What is in a model directory: matrix folders (they have a metadata file), then other files, by name. The path may be
 * a matrix folder itself: `single`, with one entry. Hidden files and Angel's temporary ones (_tmp.…) are left out. */
typedef struct furrow_model_listing {
  const char *path;
  bool single;
  size_t matrix_count, file_count;
  furrow_model_entry *matrices, *files;
  void *memory; /* the library's own */
} furrow_model_listing;

/* E_NOT_FOUND: no such directory; E_FORMAT: no matrix is in it. An entry that cannot be looked at (a link that leads
 * nowhere, a folder without permission) does not hide the others: it may be a matrix, so it is listed as one, and what
 * is wrong with it is said by whatever opens it. The same holds for a folder whose metadata file cannot be looked at.
 */
FURROW_API furrow_status furrow_model_listing_load(furrow_model_listing **listing, const char *path,
                                                   furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_model_listing_free(furrow_model_listing *listing);

/* ---- Whole jobs ----------------------------------------------------------------------------------------- */

/* Called now and then with the bytes read so far and those there are (0: not known); a status that is not OK ends the
 * job with it. One thread at a time. */
typedef furrow_status (*furrow_model_progress)(void *user, uint64_t done, uint64_t total, furrow_error *err);

typedef struct furrow_model_convert_params {
  furrow_matrix_source_params source;
  furrow_matrix_selection selection; /* what is not chosen is left out: rows (optimizer state), columns */
  furrow_matrix_write_params write;  /* separator NULL: the source's; meta_name NULL: the source's */
  const char *format;                /* NULL: the source's */
  /* Matrices of one model in different formats: may set *format, which is params->format at first. NULL: not asked */
  furrow_status (*choose_format)(void *user, const furrow_matrix_source *source, const char **format,
                                 furrow_error *err);
  int32_t row_type;  /* -1: the source's */
  int32_t part_rows; /* 0: the source's partitions */
  int64_t part_cols;
  int32_t hash_parts;             /* 0: the source's partitions; > 0: so many hash partitions */
  int32_t servers;                /* 0: the source's files */
  int32_t parts_per_file;         /* 0: the source's files */
  size_t memory;                  /* for elements and text; 1 GiB */
  furrow_model_progress progress; /* NULL: none */
  void *user;
} furrow_model_convert_params;

FURROW_API void furrow_model_convert_params_init(furrow_model_convert_params *params);

typedef struct furrow_model_convert_result {
  size_t matrices, files; /* files: other than matrices */
  uint64_t elements;      /* written */
  uint64_t dropped;       /* lost to angel_bytes or to a value format, which stores no column ids */
  uint64_t bytes;         /* of data files written */
} furrow_model_convert_result;

/* Converts a model directory or a matrix folder. Whatever is not asked to change stays as it is: without any change the
 * copy is the same, byte for byte. Elements stream: memory stays under params->memory, unless one partition of the
 * result needs more (E_MEMORY says how much). params NULL: a copy; result may be NULL. */
FURROW_API furrow_status furrow_model_convert(const char *source, const char *target,
                                              const furrow_model_convert_params *params,
                                              furrow_model_convert_result *result, furrow_error *err) FURROW_MUST_USE;

/* Statistics of all elements of a matrix. */
typedef struct furrow_matrix_stats {
  uint64_t elements, zeros, nans, infinities;
  double min, max, mean, deviation; /* of the finite ones; NaN if there are none */
  int64_t min_col, max_col;         /* valid if elements > 0 */
  uint64_t rows;                    /* saved rows */
  uint64_t bytes;                   /* of all partitions */
} furrow_matrix_stats;

FURROW_API furrow_status furrow_matrix_compute_stats(const furrow_matrix_source *source, unsigned threads,
                                                     furrow_model_progress progress, void *user,
                                                     furrow_matrix_stats *stats, furrow_error *err) FURROW_MUST_USE;

/* Something that verify found. */
typedef struct furrow_matrix_finding {
  bool fatal;       /* an error; otherwise a remark: Angel or Furrow reads it, but it is odd */
  int32_t part_id;  /* -1: not of one partition */
  const char *file; /* path; "" if not of a file */
  uint64_t offset;  /* byte in that file, or FURROW_NO_OFFSET */
  furrow_status status;
  const char *message;
} furrow_matrix_finding;

/* Checks everything about a matrix folder: metadata, files, overlaps and gaps between partitions, every record. Each
 * finding is told to `found`, in the order of partitions. Returns OK when there is none that is fatal, else the status
 * of the first fatal one with its error. */
FURROW_API furrow_status furrow_matrix_verify(const char *folder, const furrow_matrix_source_params *params,
                                              unsigned threads,
                                              void (*found)(void *user, const furrow_matrix_finding *finding),
                                              void *user, furrow_error *err) FURROW_MUST_USE;

/* Differences of two matrices, element by element; an element that only one has is compared with 0 and counted. */
typedef struct furrow_matrix_difference {
  int32_t row;
  int64_t col;
  double a, b;
  bool in_a, in_b;
  furrow_element_type type_a, type_b; /* what the matrices store */
  int64_t exact_a, exact_b;           /* a, b where the type is i64 or i32: beyond 2^53 a double rounds; else 0 */
} furrow_matrix_difference;

typedef struct furrow_matrix_diff {
  uint64_t elements_a, elements_b, only_a, only_b;
  uint64_t different;            /* in value, among those that both have (bit patterns of NaN aside) */
  double largest;                /* |a - b|; NaN against a number counts as infinity */
  double rms;                    /* over all elements of either */
  size_t top_count;              /* filled of `top`, largest first, ties by row and column */
  furrow_matrix_difference *top; /* the caller's, with room for top_room; may be NULL */
  size_t top_room;
} furrow_matrix_diff;

/* Both are read in stripes under `memory` bytes (0: 1 GiB). */
FURROW_API furrow_status furrow_matrix_compare(const furrow_matrix_source *a, const furrow_matrix_source *b,
                                               size_t memory, furrow_matrix_diff *diff,
                                               furrow_error *err) FURROW_MUST_USE;

/* Calls visit for every element's panel sorted by row, then column, across partitions, under `memory` bytes (0: 1 GiB):
 * panels of one row, whose `part` is SIZE_MAX. */
FURROW_API furrow_status furrow_matrix_for_each_panel_sorted(const furrow_matrix_source *source,
                                                             const furrow_matrix_selection *selection, unsigned threads,
                                                             size_t memory, furrow_panel_callback visit, void *user,
                                                             furrow_error *err) FURROW_MUST_USE;

/* ---- Which format a layer's matrices get ---------------------------------------------------------------- */

/* Angel's configuration as far as output formats go: keys and values, defaults where nothing is set. */
typedef struct furrow_layer_formats furrow_layer_formats;

typedef enum furrow_layer_kind {
  FURROW_LAYER_INPUT,     /* ml.simpleinputlayer.matrix.output.format, ColIdValueTextRowFormat */
  FURROW_LAYER_EMBEDDING, /* ml.embedding.matrix.output.format, TextColumnFormat */
  FURROW_LAYER_FC,        /* ml.fclayer.matrix.output.format, RowIdColIdValueTextRowFormat */
  FURROW_LAYER_OTHER      /* OUT_FORMAT_CLASS, RowIdColIdValueTextRowFormat: GBDT, k-means, LDA */
} furrow_layer_kind;

FURROW_API furrow_status furrow_layer_formats_create(furrow_layer_formats **conf, furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_layer_formats_free(furrow_layer_formats *conf);
/* true: the key is one of Angel's output keys (the four above, their two names of 2018, text.format.filed.sep). */
FURROW_API bool furrow_layer_formats_has_key(const char *key);
/* Sets a key. E_ARGUMENT: not one of these keys (the nearest is named); E_NOT_FOUND: no such format. */
FURROW_API furrow_status furrow_layer_formats_set(furrow_layer_formats *conf, const char *key, const char *value,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Whether a key for such layers was set. */
FURROW_API bool furrow_layer_formats_is_set(const furrow_layer_formats *conf, furrow_layer_kind kind);
/* The format for matrices of a layer, and the separator of text. conf NULL: the defaults. */
FURROW_API const furrow_matrix_format *furrow_layer_formats_get(const furrow_layer_formats *conf,
                                                                furrow_layer_kind kind);
FURROW_API const char *furrow_layer_formats_separator(const furrow_layer_formats *conf);
/* The kind of layer that a matrix belongs to: by the type that graph.json gives its layer (`graph`, `size` bytes; NULL:
 * there is none), else by name and format: …_embedding is an embedding; …_weight and …_bias belong to an input layer if
 * the layer is called input… or wide…, to an fc layer if it is called fc…, else to an input layer if the format has
 * column ids but no row ids; all the rest is OTHER. */
FURROW_API furrow_layer_kind furrow_layer_kind_of(const char *matrix_name, const furrow_matrix_format *format,
                                                  const char *graph, size_t size);
/* "input", "embedding", "fc", "other"; "?" for a value that is no kind. */
FURROW_API const char *furrow_layer_kind_name(furrow_layer_kind kind);
/* The layers whose matrices an algorithm saves, e.g. "DeepFM": input, embedding, fc; a bit 1 << kind each. Names as
 * Angel's classes (without package) or as people write them (lr, svm, fm, wide_and_deep …); 0: no such algorithm. */
FURROW_API unsigned furrow_algorithm_layer_kinds(const char *algorithm);

#ifdef __cplusplus
}
#endif

#endif
