/* array/spool.h: bytes that wait until the file they belong to is ready for them: in memory while they are few, then
 * in a nameless file beside it. */
#ifndef FW_ARRAY_SPOOL_H
#define FW_ARRAY_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

typedef struct fw_spool fw_spool;

/* beside: the path of a file in whose folder there is room. */
furrow_status fw_spool_open(fw_spool **spool, const char *beside, furrow_error *err)
    __attribute__((warn_unused_result));
furrow_status fw_spool_write(fw_spool *spool, const void *data, size_t size, furrow_error *err)
    __attribute__((warn_unused_result));
uint64_t fw_spool_size(const fw_spool *spool);

typedef furrow_status (*fw_spool_sink)(void *context, const void *data, size_t size, furrow_error *err);
/* Hands all bytes on, in pieces. */
furrow_status fw_spool_drain(fw_spool *spool, fw_spool_sink sink, void *context, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_spool_close(fw_spool *spool);

#endif
