/* learn/net/snapshot.h: arrays of numbers as bytes in a fixed order (little endian), for images of nets and forests. */
#ifndef FW_LEARN_NET_SNAPSHOT_H
#define FW_LEARN_NET_SNAPSHOT_H

#include <stddef.h>

#include "furrow/status.h"

/* Takes bytes one after the other. */
typedef furrow_status (*fw_snapshot_sink)(void *to, const void *bytes, size_t size, furrow_error *err);

/* Copies numbers of `size` bytes (1, 4, 8) between memory and an image, either way. */
void fw_snapshot_copy(void *to, const void *from, size_t count, size_t size);
/* Gives numbers to the sink, some at a time. */
furrow_status fw_snapshot_write(const void *numbers, size_t count, size_t size, fw_snapshot_sink sink, void *to,
                                furrow_error *err) FURROW_MUST_USE;

#endif
