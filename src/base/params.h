/* base/params.h: structs of callers that may be shorter than the library's own, because the callers' headers are
 * older.
 *
 * Such a struct begins with size_t size, set by its inline _init (furrow/status.h states the contract):
 *
 *   furrow_x_params p;
 *   furrow_x_params_init(&p);
 *   FW_TRY(FW_PARAMS_READ(&p, given, furrow_x_params, err)); */
#ifndef FW_BASE_PARAMS_H
#define FW_BASE_PARAMS_H

#include "furrow/status.h"

/* Copies the fields of the caller's struct over `params`, which holds the defaults. given NULL: the defaults stay.
 * E_ARGUMENT: not initialised; E_UNSUPPORTED: larger than `size`, so it comes from a newer header. */
furrow_status fw_params_read(void *params, size_t size, const void *given, const char *name,
                             furrow_error *err) FURROW_MUST_USE;
#define FW_PARAMS_READ(params, given, type, err) fw_params_read((params), sizeof(type), (given), #type, (err))

/* Copies an info into the caller's struct, up to the smaller of the two sizes. The caller's `size` is kept, and
 * fields that only the caller's struct has become 0. A struct whose size is 0 was not initialised: nothing of it is
 * written. */
void fw_info_write(void *info, const void *full, size_t size);

#endif
