/* learn/net/net_snapshot.h: all numbers of a net, its optimizers' included, as bytes: for checkpoints and the best
 * epoch.
 *
 * Bytes (docs/formats/checkpoint.md): each dense array, then the features by ascending key: their number, their keys
 * unless the range is known, and the numbers of each. */
#ifndef FW_LEARN_NET_NET_SNAPSHOT_H
#define FW_LEARN_NET_NET_SNAPSHOT_H

#include "learn/net/net.h"
#include "learn/net/snapshot_ops.h"

/* Bytes of a number of the net: 4 or 8. */
size_t fw_net_element_size(const fw_net *net);
furrow_status fw_net_snapshot_write(const fw_net *net, fw_snapshot_sink sink, void *to,
                                    furrow_error *err) FURROW_MUST_USE;
/* Fills a net of the same plan that has no feature yet that the image does not have. E_FORMAT: the bytes are not those
 * of such a net; the offset is that of the wrong byte. */
furrow_status fw_net_snapshot_read(fw_net *net, const unsigned char *bytes, size_t size,
                                   furrow_error *err) FURROW_MUST_USE;
/* Whether that would succeed; the net stays as it is. */
furrow_status fw_net_snapshot_check(fw_net *net, const unsigned char *bytes, size_t size,
                                    furrow_error *err) FURROW_MUST_USE;
/* The net as checkpoints take it. */
fw_snapshot_ops fw_net_snapshot_ops(fw_net *net);

#endif
