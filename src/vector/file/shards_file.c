/* vector/file/shards_file.c: reads the manifest of an index in several files, and writes it with its shards.
 *
 * The name of a shard contains a digest of its bytes, so a new index never overwrites the shards of an old one. The
 * manifest decides which shards are valid; it is replaced when all shards are on the disk. */
#include "vector/file/shards_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/json.h"
#include "io/atomic_file.h"
#include "io/input.h"
#include "io/remote_target.h"
#include "vector/attributes/attribute_rows.h"

/* ---- Members -------------------------------------------------------------------------------------------- */

typedef struct reading {
  furrow_json *json;
  fw_shards_manifest *manifest;
  size_t capacity;
  bool seen[6]; /* for each member */
} reading;

static furrow_status fail_value(const reading *r, furrow_error *err, const char *what) {
  return furrow_json_fail(r->json, furrow_json_offset(r->json), NULL, err, "%s", what);
}

static furrow_status read_count(reading *r, uint64_t *value, furrow_error *err) {
  int64_t number = 0;
  FW_TRY(furrow_json_i64(r->json, &number, err));
  if (number < 0) return fail_value(r, err, "is negative");
  *value = (uint64_t)number;
  return FURROW_OK;
}

/* Reads 16 hexadecimal digits. */
static furrow_status read_digest(reading *r, uint64_t *digest, furrow_error *err) {
  furrow_json_text text;
  FW_TRY(furrow_json_string(r->json, &text, err));
  uint64_t value = 0;
  bool digits = text.size == 16;
  for (size_t i = 0; digits && i < text.size; i++) {
    const char c = text.bytes[i];
    digits = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (!digits) return fail_value(r, err, "is not 16 hexadecimal digits (0-9, a-f)");
  *digest = value;
  return FURROW_OK;
}

/* Describes what is wrong with the file name of a shard; NULL if it is valid. */
static const char *name_fault(furrow_json_text name) {
  if (name.size == 0) return "is empty";
  if (name.size > FW_SHARD_NAME) return "is longer than 255 bytes";
  if (furrow_json_is(name, ".") || furrow_json_is(name, "..")) return "is a folder";
  for (size_t i = 0; i < name.size; i++) {
    if (name.bytes[i] == '/' || name.bytes[i] == '\\')
      return "has a slash, but shards are in the folder of their manifest";
    if ((unsigned char)name.bytes[i] < ' ' || name.bytes[i] == 127) return "has a control character";
  }
  return strchr("-~", name.bytes[0]) ? "begins with a character that no shard begins with" : NULL;
}

static furrow_status read_name(reading *r, fw_shard_entry *entry, furrow_error *err) {
  furrow_json_text name;
  FW_TRY(furrow_json_string(r->json, &name, err));
  const char *fault = name_fault(name);
  if (fault) return fail_value(r, err, fault);
  memcpy(entry->file, name.bytes, name.size);
  return FURROW_OK;
}

/* Finds a member by its key, marks it as seen and returns its position in `names`. */
static furrow_status find_member(const reading *r, furrow_json_text key, const char *const *names, size_t count,
                                 bool *seen, size_t *found, furrow_error *err) {
  for (size_t i = 0; i < count; i++) {
    if (!furrow_json_is(key, names[i])) continue;
    if (seen[i]) return fail_value(r, err, "occurs twice");
    seen[i] = true;
    *found = i;
    return FURROW_OK;
  }
  return fail_value(r, err, "is not a member that a manifest of shards has");
}

static furrow_status check_all(const reading *r, const char *const *names, size_t count, const bool *seen,
                               furrow_error *err) {
  for (size_t i = 0; i < count; i++)
    if (!seen[i]) return furrow_json_fail(r->json, furrow_json_offset(r->json), names[i], err, "is missing");
  return FURROW_OK;
}

static furrow_status read_entry(reading *r, fw_shard_entry *entry, furrow_error *err) {
  static const char *const names[] = {"file", "vectors", "bytes", "digest"};
  bool seen[4] = {0};
  furrow_json_text key;
  size_t member = 0;
  furrow_status status = furrow_json_object(r->json, err);
  while (status == FURROW_OK && (status = furrow_json_member(r->json, &key, err)) == FURROW_OK) {
    status = find_member(r, key, names, 4, seen, &member, err);
    if (status != FURROW_OK) break;
    switch (member) {
    case 0: status = read_name(r, entry, err); break;
    case 1: status = read_count(r, &entry->vectors, err); break;
    case 2: status = read_count(r, &entry->bytes, err); break;
    default: status = read_digest(r, &entry->digest, err); break;
    }
  }
  return status == FURROW_END ? check_all(r, names, 4, seen, err) : status;
}

static furrow_status read_shards(reading *r, furrow_error *err) {
  fw_shards_manifest *m = r->manifest;
  furrow_status status = furrow_json_array(r->json, err);
  while (status == FURROW_OK && (status = furrow_json_element(r->json, err)) == FURROW_OK) {
    void *shards = m->shards;
    if (m->count == FW_SHARDS_MOST) return fail_value(r, err, "are more than 4096 shards");
    status = fw_grow(&shards, &r->capacity, m->count + 1, sizeof *m->shards, err);
    m->shards = shards;
    if (status != FURROW_OK) break;
    memset(&m->shards[m->count], 0, sizeof *m->shards);
    status = read_entry(r, &m->shards[m->count], err);
    if (status == FURROW_OK) m->count++;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_format(reading *r, furrow_error *err) {
  furrow_json_text text;
  FW_TRY(furrow_json_string(r->json, &text, err));
  return furrow_json_is(text, FW_SHARDS_FORMAT) ? FURROW_OK : fail_value(r, err, "is not \"" FW_SHARDS_FORMAT "\"");
}

static furrow_status read_version(reading *r, furrow_error *err) {
  int64_t version = 0;
  FW_TRY(furrow_json_i64(r->json, &version, err));
  if (version == FW_SHARDS_VERSION) return FURROW_OK;
  if (version < 1) return fail_value(r, err, "is not a version");
  return fw_fail(err, FURROW_E_UNSUPPORTED, "version %" PRId64 " of a manifest of shards is not known, only %d",
                 version, FW_SHARDS_VERSION);
}

static furrow_status read_dimension(reading *r, furrow_error *err) {
  FW_TRY(read_count(r, &r->manifest->d, err));
  return r->manifest->d > 0 && r->manifest->d <= FW_INDEX_MAX_D ? FURROW_OK : fail_value(r, err, "is not a dimension");
}

static const char *const members[] = {"format", "version", "dimension", "vectors", "quantizers", "shards"};

static furrow_status read_manifest(reading *r, furrow_error *err) {
  furrow_json_text key;
  size_t member = 0;
  furrow_status status = furrow_json_object(r->json, err);
  while (status == FURROW_OK && (status = furrow_json_member(r->json, &key, err)) == FURROW_OK) {
    status = find_member(r, key, members, 6, r->seen, &member, err);
    if (status != FURROW_OK) break;
    switch (member) {
    case 0: status = read_format(r, err); break;
    case 1: status = read_version(r, err); break;
    case 2: status = read_dimension(r, err); break;
    case 3: status = read_count(r, &r->manifest->vectors, err); break;
    case 4: status = read_digest(r, &r->manifest->quantizers, err); break;
    default: status = read_shards(r, err); break;
    }
  }
  if (status == FURROW_END) status = check_all(r, members, 6, r->seen, err);
  return status == FURROW_OK ? furrow_json_end(r->json, err) : status;
}

/* ---- The whole text ------------------------------------------------------------------------------------- */

static furrow_status fail_manifest(const char *path, furrow_error *err, const char *what) {
  fw_fail(err, FURROW_E_FORMAT, "%s", what);
  fw_error_set_file(err, path);
  return FURROW_E_FORMAT;
}

static furrow_status check_sums(const fw_shards_manifest *m, const char *path, furrow_error *err) {
  uint64_t sum = 0;
  if (m->count == 0) return fail_manifest(path, err, "the manifest has no shards");
  for (size_t i = 0; i < m->count; i++) {
    sum += m->shards[i].vectors; /* both are below 2^63 */
    if (sum > INT64_MAX) return fail_manifest(path, err, "the shards have too many vectors");
    for (size_t j = 0; j < i; j++)
      if (strcmp(m->shards[i].file, m->shards[j].file) == 0)
        return fail_manifest(path, err, "two shards are the same file");
  }
  return sum == m->vectors ? FURROW_OK : fail_manifest(path, err, "vectors is not the sum of the shards' vectors");
}

furrow_status fw_shards_manifest_parse(fw_shards_manifest *manifest, const char *text, size_t size, const char *path,
                                       furrow_error *err) {
  *manifest = (fw_shards_manifest){0};
  reading r = {.manifest = manifest};
  FW_TRY(furrow_json_create(&r.json, err));
  furrow_json_start(r.json, text, size, path);
  furrow_status status = read_manifest(&r, err);
  furrow_json_free(r.json);
  if (status == FURROW_E_UNSUPPORTED) fw_error_set_file(err, path);
  return status == FURROW_OK ? check_sums(manifest, path, err) : status;
}

void fw_shards_manifest_clear(fw_shards_manifest *manifest) {
  fw_free(manifest->shards);
  *manifest = (fw_shards_manifest){0};
}

void fw_shards_manifest_write(const fw_shards_manifest *m, fw_buffer *text) {
  fw_buffer_format(text, "{\n  \"format\": \"" FW_SHARDS_FORMAT "\",\n  \"version\": %d,\n", FW_SHARDS_VERSION);
  fw_buffer_format(text, "  \"dimension\": %" PRIu64 ",\n  \"vectors\": %" PRIu64 ",\n", m->d, m->vectors);
  fw_buffer_format(text, "  \"quantizers\": \"%016" PRIx64 "\",\n  \"shards\": [\n", m->quantizers);
  for (size_t i = 0; i < m->count; i++) {
    const fw_shard_entry *e = &m->shards[i];
    fw_buffer_text(text, "    {\"file\": ");
    fw_buffer_json_string(text, e->file, strlen(e->file), false);
    fw_buffer_format(text, ", \"vectors\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"digest\": \"%016" PRIx64 "\"}%s\n",
                     e->vectors, e->bytes, e->digest, i + 1 < m->count ? "," : "");
  }
  fw_buffer_text(text, "  ]\n}\n");
}

bool furrow_is_shards(const char *path) {
  fw_input *input = NULL;
  char first[64];
  size_t got = 0, i = 0;
  if (strcmp(path, "-") == 0 || fw_input_open_regular(&input, path, NULL) != FURROW_OK) return false;
  if (fw_input_read_at(input, first, sizeof first, 0, &got, NULL) != FURROW_OK) got = 0;
  fw_input_close(input);
  while (i < got && strchr(" \t\r\n", first[i])) i++;
  return i < got && first[i] == '{';
}

furrow_status fw_shards_path(char **path, const char *manifest, const char *file, furrow_error *err) {
  const char *slash = strrchr(manifest, '/');
  const size_t folder = slash ? (size_t)(slash + 1 - manifest) : 0, size = folder + strlen(file) + 1;
  FW_TRY(FW_ALLOC(path, size, err));
  memcpy(*path, manifest, folder);
  memcpy(*path + folder, file, size - folder);
  return FURROW_OK;
}

/* ---- Common properties of shards ------------------------------------------------------------------------ */

furrow_status fw_shards_digest(const furrow_index *index, uint64_t *digest, furrow_error *err) {
  const furrow_index *ivf = furrow_index_ivf(index);
  furrow_index_save_params params;
  fw_index_writer writer;
  void *zeros = NULL;
  furrow_index_save_params_init(&params);
  params.inline_lists = true;
  FW_TRY(fw_index_writer_init(&writer, index, &params, err));
  FW_TRY(fw_alloc_zero(&zeros, ivf ? ivf->ivf.nlist : 1, sizeof(uint64_t), err));
  const fw_index_part nothing = {.list_before = zeros, .list_size = zeros};
  writer.part = &nothing;
  const furrow_status status = fw_index_common_digest(index, &writer, digest, err);
  fw_free(zeros);
  return status;
}

furrow_status fw_shards_check_kind(const furrow_index *index, furrow_error *err) {
  const furrow_index *inner = fw_skip_transforms(index), *ivf = furrow_index_ivf(index);
  if (!ivf)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "%s cannot be in shards: that needs inverted lists",
                   furrow_index_kind_name(inner->kind));
  if (fw_index_has_dense_ids(index) || (inner == ivf && ivf->ivf.direct_map.type == FURROW_DIRECT_MAP_ARRAY))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the ids of every shard would begin at 0: the index needs an id map");
  return FURROW_OK;
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

typedef struct saving {
  const furrow_comm *comm;
  const furrow_index *index;
  const char *path;
  const furrow_index_save_params *params;
  fw_shards_manifest made, old; /* old: the manifest that is replaced; empty: none */
  fw_shard_entry own;
  bool written;           /* this rank's shard is written */
  bool published;         /* the manifest is in place */
  furrow_file_lock *lock; /* rank 0: locks the old manifest, so that nobody starts to use shards that will be removed */
} saving;

/* Distributes rank 0's text of the old manifest. An invalid manifest is treated as one without shards. */
static furrow_status read_old(saving *s, furrow_error *err) {
  const furrow_comm *comm = s->comm;
  char *text = NULL;
  size_t size = 0;
  furrow_error ignored;
  if (fw_comm_is_first(comm) && furrow_is_shards(s->path) &&
      fw_path_read_json(&text, &size, s->path, &ignored) != FURROW_OK)
    size = 0;
  uint64_t bytes = text ? size : 0;
  furrow_status status = comm->broadcast(comm, &bytes, sizeof bytes, 0, err);
  if (status == FURROW_OK && !fw_comm_is_first(comm)) {
    void *memory = NULL;
    status = fw_alloc(&memory, (size_t)bytes + 1, 1, err);
    text = memory;
  }
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK && bytes > 0) status = comm->broadcast(comm, text, (size_t)bytes, 0, err);
  if (status == FURROW_OK && bytes > 0 &&
      fw_shards_manifest_parse(&s->old, text, (size_t)bytes, s->path, &ignored) != FURROW_OK)
    fw_shards_manifest_clear(&s->old);
  fw_free(text);
  return status;
}

static bool names_file(const fw_shards_manifest *m, const char *file) {
  for (size_t i = 0; i < m->count; i++)
    if (strcmp(m->shards[i].file, file) == 0) return true;
  return false;
}

static void remove_shard(const saving *s, const char *file) {
  char *path = NULL;
  if (fw_shards_path(&path, s->path, file, NULL) == FURROW_OK) (void)!fw_path_remove(path, NULL);
  fw_free(path);
}

/* After a failure removes this rank's shard, unless the manifest in place names it. After success removes shards that
 * only the old manifest names, as far as they are on this machine. */
static void clean_up(const saving *s, furrow_status status) {
  if (status != FURROW_OK && s->written && !s->published && !names_file(&s->old, s->own.file))
    remove_shard(s, s->own.file);
  for (size_t i = 0; status == FURROW_OK && i < s->old.count; i++)
    if (!names_file(&s->made, s->old.shards[i].file)) remove_shard(s, s->old.shards[i].file);
}

static furrow_status write_own(saving *s, const fw_index_writer *writer, furrow_error *err) {
  const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
  fw_index_writer w = *writer;
  fw_index_stamp stamp;
  char *path = NULL;
  w.with = (fw_companions){0};
  w.first = s->path;
  w.least_id = 0;
  FW_TRY(fw_index_find_stamp(s->index, &w, &stamp, err));
  s->own = (fw_shard_entry){.vectors = (uint64_t)s->index->ntotal, .bytes = stamp.size, .digest = stamp.digest};
  const int length =
      snprintf(s->own.file, sizeof s->own.file, "%s.shard%u-%016" PRIx64, name, s->comm->rank, stamp.digest);
  if (length < 0 || (size_t)length >= sizeof s->own.file)
    return fw_fail(err, FURROW_E_ARGUMENT, "the name of the index is too long for the names of its shards");
  FW_TRY(fw_shards_path(&path, s->path, s->own.file, err));
  s->written = true;
  const furrow_status status = fw_index_write_file(s->index, path, true, &w, err);
  fw_free(path);
  return status;
}

/* Runs on rank 0, when all shards are on the disk. */
static furrow_status write_manifest(saving *s, furrow_error *err) {
  fw_buffer text = {0};
  fw_atomic_file *file = NULL;
  fw_shards_manifest_write(&s->made, &text);
  furrow_status status = fw_buffer_status(&text, err);
  const fw_index_stamp stamp = {.size = text.size, .digest = XXH3_64bits(text.bytes, text.size)};
  if (status == FURROW_OK) status = fw_atomic_file_open(&file, s->path, err);
  if (status == FURROW_OK && !s->params->overwrite) fw_atomic_file_keep_existing(file);
  if (status == FURROW_OK) status = fw_atomic_file_write(file, text.bytes, text.size, err);
  if (status == FURROW_OK)
    status =
        fw_companions_commit(file, &(fw_companions){.names = s->params->names, .attributes = s->params->attributes},
                             s->path, &stamp, s->params->overwrite, err);
  s->published = file && fw_atomic_file_is_in_place(file);
  fw_atomic_file_close(file);
  fw_buffer_clear(&text);
  return status;
}

/* Gathers the entries of all shards on every rank. */
static furrow_status gather_entries(saving *s, furrow_error *err) {
  void *all = NULL;
  size_t size = 0;
  FW_TRY(fw_comm_gather_all(s->comm, &s->own, sizeof s->own, &all, &size, NULL, err));
  s->made.shards = all;
  s->made.count = size / sizeof s->own;
  for (size_t i = 0; i < s->made.count; i++) s->made.vectors += s->made.shards[i].vectors;
  s->made.d = (uint64_t)s->index->d;
  return FURROW_OK;
}

static furrow_status check_same(saving *s, furrow_error *err) {
  void *all = NULL;
  size_t size = 0;
  unsigned other = 0;
  furrow_status status = fw_comm_all_ok(s->comm, fw_shards_digest(s->index, &s->made.quantizers, err), err);
  if (status == FURROW_OK)
    status = fw_comm_gather_all(s->comm, &s->made.quantizers, sizeof(uint64_t), &all, &size, NULL, err);
  if (status != FURROW_OK) return status;
  for (unsigned r = 1; r < s->comm->ranks && !other; r++)
    if (((const uint64_t *)all)[r] != ((const uint64_t *)all)[0]) other = r;
  fw_free(all);
  return other ? fw_fail(err, FURROW_E_ARGUMENT, "the quantizers of rank 0 and rank %u differ", other) : FURROW_OK;
}

static furrow_status save_all(saving *s, const fw_index_writer *writer, furrow_error *err) {
  const furrow_comm *comm = s->comm;
  furrow_status status = fw_shards_check_kind(s->index, err);
  if (status == FURROW_OK && strcmp(s->path, "-") == 0)
    status = fw_fail(err, FURROW_E_ARGUMENT, "shards cannot be written to standard output");
  if (status == FURROW_OK && fw_comm_is_first(comm) && !s->params->overwrite && fw_path_exists(s->path)) {
    status = fw_fail(err, FURROW_E_EXISTS, "there is a file of that name already");
    fw_error_set_file(err, s->path);
  }
  if (status == FURROW_OK && fw_comm_is_first(comm) && fw_path_exists(s->path))
    status = furrow_file_lock_open(&s->lock, s->path, err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) status = check_same(s, err);
  if (status == FURROW_OK) status = read_old(s, err);
  if (status != FURROW_OK) return status;
  status = fw_comm_all_ok(comm, write_own(s, writer, err), err);
  if (status == FURROW_OK) status = gather_entries(s, err);
  if (status != FURROW_OK) return status;
  if (fw_comm_is_first(comm)) status = write_manifest(s, err);
  const furrow_status sent =
      comm->broadcast(comm, &s->published, sizeof s->published, 0, status == FURROW_OK ? err : NULL);
  if (sent != FURROW_OK) s->published = true; /* unknown to this rank, so nothing is removed */
  return fw_comm_all_ok(comm, status == FURROW_OK ? sent : status, err);
}

furrow_status furrow_index_save_shards(const furrow_index *index, const char *path,
                                       const furrow_index_save_params *params, furrow_error *err) {
  furrow_index_save_params p;
  fw_index_writer writer;
  saving s = {.index = index, .path = path, .params = &p};
  furrow_index_save_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_index_save_params, err));
  FW_TRY(fw_comm_of(&s.comm, p.comm, err));
  p.inline_lists = true; /* which refuses p.lists_file */
  furrow_status status = fw_index_check_savable(&writer, index, &p, err);
  if (status == FURROW_OK && p.attributes && fw_comm_is_first(s.comm))
    status = fw_attributes_fit_index(p.attributes, index, FURROW_E_ARGUMENT, NULL, err);
  status = fw_comm_all_ok(s.comm, status, err);
  if (status != FURROW_OK) return status;
  status = save_all(&s, &writer, err);
  clean_up(&s, status);
  furrow_file_lock_close(s.lock);
  fw_shards_manifest_clear(&s.made);
  fw_shards_manifest_clear(&s.old);
  return status;
}
