/* rows/encode/encoder.c: loads, saves and queries encoders; encodes one user or one item. */
#include "rows/encode/encoder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "io/atomic_dir.h"
#include "io/atomic_file.h"
#include "io/dir_names.h"
#include "io/target.h"
#include "rows/block/elements.h"

/* ---- Making, loading ------------------------------------------------------------------------------------ */

static bool has_values(const fw_dictionary *d) {
  for (size_t i = 0; i < d->count; i++)
    if (fw_field_is_list(&d->fields[i]) || fw_field_is_number(&d->fields[i])) return true;
  return false;
}

/* Makes the table that events are read with: JSON lines. */
static furrow_status make_event_table(furrow_encoder *encoder, furrow_error *err) {
  const fw_table_layout layout = {.kind = FW_TABLE_JSON};
  return fw_table_create(&encoder->events, &layout, encoder->log.names, encoder->log.slots, NULL, err);
}

static furrow_status complete_encoder(furrow_encoder *encoder, furrow_error *err) {
  FW_TRY(fw_encode_view_log(&encoder->log, encoder->schema, &encoder->dictionary, false, err));
  encoder->has_values = has_values(&encoder->dictionary);
  return make_event_table(encoder, err);
}

furrow_status fw_encoder_create(furrow_encoder **encoder, furrow_schema *schema, void *image, size_t size,
                                furrow_error *err) {
  furrow_encoder *made;
  furrow_status status = FW_ALLOC_ZERO(&made, 1, err);
  if (status != FURROW_OK) {
    fw_free(image);
    furrow_schema_free(schema);
    return status;
  }
  made->schema = schema;
  status = fw_dictionary_open(&made->dictionary, schema, image, size, err);
  if (status == FURROW_OK) status = complete_encoder(made, err);
  return FW_HAND_OVER(status, encoder, made, furrow_encoder_free);
}

