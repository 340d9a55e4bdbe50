/* rows/encode/dictionary_image.c: the bytes of a dictionary file: header, records, then their sections. */
#include "rows/encode/dictionary_image.h"

#include "base/error.h"

void fw_put_u32(fw_buffer *out, uint32_t number) {
  unsigned char bytes[4];
  fw_put_le32(bytes, number);
  fw_buffer_append(out, bytes, sizeof bytes);
}

void fw_put_u64(fw_buffer *out, uint64_t number) {
  unsigned char bytes[8];
  fw_put_le64(bytes, number);
  fw_buffer_append(out, bytes, sizeof bytes);
}

void fw_put_f64(fw_buffer *out, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  fw_put_u64(out, bits);
}

static void align(fw_buffer *out) {
  while (out->size % 8 != 0 && out->missing == 0) fw_buffer_byte(out, 0);
}

/* Where the sections go, one behind the other. */
typedef struct place {
  uint64_t next;
} place;

/* The offset of the next section; 0: it is empty. */
static uint64_t put_section(place *p, const fw_buffer *section) {
  const uint64_t at = p->next;
  p->next += (section->size + 7) / 8 * 8;
  return section->size > 0 ? at : 0;
}

static void put_field(fw_buffer *out, place *p, const fw_field *field, const fw_field_image *image) {
  fw_put_u32(out, field->kind);
  fw_put_u32(out, field->side);
  fw_put_u32(out, field->hash_bits);
  fw_put_u32(out, 0);
  fw_put_u64(out, field->first);
  fw_put_u64(out, field->size);
  fw_put_u64(out, field->unknown);
  fw_put_u64(out, field->missing);
  fw_put_f64(out, field->mean);
  fw_put_f64(out, field->factor);
  fw_put_f64(out, field->newest);
  fw_put_u64(out, put_section(p, &image->texts));
  fw_put_u64(out, image->texts.size);
  fw_put_u64(out, put_section(p, &image->counts));
  fw_put_u64(out, put_section(p, &image->edges));
  fw_put_u64(out, image->edges.size / 8);
}

static void put_table(fw_buffer *out, place *p, const fw_joined_image *image) {
  fw_put_u64(out, put_section(p, &image->keys));
  fw_put_u64(out, image->keys.size);
  fw_put_u64(out, put_section(p, &image->offsets));
  fw_put_u64(out, image->index.size / 8);
  fw_put_u64(out, put_section(p, &image->index));
  fw_put_u64(out, put_section(p, &image->field));
  fw_put_u64(out, put_section(p, &image->value));
}

static void put_bytes(fw_buffer *out, const fw_buffer *section) {
  if (section->size > 0) fw_buffer_append(out, section->bytes, section->size);
  align(out);
}

/* In the order of put_section. */
static void put_sections(fw_buffer *out, const fw_dictionary_parts *parts) {
  for (size_t i = 0; i < parts->dictionary->count; i++) {
    put_bytes(out, &parts->fields[i].texts);
    put_bytes(out, &parts->fields[i].counts);
    put_bytes(out, &parts->fields[i].edges);
  }
  for (size_t i = 0; i < parts->schema->table_count; i++) {
    const fw_joined_image *t = &parts->tables[i];
    const fw_buffer *const sections[] = {&t->keys, &t->offsets, &t->index, &t->field, &t->value};
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) put_bytes(out, sections[k]);
  }
  put_bytes(out, &parts->history->offsets);
  put_bytes(out, &parts->history->items);
  put_bytes(out, &parts->history->times);
}

static void put_header(fw_buffer *out, const fw_dictionary_parts *parts, uint64_t schema) {
  const fw_dictionary *d = parts->dictionary;
  fw_buffer_append(out, FW_DICTIONARY_MAGIC, 8);
  fw_put_u32(out, FW_DICTIONARY_VERSION);
  fw_put_u32(out, (uint32_t)d->count);
  fw_put_u64(out, 0); /* size and digest are set at the end */
  fw_put_u64(out, 0);
  fw_put_u64(out, schema);
  fw_put_u64(out, d->features);
  fw_put_u64(out, d->records);
  fw_put_u32(out, (uint32_t)parts->schema->count);
  fw_put_u32(out, (uint32_t)parts->schema->table_count);
  fw_put_u64(out, parts->history->users);
}

furrow_status fw_dictionary_write(const fw_dictionary_parts *parts, fw_buffer *out, furrow_error *err) {
  const size_t fields = parts->dictionary->count, columns = parts->schema->count, tables = parts->schema->table_count;
  uint64_t schema = 0;
  place p = {FW_DICT_HEADER + fields * FW_DICT_FIELD + (columns * 4 + 7) / 8 * 8 + tables * FW_DICT_TABLE};
  fw_buffer records = {0};
  FW_TRY(fw_schema_digest(parts->schema, &schema, err));
  put_header(out, parts, schema);
  for (size_t i = 0; i < fields; i++) put_field(&records, &p, &parts->dictionary->fields[i], &parts->fields[i]);
  for (size_t i = 0; i < columns; i++) fw_put_u32(&records, (uint32_t)(parts->column_table[i] + 1)); /* SIZE_MAX: 0 */
  align(&records);
  for (size_t i = 0; i < tables; i++) put_table(&records, &p, &parts->tables[i]);
  fw_put_u64(out, put_section(&p, &parts->history->offsets));
  fw_put_u64(out, put_section(&p, &parts->history->items));
  fw_put_u64(out, put_section(&p, &parts->history->times));
  put_bytes(out, &records);
  const furrow_status status = fw_buffer_status(&records, err);
  fw_buffer_clear(&records);
  FW_TRY(status);
  put_sections(out, parts);
  FW_TRY(fw_buffer_status(out, err));
  fw_put_le64(out->bytes + FW_DICT_AT_SIZE, out->size);
  fw_put_le64(out->bytes + FW_DICT_AT_DIGEST,
              XXH3_64bits(out->bytes + FW_DICT_AT_SCHEMA, out->size - FW_DICT_AT_SCHEMA));
  return FURROW_OK;
}
