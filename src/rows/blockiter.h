/* rows/blockiter.h: parsers and block iterators from the inside. */
#ifndef FW_ROWS_BLOCKITER_H
#define FW_ROWS_BLOCKITER_H

#include "furrow/rows.h"
#include "io/uri.h"

/* furrow_blockiter_open for a URI that was taken apart, with the size at which records of the cache are cut; 0: the
 * default. */
furrow_status fw_blockiter_open(furrow_blockiter **iter, const fw_uri *uri, const furrow_parser_params *params,
                                size_t record_bytes, furrow_error *err) FURROW_MUST_USE;

#endif
