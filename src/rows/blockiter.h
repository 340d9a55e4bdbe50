/* rows/blockiter.h: internal interface of block iterators. */
#ifndef FW_ROWS_BLOCKITER_H
#define FW_ROWS_BLOCKITER_H

#include "furrow/rows.h"
#include "io/uri.h"

/* furrow_blockiter_open for a parsed URI. record_bytes is the size at which a record of the cache ends; 0: the
 * default. */
furrow_status fw_blockiter_open(furrow_blockiter **iter, const fw_uri *uri, const furrow_parser_params *params,
                                size_t record_bytes, furrow_error *err) FURROW_MUST_USE;

#endif
