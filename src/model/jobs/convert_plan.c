/* model/jobs/convert_plan.c: plans the conversion of a matrix: copy it, or write it with these partitions and files. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/jobs/convert.h"
#include "model/jobs/verify.h"
#include "model/read/source.h"

#define RANGE_START "feature.index.range.start"
#define RANGE_END "feature.index.range.end"

bool fw_selection_narrows(const furrow_matrix_selection *selection) {
  return selection->first_col != INT64_MIN || selection->end_col != INT64_MAX;
}

static bool selects(const furrow_matrix_selection *selection) {
  return selection->rows || selection->part_ids || fw_selection_narrows(selection);
}

static bool asks_for_grid(const furrow_model_convert_params *params) {
  return params->part_rows > 0 || params->part_cols > 0 || params->hash_parts > 0;
}

static furrow_status check_params(const furrow_model_convert_params *params, furrow_error *err) {
  const char *wrong = params->part_rows < 0        ? "part_rows is negative"
                      : params->part_cols < 0      ? "part_cols is negative"
                      : params->hash_parts < 0     ? "hash_parts is negative"
                      : params->servers < 0        ? "servers is negative"
                      : params->parts_per_file < 0 ? "parts_per_file is negative"
                      : params->hash_parts > 0 && (params->part_rows > 0 || params->part_cols > 0)
                          ? "hash_parts cannot be used together with part_rows or part_cols"
                          : NULL;
  return wrong ? fw_fail(err, FURROW_E_ARGUMENT, "%s", wrong) : FURROW_OK;
}

/* ---- saved rows ---- */

static int compare_ids(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static bool has_id(const int32_t *ids, size_t count, int32_t id) {
  for (size_t i = 0; i < count; i++)
    if (ids[i] == id) return true;
  return false;
}

static bool takes_part(const furrow_matrix_selection *selection, int32_t part_id) {
  return !selection->part_ids || has_id(selection->part_ids, selection->part_count, part_id);
}

/* Sorts the ids and removes duplicates; returns how many are left. */
static size_t sort_ids(int32_t *ids, size_t count) {
  size_t n = 0;
  if (count > 1) qsort(ids, count, sizeof *ids, compare_ids);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || ids[i] != ids[i - 1]) ids[n++] = ids[i];
  return n;
}

/* Keeps the ids that are selected; ids ascend. */
static furrow_status choose_rows(const furrow_matrix_selection *selection, int32_t *ids, size_t *count,
                                 furrow_error *err) {
  if (!selection->rows) return FURROW_OK;
  int32_t *chosen;
  FW_TRY(FW_ALLOC(&chosen, selection->row_count, err));
  for (size_t i = 0; i < selection->row_count; i++) chosen[i] = selection->rows[i];
  const size_t chosen_count = sort_ids(chosen, selection->row_count);
  size_t n = 0;
  for (size_t i = 0; i < *count; i++)
    if (chosen_count > 0 && bsearch(&ids[i], chosen, chosen_count, sizeof *ids, compare_ids)) ids[n++] = ids[i];
  fw_free(chosen);
  if (n == 0 && *count > 0) return fw_fail(err, FURROW_E_NOT_FOUND, "none of the chosen rows is saved");
  *count = n;
  return FURROW_OK;
}

/* The selected rows of all partitions, ascending. */
static furrow_status list_rows(fw_convert_plan *plan, const furrow_matrix_meta *meta, furrow_error *err) {
  size_t count = 0, n = 0;
  for (size_t i = 0; i < meta->part_count; i++) count += meta->parts[i].row_count;
  FW_TRY(FW_ALLOC(&plan->rows, count, err));
  for (size_t i = 0; i < meta->part_count; i++)
    for (size_t r = 0; r < meta->parts[i].row_count && takes_part(&plan->selection, meta->parts[i].part_id); r++)
      plan->rows[n++] = meta->parts[i].rows[r].row_id;
  plan->row_count = sort_ids(plan->rows, n);
  return choose_rows(&plan->selection, plan->rows, &plan->row_count, err);
}

static bool keeps_row(const fw_convert_plan *plan, int32_t row) {
  return plan->row_count > 0 && bsearch(&row, plan->rows, plan->row_count, sizeof row, compare_ids) != NULL;
}

/* ---- the same partitions ---- */

static int compare_rows(const void *a, const void *b) {
  return compare_ids(&((const furrow_matrix_row_meta *)a)->row_id, &((const furrow_matrix_row_meta *)b)->row_id);
}

/* Keeps the selected rows and sorts them; the metadata lists them in the order of a hash map. */
static void keep_rows(const fw_convert_plan *plan, furrow_partition_meta *part) {
  size_t n = 0;
  for (size_t r = 0; r < part->row_count; r++)
    if (keeps_row(plan, part->rows[r].row_id)) part->rows[n++] = part->rows[r];
  part->row_count = n;
  if (n > 1) qsort(part->rows, n, sizeof *part->rows, compare_rows);
}

