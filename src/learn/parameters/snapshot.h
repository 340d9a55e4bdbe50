/* learn/parameters/snapshot.h: the numbers of parameters and forests as bytes in a fixed order (little endian), for
 * checkpoints and the best epoch: docs/formats/checkpoint.md. */
#ifndef FW_LEARN_PARAMETERS_SNAPSHOT_H
#define FW_LEARN_PARAMETERS_SNAPSHOT_H

#include <stddef.h>

#include "learn/parameters/parameters.h"

/* Receives the bytes of a snapshot in sequence. */
typedef furrow_status (*fw_snapshot_sink)(void *to, const void *bytes, size_t size, furrow_error *err);

/* Copies numbers of `size` bytes (1, 4, 8) between memory and a snapshot, either way. */
void fw_snapshot_copy(void *to, const void *from, size_t count, size_t size);
/* Passes numbers to the sink, some at a time. */
furrow_status fw_snapshot_write(const void *numbers, size_t count, size_t size, fw_snapshot_sink sink, void *to,
                                furrow_error *err) FURROW_MUST_USE;

/* A snapshot among other bytes: in memory or in a file. */
typedef struct fw_snapshot_range {
  /* Reads bytes within the range. */
  furrow_status (*read)(const void *from, uint64_t at, void *bytes, size_t size, furrow_error *err);
  const void *from;
  uint64_t begin, end;
  unsigned rank, ranks; /* it has the features of this rank; 0 of 1: all features */
  bool dense;           /* it begins with the dense arrays */
} fw_snapshot_range;

/* Parameters or a forest in training, as bytes and back. */
typedef struct fw_snapshot_ops {
  const fw_plan *plan;
  size_t element; /* bytes of a number */
  void *object;
  furrow_status (*write)(const void *object, fw_snapshot_sink sink, void *to, furrow_error *err);
  /* Fills a new object of the same plan; E_FORMAT: the bytes are not a snapshot of such an object. */
  furrow_status (*read)(void *object, const unsigned char *bytes, size_t size, furrow_error *err);
  /* Whether that would succeed; the object stays as it is. */
  furrow_status (*check)(void *object, const unsigned char *bytes, size_t size, furrow_error *err);
  /* NULL where every rank has the whole object. Otherwise fills in the object's own features from a snapshot of any
   * rank; *taken grows by the number of features. The other two say how many features the object has, and how many
   * bytes at the beginning of its snapshot are the same on every rank. */
  furrow_status (*take)(void *object, const fw_snapshot_range *range, uint64_t *taken, furrow_error *err);
  uint64_t (*count)(const void *object);
  uint64_t dense_bytes;
} fw_snapshot_ops;

/* ---- Parameters ---- */

/* All numbers, the optimizers' included: each dense array, then its own features by ascending key: their
 * number, their keys unless the range is known, and the numbers of each. */
furrow_status fw_parameters_snapshot_write(const fw_parameters *p, fw_snapshot_sink sink, void *to,
                                           furrow_error *err) FURROW_MUST_USE;
/* Fills in parameters of the same plan. They must not have a feature yet that the snapshot does not have. E_FORMAT: the
 * bytes are not a snapshot of such parameters; the error has the offset of the wrong byte. */
furrow_status fw_parameters_snapshot_read(fw_parameters *p, const unsigned char *bytes, size_t size,
                                          furrow_error *err) FURROW_MUST_USE;
/* Whether that would succeed; the parameters stay as they are. */
furrow_status fw_parameters_snapshot_check(fw_parameters *p, const unsigned char *bytes, size_t size,
                                           furrow_error *err) FURROW_MUST_USE;
/* The same of a snapshot of any rank, some bytes at a time: features of other ranks are left out. *taken grows by the
 * number of features that are this rank's own. fill false: the parameters stay as they are. Offsets of errors count
 * from range->begin. */
furrow_status fw_parameters_snapshot_take(fw_parameters *p, const fw_snapshot_range *range, bool fill, uint64_t *taken,
                                          furrow_error *err) FURROW_MUST_USE;
/* The parameters as checkpoints take them. */
fw_snapshot_ops fw_parameters_snapshot_ops(fw_parameters *p);

#endif
