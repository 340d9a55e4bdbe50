/* columns/parquet_out.h: batches of columns become a Parquet file, which DuckDB's library writes as they come. */
#ifndef FW_COLUMNS_PARQUET_OUT_H
#define FW_COLUMNS_PARQUET_OUT_H

#include "furrow/arrow.h"
#include "furrow/status.h"

typedef struct fw_parquet_out fw_parquet_out;

/* path: a file that exists and is empty, or any name; it is complete after fw_parquet_out_finish, and no file of use
 * before. schema: of the batches; it is taken, also after a failure. E_NOT_FOUND: DuckDB's library is missing. */
furrow_status fw_parquet_out_open(fw_parquet_out **out, const char *path, struct ArrowSchema *schema,
                                  furrow_error *err) FURROW_MUST_USE;
/* Takes a batch of rows, also after a failure, and waits while DuckDB is busy with the one before. E_IO: DuckDB cannot
 * write. */
furrow_status fw_parquet_out_add(fw_parquet_out *out, struct ArrowArray *batch, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_parquet_out_finish(fw_parquet_out *out, furrow_error *err) FURROW_MUST_USE;
/* Ends the writing, whether it is complete or not. Accepts NULL. */
void fw_parquet_out_close(fw_parquet_out *out);

#endif
