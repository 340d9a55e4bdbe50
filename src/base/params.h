/* base/params.h: structs of callers that may be shorter than the library's own, because their headers are older.
 *
 * Such a struct begins with size_t size, set by its inline _init (furrow/status.h says what callers are promised):
 *
 *   furrow_x_params p;
 *   furrow_x_params_init(&p);
 *   FW_TRY(FW_PARAMS_READ(&p, given, furrow_x_params, err)); */
#ifndef FW_BASE_PARAMS_H
#define FW_BASE_PARAMS_H

#include "furrow/status.h"

/* Copies what the caller's struct has over `params`, which holds the defaults; given NULL: they stay. E_ARGUMENT: not
 * initialised; E_UNSUPPORTED: larger than `size`, so of a newer header. */
furrow_status fw_params_read(void *params, size_t size, const void *given, const char *name,
                             furrow_error *err) FURROW_MUST_USE;
#define FW_PARAMS_READ(params, given, type, err) fw_params_read((params), sizeof(type), (given), #type, (err))

/* Copies an info into the caller's struct as far as that reaches; its size stays, what only it has becomes 0. A struct
 * whose size is 0 was not initialised: nothing of it is written. */
void fw_info_write(void *info, const void *full, size_t size);

#endif
