/* io/table_file.c: tables of typed columns that a path names. */
#include "io/table_file.h"

#include "base/error.h"
#include "io/input.h"

furrow_status fw_table_file_open(fw_table_file *table, const char *path, furrow_error *err) {
  struct stat info;
  *table = (fw_table_file){0};
  FW_TRY(fw_memory_hold(path, FW_MEMORY_TABLE, &table->entry, err));
  if (table->entry) {
    table->columns = fw_memory_thing(table->entry);
    return FURROW_OK;
  }
  const bool local = fw_path_is_local(path);
  if (local)
    FW_TRY(fw_path_stat(path, &info, err));
  else
    FW_TRY(fw_fetched_open(&table->fetched, path, err));
  FW_TRY(fw_columns_of_parquet(&table->own, local ? path : fw_fetched_name(table->fetched), err));
  table->columns = table->own;
  return FURROW_OK;
}

void fw_table_file_close(fw_table_file *table) {
  fw_columns_free(table->own);
  fw_fetched_close(table->fetched);
  fw_memory_let_go(table->entry);
  *table = (fw_table_file){0};
}

furrow_status fw_table_is_in_memory(const char *path, bool *found, furrow_error *err) {
  fw_memory_entry *entry = NULL;
  FW_TRY(fw_memory_hold(path, FW_MEMORY_TABLE, &entry, err));
  *found = entry != NULL;
  fw_memory_let_go(entry);
  return FURROW_OK;
}
