/* rows/blockiter.h: the block iterator, with what tests need to turn. */
#ifndef FW_ROWS_BLOCKITER_H
#define FW_ROWS_BLOCKITER_H

#include "furrow/rows.h"

/* furrow_blockiter_open with the size at which records of the cache are cut; 0: the default. */
furrow_status fw_blockiter_open(furrow_blockiter **iter, const char *uri, const furrow_parser_params *params,
                                size_t record_bytes, furrow_error *err) FURROW_MUST_USE;

#endif