static furrow_status plan_same(fw_convert_plan *plan, const furrow_matrix_meta *meta, furrow_error *err) {
  size_t n = 0;
  FW_TRY(furrow_matrix_meta_copy(&plan->meta, meta, err));
  for (size_t i = 0; i < plan->meta->part_count; i++) {
    furrow_partition_meta *part = &plan->meta->parts[i];
    const bool had_rows = part->row_count > 0;
    if (!takes_part(&plan->selection, part->part_id)) continue;
    keep_rows(plan, part);
    if (plan->row_type->number != meta->row_type) part->nnz = 0;
    if (part->row_count > 0 || !had_rows) plan->meta->parts[n++] = *part;
  }
  plan->meta->part_count = n;
  plan->meta->format_class_name = plan->format->class_name;
  plan->meta->row_type = plan->row_type->number;
  plan->same_grid = true;
  return FURROW_OK;
}

/* ---- other partitions ---- */

typedef struct col_range {
  int64_t first, end;
} col_range;

/* The column range of the matrix: from its options or its width, extended by its range partitions. */
static col_range index_range(const furrow_matrix_meta *meta) {
  col_range range;
  fw_verify_columns(meta, &range.first, &range.end);
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    if (fw_part_is_hash(part)) continue;
    if (part->start_col < range.first) range.first = part->start_col;
    if (part->end_col > range.end) range.end = part->end_col;
  }
  return range;
}

static bool is_hash_matrix(const furrow_matrix_meta *meta) {
  return meta->part_count > 0 && fw_part_is_hash(&meta->parts[0]);
}

static furrow_status copy_options(const furrow_matrix_meta *meta, furrow_matrix_option **options, size_t *count,
                                  furrow_error *err) {
  FW_TRY(FW_ALLOC(options, meta->option_count, err));
  *count = 0;
  for (size_t i = 0; i < meta->option_count; i++)
    if (strcmp(meta->options[i].key, RANGE_START) != 0 && strcmp(meta->options[i].key, RANGE_END) != 0)
      (*options)[(*count)++] = meta->options[i];
  return FURROW_OK;
}

static void fill_spec(const fw_convert_plan *plan, const furrow_matrix_meta *meta,
                      const furrow_model_convert_params *params, col_range range, furrow_matrix_spec *spec) {
  furrow_matrix_spec_init(spec);
  spec->matrix_id = meta->matrix_id;
  spec->name = meta->matrix_name;
  spec->format = plan->format->class_name;
  spec->row_type = plan->row_type->number;
  spec->rows = meta->row;
  spec->first_col = range.first;
  if (range.end < range.first || __builtin_sub_overflow(range.end, range.first, &spec->cols)) spec->cols = -1;
  spec->saved_rows = plan->rows;
  spec->saved_row_count = plan->row_count;
  spec->hash_parts = params->hash_parts;
  if (spec->hash_parts == 0) {
    spec->block_rows = params->part_rows > 0 ? params->part_rows : meta->block_row > 0 ? meta->block_row : 0;
    spec->block_cols = params->part_cols > 0 ? params->part_cols : meta->block_col > 0 ? meta->block_col : 0;
  }
  if (params->servers > 0) spec->servers = params->servers;
  if (params->parts_per_file > 0) spec->parts_per_file = params->parts_per_file;
}

static bool is_same_part(const fw_convert_plan *plan, const furrow_partition_meta *a, const furrow_partition_meta *b) {
  size_t kept = 0;
  for (size_t r = 0; r < b->row_count; r++) kept += keeps_row(plan, b->rows[r].row_id);
  return a->part_id == b->part_id && a->start_row == b->start_row && a->end_row == b->end_row &&
         a->start_col == b->start_col && a->end_col == b->end_col && a->row_count == kept;
}

static bool is_same_grid(const fw_convert_plan *plan, const furrow_matrix_meta *meta) {
  if (plan->meta->part_count != meta->part_count) return false;
  for (size_t i = 0; i < meta->part_count; i++)
    if (!is_same_part(plan, &plan->meta->parts[i], &meta->parts[i])) return false;
  return true;
}

