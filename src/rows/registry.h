/* rows/registry.h: formats by name. */
#ifndef FW_ROWS_REGISTRY_H
#define FW_ROWS_REGISTRY_H

#include "rows/text/format.h"

/* Finds a format by name, like furrow_rows_format_find. *format is a copy; for a registered format only .public is
 * set. */
furrow_status fw_format_find(const char *name, fw_format *format, furrow_error *err) FURROW_MUST_USE;
/* furrow_rows_format_register for all of them, or for none. */
furrow_status fw_rows_formats_register(const furrow_rows_format *const *formats, size_t count,
                                       furrow_error *err) FURROW_MUST_USE;
/* Undoes a registration that was just made. */
void fw_rows_formats_remove(const furrow_rows_format *const *formats, size_t count);
/* "libsvm, libfm, …": for messages. */
void fw_format_names(char *text, size_t size);

#endif
