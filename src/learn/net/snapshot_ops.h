/* learn/net/snapshot_ops.h: what a training makes, as bytes and back: a net, or a forest. For checkpoints and the best
 * epoch.
 */
#ifndef FW_LEARN_NET_SNAPSHOT_OPS_H
#define FW_LEARN_NET_SNAPSHOT_OPS_H

#include "learn/conf/conf.h"
#include "learn/net/snapshot.h"

typedef struct fw_snapshot_ops {
  const fw_plan *plan;
  size_t element; /* bytes of a number */
  void *object;
  furrow_status (*write)(const void *object, fw_snapshot_sink sink, void *to, furrow_error *err);
  /* Fills a new thing of the same plan; E_FORMAT: the bytes are not a snapshot of such an object. */
  furrow_status (*read)(void *object, const unsigned char *bytes, size_t size, furrow_error *err);
  /* Whether that would succeed; the thing stays as it is. */
  furrow_status (*check)(void *object, const unsigned char *bytes, size_t size, furrow_error *err);
} fw_snapshot_ops;

#endif
