/* rows/block/block_reader.h: rows that come in blocks: from rows in memory and from readers of registered formats. */
#ifndef FW_ROWS_BLOCK_BLOCK_READER_H
#define FW_ROWS_BLOCK_BLOCK_READER_H

#include "furrow/rows.h"

typedef struct fw_block_reader {
  const furrow_rows_format *format;
  void *rows; /* the reader of the format */
  furrow_key_type key_type;
  furrow_value_type value_type;
  furrow_container *converted; /* the block after a conversion of its types */
  bool label_known, has_label;
} fw_block_reader;

/* Opens the format's reader. The format and its state must outlive it. */
furrow_status fw_block_reader_open(fw_block_reader **reader, const furrow_rows_format *format, const void *state,
                                   const furrow_rows_request *request, furrow_error *err) FURROW_MUST_USE;
void fw_block_reader_close(fw_block_reader *reader);
/* Returns the next block that has rows, in the requested types: FURROW_OK, FURROW_END or an error. */
furrow_status fw_block_reader_next(fw_block_reader *reader, furrow_rowblock *block, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_block_reader_rewind(fw_block_reader *reader, furrow_error *err) FURROW_MUST_USE;

/* ---- Rows in memory ------------------------------------------------------------------------------------- */

/* The format that reads them; it is not in the registry. */
extern const furrow_rows_format fw_format_memory;

/* Whether the paths name rows in memory. E_ARGUMENT: some do and others do not. */
furrow_status fw_memory_rows_named(char *const *paths, size_t npaths, bool *named, furrow_error *err) FURROW_MUST_USE;
/* Checks types, offsets and indices of a block of the caller: E_ARGUMENT. */
furrow_status fw_block_check(const furrow_rowblock *block, furrow_error *err) FURROW_MUST_USE;
/* Returns all rows of a reader of rows in memory as one block that borrows its arrays; false if they are not one
 * block. */
bool fw_memory_rows_whole(const fw_block_reader *reader, furrow_rowblock *block);

#endif