static furrow_status plan_other(fw_convert_plan *plan, const furrow_matrix_meta *meta,
                                const furrow_model_convert_params *params, furrow_error *err) {
  furrow_matrix_spec spec;
  furrow_matrix_option *options = NULL;
  size_t option_count = 0;
  col_range range = index_range(meta);
  if (fw_selection_narrows(&plan->selection)) {
    if (plan->selection.first_col > range.first) range.first = plan->selection.first_col;
    if (plan->selection.end_col < range.end) range.end = plan->selection.end_col;
    if (range.end <= range.first && meta->col >= 0)
      return fw_fail(err, FURROW_E_NOT_FOUND, "the matrix has none of the chosen columns");
  }
  furrow_status status = copy_options(meta, &options, &option_count, err);
  if (status != FURROW_OK) return status;
  fill_spec(plan, meta, params, range, &spec);
  spec.options = options;
  spec.option_count = option_count;
  status = furrow_matrix_plan(&plan->meta, &spec, err);
  fw_free(options);
  if (status == FURROW_OK) plan->meta->extra = meta->extra;
  return status;
}

/* ---- dense rows are as long as their partition is wide ---- */

static furrow_status fail_part(const furrow_matrix_source *source, furrow_error *err) {
  fw_error_set_file(err, source->meta_path);
  return FURROW_E_FORMAT;
}

/* An upper bound of the elements in a row of the partition, from the metadata and the size of the data. */
static uint64_t most_elements(const furrow_matrix_source *source, const fw_source_part *part) {
  uint64_t least = (uint64_t)part->meta->length; /* an element takes at least one byte */
  if (source->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN)
    return part->meta->save_col_num >= 0 ? (uint64_t)part->meta->save_col_num : least;
  for (size_t r = 0; r < part->meta->row_count; r++) {
    const furrow_matrix_row_meta *row = &part->meta->rows[r];
    const bool known_count = row->element_num >= 0 && row->save_type == 0;
    if (known_count && (uint64_t)row->element_num < least) least = (uint64_t)row->element_num;
  }
  return least;
}

/* Missing elements of a dense row are written as zeros, so a false width in the metadata would fill the disk. */
static furrow_status check_width(const furrow_matrix_source *source, const fw_source_part *part, furrow_error *err) {
  const furrow_partition_meta *meta = part->meta;
  const uint64_t width = (uint64_t)meta->end_col - (uint64_t)meta->start_col, most = most_elements(source, part);
  if (part->hash || meta->row_count == 0 || width <= most) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT,
          "partMetas/%d/endCol is %lld, so dense rows have %llu columns here, but one has no more than %llu elements",
          (int)meta->part_id, (long long)meta->end_col, (unsigned long long)width, (unsigned long long)most);
  return fail_part(source, err);
}

static furrow_status check_within(const furrow_matrix_source *source, const furrow_partition_meta *part, int64_t first,
                                  int64_t end, furrow_error *err) {
  const bool before = part->start_col < first;
  if (!before && part->end_col <= end) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "partMetas/%d/%s is %lld, but the columns of the matrix are %lld to %lld (end)",
          (int)part->part_id, before ? "startCol" : "endCol", (long long)(before ? part->start_col : part->end_col),
          (long long)first, (long long)end);
  return fail_part(source, err);
}

static furrow_status check_dense(const fw_convert_plan *plan, const furrow_matrix_source *source, furrow_error *err) {
  const bool was_dense = furrow_matrix_source_row_type(source)->dense;
  int64_t first, end;
  const bool known = fw_verify_columns(source->meta, &first, &end);
  furrow_status status = FURROW_OK;
  if (!was_dense && !plan->row_type->dense) return FURROW_OK;
  for (size_t i = 0; i < source->meta->part_count && status == FURROW_OK; i++) {
    const fw_source_part *part = &source->parts[i];
    if (known && !part->hash) status = check_within(source, part->meta, first, end, err);
    if (status == FURROW_OK && was_dense) status = check_width(source, part, err);
  }
  return status;
}

/* ---- the plan ---- */

static bool is_text(const furrow_matrix_format *format) {
  return format->flags & FURROW_MATRIX_FORMAT_TEXT;
}

static bool is_copy(const fw_convert_plan *plan, const furrow_matrix_source *source,
                    const furrow_model_convert_params *params) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const char *separator = params->write->separator;
  if (plan->format != furrow_matrix_source_format(source) || plan->row_type->number != meta->row_type) return false;
  if (params->write->angel_bytes && plan->format->encode) return false;
  if (params->source->row_order == FURROW_MATRIX_ROW_ORDER_LIST) return false; /* the rows have to be reordered */
  if (asks_for_grid(params) || params->servers > 0 || params->parts_per_file > 0 || selects(params->selection))
    return false;
  if (separator && is_text(plan->format) && strcmp(separator, furrow_matrix_source_separator(source)) != 0)
    return false;
  if (meta->origin == FURROW_META_PSMETA) return !params->write->meta_name; /* psmeta files cannot be renamed */
  return !params->source->format && params->source->row_type < 0;           /* otherwise the metadata has to change */
}

