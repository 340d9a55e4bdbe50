/* learn/parameters/column_exchange.h: weights of features from the ranks that have them to the ranks that write them.
 *
 * The columns of a partition follow each other, while rank key % ranks has the weights of feature `key`. The exchange
 * goes in rounds: every rank asks for some columns of the partition that it writes, and every rank sends it those of
 * its own features, at most as many as fit a buffer. No rank keeps more than its own features and that buffer. */
#ifndef FW_LEARN_PARAMETERS_COLUMN_EXCHANGE_H
#define FW_LEARN_PARAMETERS_COLUMN_EXCHANGE_H

#include "learn/parameters/parameters.h"

/* What a rank asks for in a round. */
typedef struct fw_column_request {
  int64_t start, end;   /* columns start … end-1; none: the rank has all that it needs */
  uint32_t first, rows; /* numbers first … first+rows-1 of each */
  uint64_t failed;      /* the rank cannot go on */
} fw_column_request;

/* What a rank has sent: features by ascending key, and `rows` numbers of each. */
typedef struct fw_columns_part {
  const uint64_t *keys;
  const char *numbers;
  size_t count;
} fw_columns_part;

typedef struct fw_column_exchange fw_column_exchange;

/* `keys` are the rank's own features, ascending. A round brings at most `numbers` numbers, but one column at least from
 * each rank. Collective, as every call but free. */
furrow_status fw_column_exchange_create(fw_column_exchange **exchange, const fw_parameters *p, size_t parameter,
                                        const uint64_t *keys, size_t count, size_t numbers,
                                        furrow_error *err) FURROW_MUST_USE;
void fw_column_exchange_free(fw_column_exchange *exchange);

/* Columns that a request of so many rows may span, so that a round brings all features among them. */
size_t fw_column_exchange_span(const fw_column_exchange *exchange, size_t rows);
/* One round. *parts has an entry for each rank, valid until the next round; together they have all features of columns
 * start … *end-1. *done: no rank asks for anything any more. `mine` is a failure of this rank: all ranks
 * return it. */
furrow_status fw_column_exchange_run(fw_column_exchange *exchange, const fw_column_request *request, furrow_status mine,
                                     const fw_columns_part **parts, int64_t *end, bool *done,
                                     furrow_error *err) FURROW_MUST_USE;

/* The first of ascending keys that is not below `col`. */
size_t fw_first_key(const uint64_t *keys, size_t count, int64_t col);

#endif
