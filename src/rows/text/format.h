/* rows/text/format.h: internal interface of text formats.
 *
 * A format parses one line at a time (furrow_rows_format.parse_line): that function is the definition of the format,
 * exact and with full error messages. A built-in format may add parse_chunk, which parses whole chunks of regular
 * lines at memory speed and passes every irregular line to parse_line (fw_chunk_line). Both must give the same rows:
 * tests compare them. */
#ifndef FW_ROWS_TEXT_FORMAT_H
#define FW_ROWS_TEXT_FORMAT_H

#include "furrow/rows.h"
#include "io/uri.h"
#include "rows/text/chunk.h"

typedef struct fw_format {
  furrow_rows_format public;
  /* Appends the rows of chunk->text to chunk->out. NULL: line by line. */
  furrow_status (*parse_chunk)(const void *state, fw_chunk *chunk, furrow_error *err);
  /* Inspects the first bytes of the data set before anything is parsed (size 0: it is empty; whole: these are all
   * bytes). May be NULL. */
  furrow_status (*look)(void *state, const char *head, size_t size, bool whole, furrow_error *err);
  /* Returns the number of bytes at the start of a file that are not rows (a csv header). May be NULL. */
  furrow_status (*skip_head)(const void *state, const char *text, size_t length, size_t *skip, furrow_error *err);
  /* For formats with indexing_mode: sets the number to subtract from every index (and field). NULL: not supported. */
  void (*set_base)(void *state, uint32_t base);
  /* Sets how the files are split into records, after the head was inspected; false: into lines. May be NULL. */
  bool (*records)(const void *state, fw_records *records);
  /* Sees each chunk in the order of the data, before its rows are returned, and may exchange chunk->out. Called from
   * the caller's thread. May be NULL; then so is rewind, which is called before the data is read again. */
  furrow_status (*in_order)(void *state, fw_chunk *chunk, furrow_error *err);
  void (*rewind)(void *state);
  /* Whether rows depend on earlier rows, so that the data cannot be read in parts. May be NULL. */
  bool (*sequential)(const void *state);
  /* Returns the number (from 1) of the row that begins at text[at], if rows are not lines; 0: they are lines. May be
   * NULL; a format that has it reads typed columns, too (FW_FILE_COLUMNS). */
  uint64_t (*row_number)(const void *state, const char *text, size_t length, size_t at);
  /* Columns that parse_chunk fills in addition to offset and index (FW_COLUMN_…). */
  unsigned columns;
  /* Names of the feature columns. May be NULL. */
  const char *(*column_name)(const void *state, size_t column);
  size_t (*column_count)(const void *state);
  /* Returns the column of labels or weights and its name (NULL: it has none); SIZE_MAX if there is none. May be
   * NULL. */
  size_t (*special_column)(const void *state, bool weight, const char **name);
} fw_format;

/* The built-in formats of this folder. */
extern const fw_format fw_format_libsvm, fw_format_libfm, fw_format_libffm, fw_format_csv, fw_format_dummy,
    fw_format_dense;

/* Checks the given arguments (key, value pairs; __x__ keys and `format` are skipped) against the format's
 * declarations. */
furrow_status fw_args_create(furrow_args **args, const furrow_rows_format *format, const fw_uri *uri,
                             furrow_error *err) FURROW_MUST_USE;
void fw_args_free(furrow_args *args);

/* Detects the format of the first bytes of a data set (whole: they are all of it), and says why. Inspects up to
 * `most` lines. */
typedef struct fw_sniffed {
  const char *format, *why;
  bool sure; /* false: another format is as likely */
} fw_sniffed;
fw_sniffed fw_sniff_format(const char *head, size_t size, bool whole, size_t most);
/* Detects the delimiter of a csv. */
char fw_sniff_delimiter(const char *head, size_t size, bool whole);
/* Ways in which rows of features could be misread without an error. */
typedef enum fw_misreading {
  FW_MISREAD_NOTHING,
  FW_MISREAD_UNLABELLED, /* lines begin with a feature, not with a label and a weight */
  FW_MISREAD_LABELLED,   /* lines begin with a label, not with a feature */
  FW_MISREAD_LIBSVM,     /* index:value is taken for field:index */
  FW_MISREAD_TABLE       /* numbers are taken for indices */
} fw_misreading;
/* unlabelled: lines are expected to begin with a feature. */
fw_misreading fw_sniff_misreading(const char *head, size_t size, bool whole, bool fields, bool unlabelled);
/* E_FORMAT when the head is not text: UTF-16, a known binary format, too many control bytes. */
furrow_status fw_sniff_text(const char *head, size_t size, furrow_error *err) FURROW_MUST_USE;

#endif
