/* vector/data/vectors_table.h: vectors of a column of a table: Parquet files, queries, Arrow in memory. */
#ifndef FW_VECTOR_DATA_VECTORS_TABLE_H
#define FW_VECTOR_DATA_VECTORS_TABLE_H

#include "vector/data/vectors_in.h"

/* Whether a path, or the name of a kind (NULL: none is given), says that there is a table. */
furrow_status fw_vectors_are_table(const char *path, const char *kind, bool *table, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_table_vectors_open(furrow_vectors_reader **vectors, const char *path,
                                    const furrow_vectors_reader_params *params, furrow_error *err) FURROW_MUST_USE;

#endif
