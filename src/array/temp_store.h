/* array/temp_store.h: bytes that wait until their file is ready for them: in memory while they are few, then in a
 * nameless file in the same directory. */
#ifndef FW_ARRAY_TEMP_STORE_H
#define FW_ARRAY_TEMP_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

typedef struct fw_temp_store fw_temp_store;

/* near_path: a path in the directory where the nameless file is created. */
furrow_status fw_temp_store_open(fw_temp_store **store, const char *near_path, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_temp_store_write(fw_temp_store *store, const void *data, size_t size,
                                  furrow_error *err) FURROW_MUST_USE;
uint64_t fw_temp_store_size(const fw_temp_store *store);

typedef furrow_status (*fw_temp_store_sink)(void *context, const void *data, size_t size, furrow_error *err);
/* Passes all bytes to the sink, in chunks. */
furrow_status fw_temp_store_drain(fw_temp_store *store, fw_temp_store_sink sink, void *context,
                                  furrow_error *err) FURROW_MUST_USE;
void fw_temp_store_close(fw_temp_store *store);

#endif
