/* model/meta/meta_fields.c: the fields of metadata and their limits. */
#include <stdio.h>
#include <string.h>

#include "model/meta/meta.h"

#define MATRIX(name, kind, field, least, most, angel1) \
  { name, FW_META_##kind, offsetof(furrow_matrix_meta, field), least, most, angel1 }
#define PART(name, kind, field, least, most, angel1) \
  { name, FW_META_##kind, offsetof(furrow_partition_meta, field), least, most, angel1 }
#define ROW(name, kind, field, least, most, angel1) \
  { name, FW_META_##kind, offsetof(furrow_matrix_row_meta, field), least, most, angel1 }

/* Angel 1.x numbers row types differently; its reader converts them. */
static const fw_meta_field matrix_fields[] = {
    MATRIX("matrixId", I32, matrix_id, INT32_MIN, INT32_MAX, true),
    MATRIX("matrixName", TEXT, matrix_name, 0, 0, true),
    MATRIX("formatClassName", TEXT, format_class_name, 0, 0, false),
    MATRIX("rowType", I32, row_type, 0, FURROW_MATRIX_ROW_TYPES - 1, true),
    MATRIX("row", I32, row, 0, INT32_MAX, true),
    MATRIX("col", I64, col, -1, INT64_MAX, true),
    MATRIX("blockRow", I32, block_row, -1, INT32_MAX, true),
    MATRIX("blockCol", I64, block_col, -1, INT64_MAX, true),
    MATRIX("options", OPTIONS, options, 0, 0, true),
    MATRIX("partMetas", PARTS, parts, 0, 0, true),
};

/* nnz is only informative; Angel may not know it. */
static const fw_meta_field part_fields[] = {
    PART("partId", I32, part_id, 0, INT32_MAX, true),
    PART("startRow", I32, start_row, 0, INT32_MAX, true),
    PART("endRow", I32, end_row, 0, INT32_MAX, true),
    PART("startCol", I64, start_col, INT64_MIN, INT64_MAX, true),
    PART("endCol", I64, end_col, INT64_MIN, INT64_MAX, true),
    PART("nnz", I64, nnz, -1, INT64_MAX, true),
    PART("saveRowNum", I32, save_row_num, 0, INT32_MAX, false),
    PART("saveColNum", I32, save_col_num, 0, INT32_MAX, false),
    PART("saveColElemNum", I32, save_col_elem_num, 0, INT32_MAX, false),
    PART("fileName", TEXT, file_name, 0, 0, true),
    PART("offset", I64, offset, 0, INT64_MAX, true),
    PART("length", I64, length, 0, INT64_MAX, true),
    PART("rowMetas", ROWS, rows, 0, 0, true),
};

static const fw_meta_field row_fields[] = {
    ROW("rowId", I32, row_id, 0, INT32_MAX, true),
    ROW("offset", I64, offset, -1, INT64_MAX, true),
    ROW("elementNum", I32, element_num, 0, INT32_MAX, false),
    ROW("saveType", I32, save_type, 0, INT32_MAX, false),
};

#define FIELDS(list) \
  { sizeof(list) / sizeof(list)[0], list }
const fw_meta_fields fw_matrix_fields = FIELDS(matrix_fields);
const fw_meta_fields fw_part_fields = FIELDS(part_fields);
const fw_meta_fields fw_row_fields = FIELDS(row_fields);

int64_t fw_meta_get(const fw_meta_field *field, const void *object) {
  const char *place = (const char *)object + field->place;
  int64_t wide = 0;
  int32_t narrow = 0;
  if (field->kind == FW_META_I32) {
    memcpy(&narrow, place, sizeof narrow);
    return narrow;
  }
  memcpy(&wide, place, sizeof wide);
  return wide;
}

void fw_meta_set(const fw_meta_field *field, void *object, int64_t value) {
  char *place = (char *)object + field->place;
  const int32_t narrow = (int32_t)value;
  if (field->kind == FW_META_I32)
    memcpy(place, &narrow, sizeof narrow);
  else
    memcpy(place, &value, sizeof value);
}

const char *fw_meta_number_fault(const fw_meta_field *field, int64_t value, char text[80]) {
  if (value >= field->least && value <= field->most) return NULL;
  if (value < 0 && field->least == 0) return "is negative";
  snprintf(text, 80, "is outside of %lld … %lld", (long long)field->least, (long long)field->most);
  return text;
}

static const char *file_fault(const char *name) {
  if (!name[0]) return "is empty";
  if (strchr(name, '/') || strchr(name, '\\')) return "leads out of the folder";
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return "is a folder";
  if (strlen(name) > 255) return "is too long";
  if (strcmp(name, "_meta") == 0 || strcmp(name, "meta") == 0 || strncmp(name, "psmeta", 6) == 0)
    return "is the name of metadata";
  for (const char *p = name; *p; p++)
    if ((unsigned char)*p < ' ') return "has a control character";
  return NULL;
}

static const fw_meta_field *part_field(size_t place) {
  size_t i = 0;
  while (part_fields[i].place != place) i++;
  return &part_fields[i];
}

const char *fw_meta_part_fault(const furrow_partition_meta *part, const fw_meta_field **field) {
  const char *fault = NULL;
  size_t place = 0;
  if (part->end_row < part->start_row) {
    place = offsetof(furrow_partition_meta, end_row);
    fault = "is less than startRow";
  } else if (part->end_col < part->start_col) {
    place = offsetof(furrow_partition_meta, end_col);
    fault = "is less than startCol";
  } else if (part->length > INT64_MAX - part->offset) {
    place = offsetof(furrow_partition_meta, length);
    fault = "leads beyond any file";
  } else {
    place = offsetof(furrow_partition_meta, file_name);
    fault = file_fault(part->file_name);
  }
  if (fault) *field = part_field(place);
  return fault;
}

const char *fw_meta_rows_fault(const furrow_partition_meta *part, fw_meta_positions *rows, char text[120],
                               uint64_t *at) {
  for (size_t i = 0; i < rows->count; i++) {
    const int32_t row = (int32_t)rows->items[i].key;
    if (row >= part->start_row && row < part->end_row) continue;
    snprintf(text, 120, "has row %d, but the partition begins with row %d and ends before row %d", row, part->start_row,
             part->end_row);
    *at = rows->items[i].at;
    return text;
  }
  const fw_meta_position *twice = fw_meta_positions_duplicate(rows);
  if (!twice) return NULL;
  snprintf(text, 120, "has row %d twice", (int32_t)twice->key);
  *at = twice->at;
  return text;
}
