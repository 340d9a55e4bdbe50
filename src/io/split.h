/* io/split.h: a data set of text files as pieces of whole lines.
 *
 * The files, one after the other, are one run of bytes. Part k of n is the k-th of n equal ranges of it, and a range
 * is read in pieces of `piece` bytes. One rule decides which range or piece a line belongs to: the one that contains
 * the byte before the line (the previous line's end); the first line of a file belongs to the range that contains
 * its first byte. So every line is in exactly one piece of exactly one part, whatever the number of parts, and a
 * line that starts exactly at a cut belongs to the earlier part, as in dmlc-core. A compressed file belongs as a
 * whole to the part of its first (compressed) byte. */
#ifndef FW_IO_SPLIT_H
#define FW_IO_SPLIT_H

#include <stdbool.h>

#include "io/fileset.h"

typedef struct fw_split fw_split;

/* Readable bytes before and after a piece's text. */
#define FW_TEXT_PAD 64

/* Whole lines of one file. The caller's struct, all zeros at first; its memory is reused for the next piece. */
typedef struct fw_text {
  char *memory;
  size_t capacity;
  const char *lines; /* `length` bytes that end in a line end (added if the file's last line has none), then padding */
  size_t length;     /* 0: no line begins in the piece */
  bool line_end_added;
  bool file_end; /* this is the last piece of the file */
  size_t file;
  uint64_t offset; /* offset of lines[0] in the file's (uncompressed) text */
  bool in_order; /* the file can only be read in order: its pieces come in order, too, so their lines can be counted */
  uint64_t begin, end; /* raw range of a piece of a plain file that has not been read yet */
} fw_text;

void fw_text_clear(fw_text *text);

/* The records that pieces consist of, if they are not lines. One of size, find, length and cut is set. */
typedef struct fw_records {
  size_t head; /* bytes at the start of each file before the first record */
  size_t size; /* every record has this many bytes */
  /* Returns the offset of the first record that begins at or after bytes[from]; `length` or more if none is known. */
  size_t (*find)(const void *state, const char *bytes, size_t length, size_t from);
  /* Returns the length of the record that begins at bytes[0]; 0 if more bytes are needed to decide. Files are then
   * read in order: a file belongs as a whole to the part of its first byte. */
  size_t (*length)(const void *state, const char *bytes, size_t length);
  /* Returns the length of all whole records at the front of a text that begins with a record, at `offset` of its
   * file; 0 if not even one is whole. The last record of a file always counts as whole. Files are read in order as
   * with `length`, and a line end is added if the last record has none. */
  size_t (*cut)(const void *state, const char *bytes, size_t length, uint64_t offset);
  const void *state;
  /* The columns that are wanted of files of typed columns, in their order; NULL: all. They must outlive the split. */
  const char *const *columns;
  size_t ncolumns;
} fw_records;

/* The set must outlive the split. E_ARGUMENT unless part < nparts, or if a pipe would have to be split. */
furrow_status fw_split_open(fw_split **split, const fw_fileset *set, uint32_t part, uint32_t nparts, size_t piece,
                            size_t max_line, furrow_error *err) FURROW_MUST_USE;
void fw_split_close(fw_split *split);

/* Makes pieces of whole records instead of lines. Call it before the first claim. */
void fw_split_set_records(fw_split *split, const fw_records *records);
/* Moves the ends of the part to ends of pieces, so that all parts together have the pieces of the whole. Call it
 * before the first claim, and after the calls that set the records or the size of pieces. */
void fw_split_align(fw_split *split);
/* The same; returns the number of pieces of the parts before this one. Where a file is read in order, the number is
 * not known: then the first part is the whole, and the other parts are empty. */
uint64_t fw_split_align_indexed(fw_split *split);
/* Changes the size of pieces. Call it before the first claim. */
void fw_split_set_piece(fw_split *split, size_t piece);

/* Reads the first bytes of the data set (not of the part), from its first file that has any: 64 KiB or, if the first
 * line is longer, up to `size`. The bytes of a pipe are kept and read again later. *file is the number of the file.
 * *whole: the head is all of that file. Call it before the first claim. */
furrow_status fw_split_head(fw_split *split, char *head, size_t size, size_t *got, size_t *file, bool *whole,
                            furrow_error *err) FURROW_MUST_USE;

/* Reads the first bytes of one file of the set, which must not be a pipe. Any number of threads may call it. */
furrow_status fw_split_file_head(const fw_split *split, size_t file, char *head, size_t size, size_t *got,
                                 furrow_error *err) FURROW_MUST_USE;

/* Claims the next piece: FURROW_OK, FURROW_END or an error. One thread at a time. Reads the bytes of files that must
 * be read in order; fw_split_read reads the others. */
furrow_status fw_split_claim(fw_split *split, fw_text *text, furrow_error *err) FURROW_MUST_USE;
/* Reads a claimed piece. Any number of threads may call it, each with its own text. */
furrow_status fw_split_read(fw_split *split, fw_text *text, furrow_error *err) FURROW_MUST_USE;

/* Returns to the first piece of the part. E_STATE if a pipe has been read from. */
furrow_status fw_split_rewind(fw_split *split, furrow_error *err) FURROW_MUST_USE;

/* Finds the number (from 1) of the line that starts at `offset` of a plain file, or of the record that has that byte:
 * counts from the start of the file. */
furrow_status fw_split_line_number(fw_split *split, size_t file, uint64_t offset, uint64_t *line,
                                   furrow_error *err) FURROW_MUST_USE;

/* The number of bytes on disk that belong to the part; 0 if unknown. */
uint64_t fw_split_size(const fw_split *split);

#endif
