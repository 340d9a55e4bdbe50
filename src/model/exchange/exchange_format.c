/* model/exchange/exchange_format.c: finds exchange formats by name and by file extension; lists the arrays in a
 * file. */
#include <string.h>

#include "array/array.h"
#include "array/npy.h"
#include "array/safetensors.h"
#include "array/zip.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/exchange_job.h"

static const struct {
  const char *name, *ending;
} formats[] = {
#define FURROW_X(name, text, ending, about) {text, ending},
    FURROW_EXCHANGE_FORMATS(FURROW_X)
#undef FURROW_X
};
#define FORMATS (sizeof formats / sizeof formats[0])

#define FURROW_X(name, text, ending, about) " " text
#define FORMATS_HINT "the formats are" FURROW_EXCHANGE_FORMATS(FURROW_X)

furrow_status furrow_exchange_format_find(const char *name, furrow_exchange_format *format, furrow_error *err) {
  for (size_t i = 0; i < FORMATS; i++) {
    if (strcmp(formats[i].name, name) != 0) continue;
    *format = (furrow_exchange_format)(i + 1);
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "no such format");
  fw_error_set_hint(err, FORMATS_HINT);
  fw_error_set_token(err, name, strlen(name));
  return FURROW_E_ARGUMENT;
}

const char *furrow_exchange_format_name(furrow_exchange_format format) {
  const size_t i = (size_t)format - 1;
  return i < FORMATS ? formats[i].name : "?";
}

furrow_status fw_exchange_format_of(furrow_exchange_format *format, const char *path, furrow_error *err) {
  const size_t length = strlen(path);
  if (*format != FURROW_EXCHANGE_AUTO) {
    if ((size_t)*format <= FORMATS) return FURROW_OK;
    return fw_fail(err, FURROW_E_ARGUMENT, "params.format is not a format");
  }
  for (size_t i = 0; i < FORMATS; i++) {
    const size_t n = strlen(formats[i].ending);
    if (length <= n || strcmp(path + length - n, formats[i].ending) != 0) continue;
    *format = (furrow_exchange_format)(i + 1);
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "the file name does not have the extension of a known format");
  fw_error_set_hint(err, FORMATS_HINT);
  fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_exchange_ids_path(char **copy, const char *path, const char *ids, furrow_error *err) {
  static const char ending[] = ".ids.npy";
  *copy = NULL;
  if (ids) return ids[0] ? fw_strndup(copy, ids, strlen(ids), err) : FURROW_OK;
  if (strcmp(path, "-") == 0) return FURROW_OK;
  const size_t length = strlen(path);
  FW_TRY(FW_ALLOC(copy, length + sizeof ending, err));
  memcpy(*copy, path, length);
  memcpy(*copy + length, ending, sizeof ending);
  return FURROW_OK;
}

/* ---- Arrays in a file of another program ----------------------------------------------------------------- */

typedef furrow_status (*array_visitor)(void *user, const furrow_array_info *array);

static furrow_status visit_array(const char *path, fw_array_kind kind, array_visitor visit, void *user,
                                 furrow_error *err) {
  fw_array_reader *reader = NULL;
  furrow_status status = fw_array_open(&reader, path, kind, err);
  if (status != FURROW_OK) return status;
  const fw_array_info *info = fw_array_get_info(reader);
  const uint64_t shape[2] = {info->rows, info->dim};
  status = visit(user, &(furrow_array_info){.file = fw_array_kind_get(kind)->ending + 1,
                                            .name = "",
                                            .type = fw_array_type_npy(info->type),
                                            .dimensions = info->flat ? 1 : 2,
                                            .shape = shape});
  fw_array_close(reader);
  return status;
}

static furrow_status visit_member(const fw_zip *zip, size_t member, array_visitor visit, void *user,
                                  furrow_error *err) {
  fw_bytes_in *in = NULL;
  fw_npy_header head;
  furrow_status status = fw_zip_member_open(zip, member, &in, err);
  if (status == FURROW_OK) status = fw_npy_read_header(&head, in, err);
  if (status == FURROW_OK)
    status =
        visit(user, &(furrow_array_info){"npz", fw_zip_name(zip, member), head.descr, head.dimensions, head.shape});
  fw_bytes_in_close(in);
  return status;
}

static furrow_status visit_npz(const char *path, array_visitor visit, void *user, furrow_error *err) {
  fw_zip *zip = NULL;
  furrow_status status = fw_zip_open(&zip, path, err);
  for (size_t i = 0; status == FURROW_OK && i < fw_zip_count(zip); i++) status = visit_member(zip, i, visit, user, err);
  fw_zip_close(zip);
  return status;
}

static furrow_status visit_tensors(const char *path, array_visitor visit, void *user, furrow_error *err) {
  fw_safetensors *file = NULL;
  furrow_status status = fw_safetensors_open(&file, path, err);
  for (size_t i = 0; status == FURROW_OK && i < fw_safetensors_count(file); i++) {
    const fw_tensor *t = fw_safetensors_tensor(file, i);
    status = visit(user, &(furrow_array_info){"safetensors", t->name, t->dtype, t->dimensions, t->shape});
  }
  fw_safetensors_close(file);
  return status;
}

furrow_status furrow_arrays_for_each(const char *path,
                                     furrow_status (*visit)(void *user, const furrow_array_info *array), void *user,
                                     furrow_error *err) {
  furrow_exchange_format format = FURROW_EXCHANGE_AUTO;
  fw_array_kind kind;
  if (fw_array_kind_of(&kind, path, err) == FURROW_OK) return visit_array(path, kind, visit, user, err);
  if (fw_exchange_format_of(&format, path, NULL) != FURROW_OK) return FURROW_E_ARGUMENT;
  if (format == FURROW_EXCHANGE_NPZ) return visit_npz(path, visit, user, err);
  if (format == FURROW_EXCHANGE_SAFETENSORS) return visit_tensors(path, visit, user, err);
  return FURROW_E_ARGUMENT; /* .tsv and .libsvm are text; err already names the kinds of arrays */
}
