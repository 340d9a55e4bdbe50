/* vector/file/attributes_file.c: the attributes file next to an index (docs/formats/index_attributes.md), and an index
 * that is loaded with everything that belongs to it. */
#include "base/error.h"
#include "furrow/io.h"
#include "vector/attributes/attribute_rows.h"
#include "vector/data/id_names.h"
#include "vector/file/companion_file.h"
#include "vector/file/index_read.h"

furrow_status furrow_attributes_load(furrow_attributes **attributes, const char *index_path, furrow_error *err) {
  void *object = NULL;
  const furrow_status status = fw_companion_load(&fw_attributes_kind, &object, index_path, err);
  if (status == FURROW_OK) *attributes = object;
  return status;
}

furrow_status furrow_attributes_save(const furrow_attributes *attributes, const char *index_path, furrow_error *err) {
  return fw_companion_save(&fw_attributes_kind, &attributes->file, index_path, err);
}

furrow_status furrow_attributes_discard(const char *index_path, furrow_error *err) {
  return fw_companion_discard(&fw_attributes_kind, index_path, err);
}

/* ---- With its index ------------------------------------------------------------------------------------- */

furrow_status fw_id_names_load_if_there(furrow_id_names **names, const char *path, furrow_error *err) {
  const furrow_status status = furrow_id_names_load(names, path, err);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

furrow_status fw_attributes_load_if_there(furrow_attributes **attributes, const char *path, furrow_error *err) {
  const furrow_status status = furrow_attributes_load(attributes, path, err);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

/* The stamp shows that names and attributes belong to the current file at the path. The watch shows whether that is the
 * file that was read; if not, what does not match is a result of the replacement. attributes NULL: not wanted. */
static furrow_status load_with(furrow_index **index, furrow_id_names **names, furrow_attributes **attributes,
                               const char *path, const furrow_index_load_params *params, furrow_error *err) {
  furrow_path_watch *watch = NULL;
  furrow_index *loaded = NULL;
  furrow_id_names *found = NULL;
  furrow_attributes *described = NULL;
  FW_TRY(furrow_path_watch_begin(&watch, path, err));
  furrow_status status = furrow_index_load(&loaded, path, params, err);
  if (status == FURROW_OK) status = fw_id_names_load_if_there(&found, path, err);
  if (status == FURROW_OK && attributes) status = fw_attributes_load_if_there(&described, path, err);
  status = furrow_path_watch_end(watch, status, err);
  if (status == FURROW_OK) {
    *index = loaded;
    *names = found;
    if (attributes) *attributes = described;
  } else {
    furrow_index_free(loaded);
    furrow_id_names_free(found);
    furrow_attributes_free(described);
  }
  return status;
}

furrow_status furrow_index_load_with_names(furrow_index **index, furrow_id_names **names, const char *path,
                                           const furrow_index_load_params *params, furrow_error *err) {
  return load_with(index, names, NULL, path, params, err);
}

furrow_status furrow_index_load_with_attributes(furrow_index **index, furrow_id_names **names,
                                                furrow_attributes **attributes, const char *path,
                                                const furrow_index_load_params *params, furrow_error *err) {
  return load_with(index, names, attributes, path, params, err);
}