/* Returns directory/name; the caller frees it. */
static furrow_status join_path(char **path, const char *directory, const char *name, furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_format(&text, "%s/%s", directory, name);
  const furrow_status status = fw_buffer_take(&text, path, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

/* Whether the two files belong together: the schema is replaced whenever the dictionary is, and is gone meanwhile. */
static furrow_status load_files(furrow_encoder *made, const char *schema, const char *dictionary, furrow_error *err) {
  furrow_path_watch *watch = NULL;
  furrow_schema *loaded = NULL;
  FW_TRY(furrow_path_watch_begin(&watch, schema, err));
  furrow_status status = furrow_schema_load(&loaded, schema, err);
  made->schema = loaded;
  if (status == FURROW_OK) status = fw_dictionary_load(&made->dictionary, made->schema, dictionary, err);
  return furrow_path_watch_end(watch, status, err);
}

furrow_status furrow_encoder_load(furrow_encoder **encoder, const char *directory, furrow_error *err) {
  char *schema = NULL, *dictionary = NULL;
  furrow_encoder *made;
  if (!directory[0]) return fw_fail(err, FURROW_E_ARGUMENT, "no folder of an encoder is given");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = join_path(&schema, directory, FW_SCHEMA_NAME, err);
  if (status == FURROW_OK) status = join_path(&dictionary, directory, FW_DICTIONARY_NAME, err);
  if (status == FURROW_OK) status = load_files(made, schema, dictionary, err);
  if (status == FURROW_OK) status = complete_encoder(made, err);
  fw_free(schema);
  fw_free(dictionary);
  return FW_HAND_OVER(status, encoder, made, furrow_encoder_free);
}

void furrow_encoder_free(furrow_encoder *encoder) {
  if (!encoder) return;
  fw_table_free(encoder->events);
  fw_encode_view_clear(&encoder->log);
  fw_dictionary_clear(&encoder->dictionary);
  furrow_schema_free((furrow_schema *)encoder->schema);
  fw_free(encoder);
}

furrow_status furrow_encoder_uri(const char *log, const char *directory, char **uri, furrow_error *err) {
  fw_buffer text = {0};
  const size_t head = strcspn(log, "#"); /* the name of a cache file comes last */
  fw_buffer_append(&text, log, head);
  fw_buffer_text(&text, memchr(log, '?', head) ? "&format=table&encoder=" : "?format=table&encoder=");
  fw_uri_encode(&text, directory);
  fw_buffer_text(&text, log + head);
  const furrow_status status = fw_buffer_take(&text, uri, NULL, err);
  fw_buffer_clear(&text);
  return status;
}

furrow_status fw_encoder_in_directory(const char *directory, bool *there, furrow_error *err) {
  char *path = NULL;
  FW_TRY(join_path(&path, directory, FW_DICTIONARY_NAME, err));
  *there = fw_path_exists(path);
  fw_free(path);
  return FURROW_OK;
}

furrow_status fw_encoder_digest(const char *directory, char digest[17], furrow_error *err) {
  unsigned char header[FW_DICT_HEADER];
  char *path = NULL;
  fw_input *input = NULL;
  size_t got = 0;
  FW_TRY(join_path(&path, directory, FW_DICTIONARY_NAME, err));
  furrow_status status = fw_input_open_regular(&input, path, err);
  if (status == FURROW_OK) status = fw_input_read_at(input, header, sizeof header, 0, &got, err);
  if (status == FURROW_OK && got < sizeof header) {
    status = fw_fail(err, FURROW_E_FORMAT, "dictionary: cut short");
    fw_error_set_file(err, path);
  }
  if (status == FURROW_OK) snprintf(digest, 17, "%016llx", (unsigned long long)fw_get_le64(header + FW_DICT_AT_DIGEST));
  fw_input_close(input);
  fw_free(path);
  return status;
}

/* ---- Saving --------------------------------------------------------------------------------------------- */

/* Stores a copy of the bytes as a file in memory. */
static furrow_status save_memory(const char *path, const void *bytes, size_t size, bool overwrite, furrow_error *err) {
  void *copy = NULL;
  FW_TRY(fw_alloc(&copy, size, 1, err));
  memcpy(copy, bytes, size);
  furrow_status status = overwrite ? furrow_memory_file_remove(path, err) : FURROW_OK;
  if (status == FURROW_OK || status == FURROW_E_NOT_FOUND)
    status = furrow_memory_file_add(path, copy, size, fw_free, copy, err);
  if (status != FURROW_OK) fw_free(copy);
  return status;
}

furrow_status fw_encoder_files(const furrow_encoder *encoder, fw_buffer *schema, const void **dictionary,
                               size_t *dictionary_size, furrow_error *err) {
  FW_TRY(fw_schema_write(encoder->schema, true, schema, err));
  *dictionary = encoder->dictionary.image;
  *dictionary_size = encoder->dictionary.size;
  return fw_buffer_status(schema, err);
}

/* Checks that neither file exists: the files of two encoders do not belong together. */
static furrow_status check_free(const char *directory, furrow_error *err) {
  static const char *const names[] = {FW_DICTIONARY_NAME, FW_SCHEMA_NAME};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *path = NULL;
    FW_TRY(join_path(&path, directory, names[i], err));
    const bool there = fw_path_exists(path);
    if (there) fw_fail(err, FURROW_E_EXISTS, "already exists");
    if (there) fw_error_set_file(err, path);
    fw_free(path);
    if (there) return FURROW_E_EXISTS;
  }
  return FURROW_OK;
}

/* The files to save. */
typedef struct encoder_files {
  const void *dictionary, *schema;
  size_t dictionary_size, schema_size;
} encoder_files;

static furrow_status save_in_memory(const encoder_files *files, const char *directory, bool overwrite,
                                    furrow_error *err) {
  char *dictionary = NULL, *schema = NULL;
  furrow_status status = join_path(&dictionary, directory, FW_DICTIONARY_NAME, err);
  if (status == FURROW_OK) status = join_path(&schema, directory, FW_SCHEMA_NAME, err);
  if (status == FURROW_OK) status = save_memory(dictionary, files->dictionary, files->dictionary_size, overwrite, err);
  if (status == FURROW_OK) status = save_memory(schema, files->schema, files->schema_size, overwrite, err);
  fw_free(schema);
  fw_free(dictionary);
  return status;
}

/* Writes a file and leaves it open for commit. */
static furrow_status write_file(fw_atomic_file **file, const char *directory, const char *name, const void *bytes,
                                size_t size, bool overwrite, furrow_error *err) {
  char *path = NULL;
  FW_TRY(join_path(&path, directory, name, err));
  furrow_status status = fw_atomic_file_open(file, path, err);
  fw_free(path);
  if (status != FURROW_OK) return status;
  if (!overwrite) fw_atomic_file_keep_existing(*file);
  return fw_atomic_file_write(*file, bytes, size, err);
}

/* The files of two encoders are never mixed: if the machine stops between the two commits, the schema is missing. */
static furrow_status save_in_place(const encoder_files *files, const char *directory, bool overwrite,
                                   furrow_error *err) {
  fw_atomic_file *dictionary = NULL, *schema = NULL;
  furrow_status status =
      write_file(&dictionary, directory, FW_DICTIONARY_NAME, files->dictionary, files->dictionary_size, overwrite, err);
  if (status == FURROW_OK)
    status = write_file(&schema, directory, FW_SCHEMA_NAME, files->schema, files->schema_size, overwrite, err);
  if (status == FURROW_OK) status = fw_atomic_files_commit((fw_atomic_file *[]){dictionary, schema}, 2, err);
  fw_atomic_file_close(schema);
  fw_atomic_file_close(dictionary);
  return status;
}

static bool is_other_file(void *user, const char *name) {
  (void)user;
  return strcmp(name, FW_DICTIONARY_NAME) != 0 && strcmp(name, FW_SCHEMA_NAME) != 0;
}

static furrow_status check_only_encoder(const char *path, furrow_error *err) {
  fw_dir_names others = {0};
  furrow_status status = fw_dir_names_read(&others, path, is_other_file, NULL, err);
  if (status == FURROW_OK && others.count > 0) status = fw_fail(err, FURROW_E_EXISTS, "the directory has other files");
  fw_dir_names_clear(&others);
  return status;
}

static furrow_status check_empty(const char *path, furrow_error *err) {
  (void)path; /* not called for empty directories */
  return fw_fail(err, FURROW_E_EXISTS, "the directory has files");
}

static int write_in(int folder, const char *name, const void *bytes, size_t size) {
  const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  int errnum = fw_write_at(fd, bytes, size, 0);
  if (close(fd) != 0 && errnum == 0 && errno != EINTR) errnum = errno;
  return errnum;
}

/* Saves both files or neither: the directory appears with them in one step. */
static furrow_status save_whole(const encoder_files *files, const char *directory, bool overwrite, furrow_error *err) {
  fw_atomic_dir *dir = NULL;
  FW_TRY(fw_atomic_dir_open(&dir, directory, overwrite ? check_only_encoder : check_empty, err));
  const int folder = fw_atomic_dir_fd(dir);
  int errnum = write_in(folder, FW_DICTIONARY_NAME, files->dictionary, files->dictionary_size);
  if (errnum == 0) errnum = write_in(folder, FW_SCHEMA_NAME, files->schema, files->schema_size);
  furrow_status status = FURROW_OK;
  if (errnum != 0) {
    status = fw_fail_errno(err, FURROW_E_IO, errnum, "cannot write the files of the encoder");
    fw_error_set_file(err, directory);
  }
  if (status == FURROW_OK) status = fw_atomic_dir_commit(dir, err);
  fw_atomic_dir_close(dir);
  return status;
}

static furrow_status save_files(const encoder_files *files, const char *directory, bool overwrite, furrow_error *err) {
  struct stat info;
  if (strncmp(directory, "memory://", 9) == 0) return save_in_memory(files, directory, overwrite, err);
  const furrow_status looked = fw_path_stat(directory, &info, err);
  const bool there = looked == FURROW_OK;
  if (!there && looked != FURROW_E_NOT_FOUND) return looked;
  if (there && !S_ISDIR(info.st_mode)) {
    const furrow_status status = fw_fail_errno(err, FURROW_E_IO, EEXIST, "cannot make the directory");
    fw_error_set_file(err, directory);
    return status;
  }
  if (!there) return save_whole(files, directory, overwrite, err);
  /* A directory that has other files, is a mount point, or is on a file system that cannot exchange directories is
   * kept. */
  if (save_whole(files, directory, overwrite, NULL) == FURROW_OK) return FURROW_OK;
  return save_in_place(files, directory, overwrite, err);
}

furrow_status furrow_encoder_save(const furrow_encoder *encoder, const char *directory, bool overwrite,
                                  furrow_error *err) {
  fw_buffer schema = {0};
  encoder_files files;
  if (!overwrite) FW_TRY(check_free(directory, err));
  furrow_status status = fw_encoder_files(encoder, &schema, &files.dictionary, &files.dictionary_size, err);
  files.schema = schema.bytes;
  files.schema_size = schema.size;
  if (status == FURROW_OK) status = save_files(&files, directory, overwrite, err);
  fw_buffer_clear(&schema);
  return status;
}

/* ---- Fields and features -------------------------------------------------------------------------------- */

const furrow_schema *furrow_encoder_schema(const furrow_encoder *encoder) {
  return encoder->schema;
}

size_t furrow_encoder_field_count(const furrow_encoder *encoder) {
  return encoder->dictionary.count;
}

void furrow_encoder_get_field(const furrow_encoder *encoder, size_t i, furrow_encoder_field *field) {
  assert(i < encoder->dictionary.count);
  const fw_field *f = &encoder->dictionary.fields[i];
  *field = (furrow_encoder_field){.name = f->name,
                                  .side = f->side,
                                  .first = f->first,
                                  .count = f->size,
                                  .entries = f->texts.count,
                                  .unknown = f->unknown,
                                  .missing = f->missing};
}

size_t furrow_encoder_field_of(const furrow_encoder *encoder, uint64_t feature) {
  const fw_dictionary *d = &encoder->dictionary;
  return feature < d->features ? fw_dictionary_field_of(d, feature) : SIZE_MAX;
}

uint64_t furrow_encoder_entry(const furrow_encoder *encoder, size_t field, uint64_t entry) {
  const fw_dictionary *d = &encoder->dictionary;
  if (field >= d->count || entry >= d->fields[field].texts.count) return UINT64_MAX;
  return fw_field_feature(&d->fields[field], FW_LOCAL_FIRST + entry);
}

uint64_t furrow_encoder_entry_of(const furrow_encoder *encoder, size_t field, uint64_t feature) {
  const fw_dictionary *d = &encoder->dictionary;
  if (field >= d->count || !fw_field_has_texts(&d->fields[field])) return UINT64_MAX;
  const uint64_t local = fw_field_local(&d->fields[field], feature);
  return local == FW_LOCAL_NONE || local < FW_LOCAL_FIRST ? UINT64_MAX : local - FW_LOCAL_FIRST;
}

uint64_t furrow_encoder_feature_count(const furrow_encoder *encoder) {
  return encoder->dictionary.features;
}

size_t furrow_encoder_side_field(const furrow_encoder *encoder, furrow_side side) {
  const fw_dictionary *d = &encoder->dictionary;
  return side == FURROW_SIDE_USER ? d->user_field : side == FURROW_SIDE_ITEM ? d->item_field : SIZE_MAX;
}

static void name_part(const fw_field *field, uint64_t local, furrow_encoder_feature *feature) {
  static const char *const numbers[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10",
                                        "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21",
                                        "22", "23", "24", "25", "26", "27", "28", "29", "30", "31"};
  static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  const bool from_1 = field->part == FW_PART_MONTHDAY || field->part == FW_PART_MONTH;
  feature->name = field->part == FW_PART_WEEKDAY ? days[local] : numbers[local + from_1];
  feature->length = strlen(feature->name);
}

static void set_name(furrow_encoder_feature *feature, const char *name) {
  feature->name = name;
  feature->length = strlen(name);
}

static void name_feature(const fw_dictionary *d, const fw_field *field, uint64_t local,
                         furrow_encoder_feature *feature) {
  const bool items = field->kind == FW_FIELD_HISTORY;
  if (items) field = &d->fields[d->item_field];
  if (fw_field_has_texts(field) && local >= FW_LOCAL_FIRST) {
    feature->name = fw_string_table_text(&field->texts, (size_t)(local - FW_LOCAL_FIRST), &feature->length);
    feature->count = items ? 0 : fw_get_le64(field->counts + 8 * (local - FW_LOCAL_FIRST));
  } else if (fw_field_has_texts(field)) {
    set_name(feature, local == FW_LOCAL_UNKNOWN ? "(unknown)" : "(missing)");
    if (!items) feature->count = local == FW_LOCAL_UNKNOWN ? field->unknown : field->missing;
  } else if (field->sparse && fw_field_is_number(field) && local == field->size - 1) {
    set_name(feature, "(present)");
    feature->count = field->table == SIZE_MAX && d->records > 0 ? d->records - field->missing : 0;
  } else if (!field->hash_bits && local == field->size - 1) {
    set_name(feature, "(missing)");
    feature->count = field->missing;
  } else if (field->kind == FW_FIELD_PART) {
    name_part(field, local, feature);
  }
}

furrow_status furrow_encoder_get_feature(const furrow_encoder *encoder, uint64_t index, furrow_encoder_feature *feature,
                                         furrow_error *err) {
  const fw_dictionary *d = &encoder->dictionary;
  if (index >= d->features)
    return fw_fail(err, FURROW_E_RANGE, "feature %llu: the dictionary has %llu", (unsigned long long)index,
                   (unsigned long long)d->features);
  const size_t number = fw_dictionary_field_of(d, index);
  const fw_field *field = &d->fields[number];
  *feature = (furrow_encoder_feature){.field = number, .name = ""};
  name_feature(d, field, fw_field_local(field, index), feature);
  return FURROW_OK;
}

furrow_status furrow_encoder_find(const furrow_encoder *encoder, size_t field, const char *name, size_t length,
                                  uint64_t *index, furrow_error *err) {
  const fw_dictionary *d = &encoder->dictionary;
  if (field >= d->count) return fw_fail(err, FURROW_E_ARGUMENT, "there is no field %zu", field);
  const fw_field *f = &d->fields[field];
  if (f->kind > FW_FIELD_WORDS) return fw_fail(err, FURROW_E_ARGUMENT, "%s has no names", f->name);
  const uint64_t hash = fw_string_table_hash(name, length);
  if (f->hash_bits) {
    *index = f->first + (hash >> (64 - f->hash_bits));
    return FURROW_OK;
  }
  const size_t found = fw_string_table_find_hashed(&f->texts, hash, name, length);
  if (found == FW_STRING_TABLE_NONE) {
    fw_fail(err, FURROW_E_NOT_FOUND, "%s: the model has not seen this value", f->name);
    fw_error_set_token(err, name, length);
    return FURROW_E_NOT_FOUND;
  }
  *index = fw_field_feature(f, FW_LOCAL_FIRST + found);
  return FURROW_OK;
}

/* ---- One side ------------------------------------------------------------------------------------------- */

/* Appends features to the last row of the container, which has fields and values. */
static furrow_status add_feature(furrow_container *rows, size_t field, uint64_t index, float value, furrow_error *err) {
  FW_TRY(fw_container_reserve(rows, rows->rows, rows->features + 1, FW_COLUMN_FIELD | FW_COLUMN_VALUE, err));
  fw_store_index(rows->key_type, rows->field, rows->features, field);
  fw_store_index(rows->key_type, rows->index, rows->features, index);
  ((float *)rows->value)[rows->features++] = value;
  rows->offset[rows->rows] = rows->features;
  return FURROW_OK;
}

furrow_status fw_encoder_add_history(const fw_dictionary *d, uint64_t user, furrow_container *rows, furrow_error *err) {
  if (d->history_users == 0 || user == FW_FEATURE_NONE) return FURROW_OK;
  const unsigned char *at = d->history_offsets + 8 * fw_field_local(&d->fields[d->user_field], user);
  const uint64_t from = fw_get_le64(at), to = fw_get_le64(at + 8);
  const float value = (float)(1 / sqrt((double)(to - from)));
  for (uint64_t i = from; i < to; i++)
    FW_TRY(add_feature(rows, d->history_field,
                       fw_field_feature(&d->fields[d->history_field], fw_get_le64(d->history_items + 8 * i)), value,
                       err));
  return FURROW_OK;
}

static furrow_status add_joined(const furrow_encoder *encoder, const fw_field *field, uint64_t index,
                                furrow_container *rows, furrow_error *err) {
  const fw_dictionary *d = &encoder->dictionary;
  const uint64_t local = fw_field_local(field, index);
  size_t length = 0;
  if (!fw_field_has_texts(field) || local < FW_LOCAL_FIRST) return FURROW_OK;
  const char *key = fw_string_table_text(&field->texts, (size_t)(local - FW_LOCAL_FIRST), &length);
  for (size_t t = 0; t < d->table_count; t++) {
    const fw_joined *table = &d->tables[t];
    if (strcmp(encoder->schema->tables[t].key, field->column->name) != 0) continue;
    const size_t found = fw_string_table_find(&table->keys, key, length);
    if (found == FW_STRING_TABLE_NONE) continue;
    for (uint64_t i = fw_get_le64(table->offsets + 8 * found); i < fw_get_le64(table->offsets + 8 * (found + 1)); i++)
      FW_TRY(add_feature(rows, fw_get_le32(table->field + 4 * i), fw_get_le64(table->index + 8 * i),
                         fw_get_f32(table->value + 4 * i), err));
  }
  return FURROW_OK;
}

static furrow_status make_side(const furrow_encoder *encoder, const fw_field *field, size_t number, uint64_t index,
                               furrow_container *rows, furrow_error *err) {
  FW_TRY(fw_container_reserve(rows, 1, 1, FW_COLUMN_FIELD | FW_COLUMN_VALUE, err));
  rows->has_field = true;
  rows->has_value = encoder->has_values;
  rows->rows = 1;
  FW_TRY(add_feature(rows, number, index, 1, err));
  FW_TRY(add_joined(encoder, field, index, rows, err));
  return field->side == FURROW_SIDE_USER ? fw_encoder_add_history(&encoder->dictionary, index, rows, err) : FURROW_OK;
}

furrow_status furrow_encoder_push_side(const furrow_encoder *encoder, furrow_side side, uint64_t index,
                                       furrow_container *rows, furrow_error *err) {
  const size_t number = furrow_encoder_side_field(encoder, side);
  if (number == SIZE_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "no column of the schema has that role");
  const fw_field *field = &encoder->dictionary.fields[number];
  if (fw_field_local(field, index) == FW_LOCAL_NONE)
    return fw_fail(err, FURROW_E_RANGE, "%llu is not a feature of %s", (unsigned long long)index, field->name);
  furrow_container *made = NULL;
  FW_TRY(furrow_container_create(&made, FURROW_KEY_U64, FURROW_VALUE_F32, err));
  furrow_status status = make_side(encoder, field, number, index, made, err);
  if (status == FURROW_OK) {
    const furrow_rowblock block = fw_container_block(made);
    status = furrow_container_push_block(rows, &block, err);
  }
  furrow_container_free(made);
  return status;
}
