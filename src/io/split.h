/* io/split.h: a data set of text files as pieces of whole lines.
 *
 * The files in a row are one run of bytes. Part k of n is the k-th of n equal ranges of it, and a range is read in
 * pieces of `piece` bytes. Which range or piece a line belongs to is one rule: the one that holds the byte before the
 * line (its predecessor's line end); the first line of a file belongs to the range that holds its first byte. So every
 * line is in exactly one piece of exactly one part, whatever the number of parts, and a line that starts exactly at a
 * cut belongs to the earlier part, as in dmlc-core. A compressed file belongs whole to the part of its first
 * (compressed) byte. */
#ifndef FW_IO_SPLIT_H
#define FW_IO_SPLIT_H

#include <stdbool.h>

#include "io/fileset.h"

typedef struct fw_split fw_split;

/* Readable bytes before and behind a piece's text. */
#define FW_TEXT_PAD 64

/* Whole lines of one file; the caller's struct, all zeros at first, its memory is used again for the next piece. */
typedef struct fw_text {
  char *memory;
  size_t capacity;
  const char *lines; /* length bytes, ending in a line end (added where the file's last line has none), then padding */
  size_t length;     /* 0: the piece has no line of its own */
  bool line_end_added;
  bool file_end; /* the file ends with it */
  size_t file;
  uint64_t offset; /* of lines[0] in the file's (uncompressed) text */
  bool in_order; /* the file can only be read in order: pieces come in order too, so count their lines to number them */
  uint64_t begin, end; /* raw range of a piece of a plain file that is still to be read */
} fw_text;

void fw_text_clear(fw_text *text);

/* What pieces are made of, where that is not lines. One of size, find, length and cut is set. */
typedef struct fw_records {
  size_t head; /* bytes at the start of each file before the first record */
  size_t size; /* every record has so many bytes */
  /* The place of the first record that begins at bytes[from] or behind; length or more: none that is known of. */
  size_t (*find)(const void *state, const char *bytes, size_t length, size_t from);
  /* Bytes of the record that begins at bytes[0]; 0: more are needed to tell. Files are then read in order: one belongs
   * whole to the part of its first byte. */
  size_t (*length)(const void *state, const char *bytes, size_t length);
  /* Bytes of all whole records at the front of text that begins with one, at `offset` of its file; 0: not even one is
   * whole. The last record of a file is whole in any case. Files are read in order as with `length`, and a line end is
   * added where the last record has none. */
  size_t (*cut)(const void *state, const char *bytes, size_t length, uint64_t offset);
  const void *state;
} fw_records;

/* The set must outlive the split. E_ARGUMENT unless part < nparts, or if a pipe is to be split. */
furrow_status fw_split_open(fw_split **split, const fw_fileset *set, uint32_t part, uint32_t nparts, size_t piece,
                            size_t max_line, furrow_error *err) FURROW_MUST_USE;
void fw_split_close(fw_split *split);

/* Pieces of whole records instead of lines. Before the first claim. */
void fw_split_set_records(fw_split *split, const fw_records *records);
/* Moves the ends of the part to ends of pieces, so that all parts together have the pieces of the whole. Before the
 * first claim, behind what sets records or the size of pieces. */
void fw_split_align(fw_split *split);
/* The same; returns how many pieces the parts before this one have. Where a file is read in order nobody knows: then
 * the first part is the whole, and the others are empty. */
uint64_t fw_split_align_indexed(fw_split *split);
/* Another size of pieces. Before the first claim. */
void fw_split_set_piece(fw_split *split, size_t piece);

/* The first bytes of the data set (not of the part): of its first file that has any, 64 KiB or, if the first line
 * is longer, up to `size`. What a pipe gave is
 * kept for the reading. *file is its number. *whole: the head is all of that file. Before the first claim. */
furrow_status fw_split_head(fw_split *split, char *head, size_t size, size_t *got, size_t *file, bool *whole,
                            furrow_error *err) FURROW_MUST_USE;

/* The first bytes of one file of the set, which is not a pipe. Any number of threads. */
furrow_status fw_split_file_head(const fw_split *split, size_t file, char *head, size_t size, size_t *got,
                                 furrow_error *err) FURROW_MUST_USE;

/* Claims the next piece: FURROW_OK, FURROW_END or an error. One thread at a time. Bytes that must be read in order are
 * read here; fw_split_read reads the rest. */
furrow_status fw_split_claim(fw_split *split, fw_text *text, furrow_error *err) FURROW_MUST_USE;
/* Reads a claimed piece. Any number of threads, each with its own text. */
furrow_status fw_split_read(fw_split *split, fw_text *text, furrow_error *err) FURROW_MUST_USE;

/* Back to the first piece of the part. E_STATE if a pipe has been read from. */
furrow_status fw_split_rewind(fw_split *split, furrow_error *err) FURROW_MUST_USE;

/* Number (from 1) of the line that starts at `offset` of a plain file: counts from the start of the file. */
furrow_status fw_split_line_number(fw_split *split, size_t file, uint64_t offset, uint64_t *line,
                                   furrow_error *err) FURROW_MUST_USE;

/* Bytes on disk that belong to the part; 0 when unknown. */
uint64_t fw_split_size(const fw_split *split);

#endif
