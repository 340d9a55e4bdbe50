/* vector/file/id_names_file.c: the names file next to an index. Its layout: docs/formats/index_names.md. */
#include "vector/data/id_names.h"
#include "vector/file/companion_file.h"

furrow_status furrow_id_names_load(furrow_id_names **names, const char *index_path, furrow_error *err) {
  void *object = NULL;
  const furrow_status status = fw_companion_load(&fw_names_kind, &object, index_path, err);
  if (status == FURROW_OK) *names = object;
  return status;
}

furrow_status furrow_id_names_save(const furrow_id_names *names, const char *index_path, furrow_error *err) {
  return fw_companion_save(&fw_names_kind, &names->file, index_path, err);
}

furrow_status furrow_id_names_discard(const char *index_path, furrow_error *err) {
  return fw_companion_discard(&fw_names_kind, index_path, err);
}
