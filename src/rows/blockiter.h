/* rows/blockiter.h: parsers and block iterators from the inside. */
#ifndef FW_ROWS_BLOCKITER_H
#define FW_ROWS_BLOCKITER_H

#include "furrow/rows.h"

/* All rows of a parser as one block that borrows the arrays of rows in memory, valid until it is closed; false: they
 * are not one. */
bool fw_parser_whole(const furrow_parser *parser, furrow_rowblock *block);

/* furrow_blockiter_open with the size at which records of the cache are cut; 0: the default. */
furrow_status fw_blockiter_open(furrow_blockiter **iter, const char *uri, const furrow_parser_params *params,
                                size_t record_bytes, furrow_error *err) FURROW_MUST_USE;

#endif