static furrow_status choose_formats(fw_convert_plan *plan, const furrow_matrix_source *source,
                                    const furrow_model_convert_params *params, furrow_error *err) {
  const char *name = params->format;
  furrow_status status = FURROW_OK;
  plan->format = furrow_matrix_source_format(source);
  plan->row_type = furrow_matrix_source_row_type(source);
  if (params->choose_format) status = params->choose_format(params->user, source, &name, err);
  if (status == FURROW_OK && name) status = furrow_matrix_format_find(name, &plan->format, err);
  if (status != FURROW_OK || params->row_type < 0) return status;
  plan->row_type = furrow_matrix_row_type_get(params->row_type);
  return plan->row_type ? FURROW_OK
                        : fw_fail(err, FURROW_E_ARGUMENT, "row_type %d does not exist", (int)params->row_type);
}

/* Takes names from the source if the caller sets none. psmeta files become a _meta file. */
static void choose_names(fw_convert_plan *plan, const furrow_matrix_source *source,
                         const furrow_model_convert_params *params) {
  const char *old = furrow_matrix_source_meta_name(source);
  plan->write = *params->write;
  if (!plan->write.separator) plan->write.separator = furrow_matrix_source_separator(source);
  if (plan->copy) {
    plan->meta_name =
        params->write->meta_name && strcmp(params->write->meta_name, old) != 0 ? params->write->meta_name : NULL;
  } else if (!plan->write.meta_name) {
    plan->write.meta_name = strcmp(old, "meta") == 0 ? old : "_meta";
  }
}

/* Completes psmeta metadata with the name and, as far as the partitions show it, the shape. */
static void complete_psmeta(furrow_matrix_meta *meta, const char *name) {
  if (!meta->matrix_name) meta->matrix_name = name;
  if (meta->origin != FURROW_META_PSMETA || meta->part_count == 0) return;
  const furrow_partition_meta *first = &meta->parts[0];
  const bool hash = fw_part_is_hash(first);
  meta->row = 0;
  meta->col = hash ? -1 : 0;
  meta->block_row = hash ? -1 : first->end_row - first->start_row;
  if (hash || __builtin_sub_overflow(first->end_col, first->start_col, &meta->block_col)) meta->block_col = -1;
  for (size_t i = 0; i < meta->part_count; i++) {
    if (meta->parts[i].end_row > meta->row) meta->row = meta->parts[i].end_row;
    if (!hash && meta->parts[i].end_col > meta->col) meta->col = meta->parts[i].end_col;
  }
}

static furrow_status plan_parts(fw_convert_plan *plan, const furrow_matrix_meta *known,
                                const furrow_model_convert_params *params, const char *name, furrow_error *err) {
  const bool cut = fw_selection_narrows(&plan->selection) && !is_hash_matrix(known);
  furrow_matrix_meta completed = *known;
  const furrow_matrix_meta *meta = &completed;
  complete_psmeta(&completed, name);
  furrow_status status = list_rows(plan, meta, err);
  if (status == FURROW_OK && (asks_for_grid(params) || cut)) {
    status = plan_other(plan, meta, params, err);
    if (status != FURROW_OK || !is_same_grid(plan, meta)) return status;
    furrow_matrix_meta_free(plan->meta);
    plan->meta = NULL;
  }
  if (status == FURROW_OK) status = plan_same(plan, meta, err);
  if (status != FURROW_OK) return status;
  if (params->servers == 0 && params->parts_per_file == 0) return FURROW_OK;
  return furrow_matrix_plan_files(plan->meta, params->servers ? params->servers : 1,
                                  params->parts_per_file ? params->parts_per_file : 5, err);
}

furrow_status fw_convert_plan_make(fw_convert_plan *plan, const furrow_matrix_source *source,
                                   const furrow_model_convert_params *params, const char *name, furrow_error *err) {
  *plan = (fw_convert_plan){.selection = *params->selection};
  furrow_status status = check_params(params, err);
  if (status == FURROW_OK && params->write->meta_name) status = fw_check_meta_name(params->write->meta_name, err);
  if (status == FURROW_OK) status = choose_formats(plan, source, params, err);
  if (status != FURROW_OK) return status;
  plan->copy = is_copy(plan, source, params);
  choose_names(plan, source, params);
  if (!plan->copy) status = check_dense(plan, source, err);
  if (status == FURROW_OK && !plan->copy)
    status = plan_parts(plan, furrow_matrix_source_meta(source), params, name, err);
  if (status != FURROW_OK) fw_convert_plan_clear(plan);
  return status;
}

void fw_convert_plan_clear(fw_convert_plan *plan) {
  furrow_matrix_meta_free(plan->meta);
  fw_free(plan->rows);
  plan->meta = NULL;
  plan->rows = NULL;
}
