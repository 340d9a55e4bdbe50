/* learn/net/snapshot.h: the numbers of nets and forests as bytes in a fixed order (little endian), for checkpoints and
 * the best epoch: docs/formats/checkpoint.md. */
#ifndef FW_LEARN_NET_SNAPSHOT_H
#define FW_LEARN_NET_SNAPSHOT_H

#include <stddef.h>

#include "learn/net/net.h"

/* Takes bytes one after the other. */
typedef furrow_status (*fw_snapshot_sink)(void *to, const void *bytes, size_t size, furrow_error *err);

/* Copies numbers of `size` bytes (1, 4, 8) between memory and a snapshot, either way. */
void fw_snapshot_copy(void *to, const void *from, size_t count, size_t size);
/* Passes numbers to the sink, some at a time. */
furrow_status fw_snapshot_write(const void *numbers, size_t count, size_t size, fw_snapshot_sink sink, void *to,
                                furrow_error *err) FURROW_MUST_USE;

/* A net or a forest in training, as bytes and back. */
typedef struct fw_snapshot_ops {
  const fw_plan *plan;
  size_t element; /* bytes of a number */
  void *object;
  furrow_status (*write)(const void *object, fw_snapshot_sink sink, void *to, furrow_error *err);
  /* Fills a new object of the same plan; E_FORMAT: the bytes are not a snapshot of such an object. */
  furrow_status (*read)(void *object, const unsigned char *bytes, size_t size, furrow_error *err);
  /* Whether that would succeed; the object stays as it is. */
  furrow_status (*check)(void *object, const unsigned char *bytes, size_t size, furrow_error *err);
} fw_snapshot_ops;

/* ---- Nets ---- */

/* All numbers of a net, its optimizers' included: each dense array, then the features by ascending key: their number,
 * their keys unless the range is known, and the numbers of each. */
furrow_status fw_net_snapshot_write(const fw_net *net, fw_snapshot_sink sink, void *to,
                                    furrow_error *err) FURROW_MUST_USE;
/* Fills a net of the same plan that has no feature yet that the snapshot does not have. E_FORMAT: the bytes are not
 * those of such a net; the offset is that of the wrong byte. */
furrow_status fw_net_snapshot_read(fw_net *net, const unsigned char *bytes, size_t size,
                                   furrow_error *err) FURROW_MUST_USE;
/* Whether that would succeed; the net stays as it is. */
furrow_status fw_net_snapshot_check(fw_net *net, const unsigned char *bytes, size_t size,
                                    furrow_error *err) FURROW_MUST_USE;
/* The net as checkpoints take it. */
fw_snapshot_ops fw_net_snapshot_ops(fw_net *net);

#endif
