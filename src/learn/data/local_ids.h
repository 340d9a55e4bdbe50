/* learn/data/local_ids.h: the different features of a batch, numbered in the order of their first appearance. */
#ifndef FW_LEARN_DATA_LOCAL_IDS_H
#define FW_LEARN_DATA_LOCAL_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/rows.h"

typedef struct fw_local_ids {
  uint64_t *key; /* of each number */
  size_t count, capacity;
  uint64_t range; /* keys must be below; 0: open */
  /* For a known range that is not too large: an array over it, its own or another fw_local_ids' array */
  struct fw_local_id_array *array, *own;
  /* Else a table, searched from a key's hash on */
  struct fw_local_id_entry *table;
  uint64_t seed;  /* of hashes */
  unsigned shift; /* 64 - log2(size of the table) */
  uint32_t stamp; /* of this batch */
} fw_local_ids;

/* Initializes the caller's struct; to be cleared after a failure, too. `beside` (may be NULL) is another one with the
 * same range, which must outlive this one and shares its array with it, so that both use the same cache lines. Then
 * only one of them may be in use at a time, from start to finish. */
furrow_status fw_local_ids_init(fw_local_ids *local_ids, uint64_t range, const fw_local_ids *beside,
                                furrow_error *err) FURROW_MUST_USE;
void fw_local_ids_clear(fw_local_ids *local_ids);

/* Starts a batch: no key has a number. */
void fw_local_ids_start(fw_local_ids *local_ids);
/* Reserves memory for n more keys. */
furrow_status fw_local_ids_reserve(fw_local_ids *local_ids, size_t n, furrow_error *err) FURROW_MUST_USE;
/* E_RANGE: the key is beyond the range (0: there is none). */
furrow_status fw_local_ids_check(uint64_t range, uint64_t largest, furrow_error *err) FURROW_MUST_USE;
/* Takes the features of a row, for which there must be capacity. E_RANGE: one is beyond the range. */
furrow_status fw_local_ids_add(fw_local_ids *local_ids, const furrow_row *row, uint32_t *number,
                               furrow_error *err) FURROW_MUST_USE;
/* Ends the batch: fills `number` with the numbers of all rows' features, in the order of the calls of
 * fw_local_ids_add. */
furrow_status fw_local_ids_finish(fw_local_ids *local_ids, uint32_t *number, size_t uses,
                                  furrow_error *err) FURROW_MUST_USE;

#endif
