/* columns/typed_columns.c: tables of typed columns are opened and read as frames. */
#include "columns/typed_columns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "columns/arrow_frames.h"
#include "columns/duckdb.h"

typedef enum columns_kind { COLUMNS_ARROW, COLUMNS_QUERY, COLUMNS_PARQUET } columns_kind;

struct fw_columns {
  columns_kind kind;
  /* Arrow */
  struct ArrowSchema schema;
  struct ArrowArray *batches;
  size_t count, capacity;
  uint64_t rows;
  /* query */
  char *sql, *database; /* database NULL: none */
  pthread_mutex_t lock; /* protects the following members */
  bool known;           /* the query has been read to its end */
  uint64_t digest;
  /* Parquet */
  const char *path;
};

void fw_columns_free(fw_columns *columns) {
  if (!columns) return;
  for (size_t i = 0; i < columns->count; i++)
    if (columns->batches[i].release) columns->batches[i].release(&columns->batches[i]);
  if (columns->schema.release) columns->schema.release(&columns->schema);
  fw_free(columns->batches);
  fw_free(columns->sql);
  fw_free(columns->database);
  pthread_mutex_destroy(&columns->lock);
  fw_free(columns);
}

bool fw_columns_is_query(const fw_columns *columns) {
  return columns->kind == COLUMNS_QUERY;
}

uint64_t fw_columns_rows(const fw_columns *columns) {
  return columns->rows;
}

static furrow_status create(fw_columns **columns, columns_kind kind, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(columns, 1, err));
  (*columns)->kind = kind;
  pthread_mutex_init(&(*columns)->lock, NULL);
  return FURROW_OK;
}

/* ---- Arrow ---------------------------------------------------------------------------------------------- */

static furrow_status fail_stream(struct ArrowArrayStream *stream, int code, furrow_error *err) {
  const char *message = stream->get_last_error ? stream->get_last_error(stream) : NULL;
  if (code == ENOMEM) return fw_fail_memory(err, SIZE_MAX);
  return fw_fail(err, FURROW_E_IO, "the Arrow stream failed: %s", message ? message : strerror(code));
}

/* Takes the batches. */
static furrow_status take_stream(fw_columns *c, struct ArrowArrayStream *stream, furrow_error *err) {
  int code = stream->get_schema(stream, &c->schema);
  if (code != 0) {
    c->schema.release = NULL;
    return fail_stream(stream, code, err);
  }
  for (;;) {
    struct ArrowArray batch = {0};
    code = stream->get_next(stream, &batch);
    if (code != 0) return fail_stream(stream, code, err);
    if (!batch.release) return FURROW_OK;
    const furrow_status status = FW_GROW(&c->batches, &c->capacity, c->count + 1, err);
    if (status != FURROW_OK) {
      batch.release(&batch);
      return status;
    }
    if (batch.length > 0) c->rows += (uint64_t)batch.length;
    c->batches[c->count++] = batch;
  }
}

furrow_status fw_columns_of_arrow(fw_columns **columns, struct ArrowArrayStream *stream, furrow_error *err) {
  fw_columns *c = NULL;
  fw_arrow_leaves leaves = {0};
  if (!stream || !stream->release) return fw_fail(err, FURROW_E_ARGUMENT, "the Arrow stream was released already");
  furrow_status status = create(&c, COLUMNS_ARROW, err);
  if (status == FURROW_OK) status = take_stream(c, stream, err);
  stream->release(stream);
  if (status == FURROW_OK) status = fw_arrow_leaves_find(&leaves, &c->schema, err);
  fw_arrow_leaves_clear(&leaves);
  return FW_HAND_OVER(status, columns, c, fw_columns_free);
}

/* ---- DuckDB --------------------------------------------------------------------------------------------- */

furrow_status fw_columns_of_query(fw_columns **columns, const char *sql, const char *database, furrow_error *err) {
  fw_columns *c = NULL;
  furrow_status status = create(&c, COLUMNS_QUERY, err);
  if (status == FURROW_OK) status = fw_strndup(&c->sql, sql, strlen(sql), err);
  if (status == FURROW_OK && database) status = fw_strndup(&c->database, database, strlen(database), err);
  return FW_HAND_OVER(status, columns, c, fw_columns_free);
}

furrow_status fw_columns_of_parquet(fw_columns **columns, const char *path, furrow_error *err) {
  fw_columns *c = NULL;
  FW_TRY(create(&c, COLUMNS_PARQUET, err));
  c->path = path;
  *columns = c;
  return FURROW_OK;
}

/* Appends a path for a function of DuckDB, in which * ? [ stand for themselves and no prefix names a service. */
static void append_path(fw_buffer *sql, const char *path) {
  fw_buffer escaped = {0};
  if (path[0] != '/') fw_buffer_text(&escaped, "./");
  for (; *path; path++) {
    if (strchr("*?[", *path))
      fw_buffer_format(&escaped, "[%c]", *path);
    else
      fw_buffer_byte(&escaped, *path);
  }
  fw_buffer_byte(&escaped, 0);
  if (escaped.missing)
    sql->missing = escaped.missing;
  else
    fw_duckdb_quote(sql, '\'', escaped.bytes);
  fw_buffer_clear(&escaped);
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

struct fw_columns_reader {
  fw_columns *columns;
  fw_duckdb *duckdb; /* NULL: Arrow */
  struct ArrowSchema schema;
  fw_arrow_leaves all;    /* the columns of the head */
  bool *wanted;           /* which of them are */
  fw_arrow_leaves leaves; /* of the batches */
  fw_frames_builder *builder;
  size_t next;           /* batch of Arrow */
  struct ArrowArray own; /* batch of DuckDB */
  bool ended;
  fw_buffer frames;
  size_t used;
  XXH3_state_t *digest; /* of the frames of a query */
};

static void let_go(fw_columns_reader *r) {
  if (r->own.release) r->own.release(&r->own);
  r->own.release = NULL;
}

void fw_columns_reader_close(fw_columns_reader *reader) {
  if (!reader) return;
  let_go(reader);
  fw_frames_builder_free(reader->builder);
  fw_arrow_leaves_clear(&reader->all);
  fw_arrow_leaves_clear(&reader->leaves);
  if (reader->schema.release) reader->schema.release(&reader->schema);
  fw_duckdb_close(reader->duckdb);
  fw_buffer_clear(&reader->frames);
  fw_free(reader->wanted);
  XXH3_freeState(reader->digest);
  fw_free(reader);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Marks the wanted columns, whose names are sorted. */
static furrow_status mark_named(fw_columns_reader *r, const char *const *sorted, size_t count, furrow_error *err) {
  size_t found = 0;
  for (size_t i = 0; i < r->all.count; i++) {
    r->wanted[i] = bsearch(&r->all.leaves[i].name, sorted, count, sizeof *sorted, compare_texts) != NULL;
    found += r->wanted[i];
  }
  if (found == count) return FURROW_OK; /* names of a table are different */
  for (size_t i = 0, k; i < count; i++) {
    for (k = 0; k < r->all.count && strcmp(r->all.leaves[k].name, sorted[i]) != 0;) k++;
    if (k < r->all.count) continue;
    fw_fail(err, FURROW_E_FORMAT, "there is no column of this name");
    fw_error_set_token(err, sorted[i], strlen(sorted[i]));
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

static furrow_status mark_wanted(fw_columns_reader *r, const char *const *names, size_t count, furrow_error *err) {
  const char **sorted = NULL;
  FW_TRY(FW_ALLOC_ZERO(&r->wanted, r->all.count, err));
  if (!names) {
    memset(r->wanted, true, r->all.count);
    return FURROW_OK;
  }
  FW_TRY(FW_ALLOC(&sorted, count, err));
  if (count > 0) memcpy((void *)sorted, names, count * sizeof *names);
  if (count > 1) qsort((void *)sorted, count, sizeof *sorted, compare_texts);
  const furrow_status status = mark_named(r, sorted, count, err);
  fw_free((void *)sorted);
  return status;
}

/* Writes where DuckDB finds the rows: a file, or a query within another one, whose last comment ends with its line. */
static void append_source(fw_buffer *sql, const fw_columns *c) {
  if (c->kind == COLUMNS_PARQUET) {
    fw_buffer_text(sql, "read_parquet(");
    append_path(sql, c->path);
  } else {
    size_t size = strlen(c->sql);
    while (size > 0 && strchr(" \t\r\n;", c->sql[size - 1])) size--;
    fw_buffer_byte(sql, '(');
    fw_buffer_append(sql, c->sql, size);
    fw_buffer_byte(sql, '\n');
  }
  fw_buffer_byte(sql, ')');
}

static bool is_odd(const fw_arrow_leaf *leaf) {
  return leaf->type.storage == FW_ARROW_UNSUPPORTED && leaf->depth == 1;
}

static bool has_odd_columns(const fw_columns_reader *r) {
  for (size_t i = 0; i < r->all.count; i++)
    if (is_odd(&r->all.leaves[i])) return true;
  return false;
}

/* Writes the query for the wanted columns of a file, or all of a query. Types that are not cells are read as DuckDB's
 * text of them, except within a struct. */
static furrow_status select_columns(const fw_columns_reader *r, fw_buffer *sql, furrow_error *err) {
  size_t selected = 0, leaf = 0;
  fw_buffer_text(sql, "SELECT ");
  for (int64_t i = 0; i < r->schema.n_children; i++) {
    bool wanted = r->columns->kind == COLUMNS_QUERY, cell = true;
    for (; leaf < r->all.count && r->all.leaves[leaf].place[0] == (uint32_t)i; leaf++) {
      wanted |= r->wanted[leaf];
      cell &= !is_odd(&r->all.leaves[leaf]);
    }
    if (!wanted) continue;
    fw_buffer_text(sql, selected++ ? ", " : "");
    fw_buffer_text(sql, cell ? "" : "CAST(");
    fw_duckdb_quote(sql, '"', r->schema.children[i]->name);
    if (cell) continue;
    fw_buffer_text(sql, " AS VARCHAR) AS ");
    fw_duckdb_quote(sql, '"', r->schema.children[i]->name);
  }
  fw_buffer_text(sql, " FROM ");
  append_source(sql, r->columns);
  fw_buffer_byte(sql, 0);
  return fw_buffer_status(sql, err);
}

/* Opens the database, prepares the query of all columns and finds them. */
static furrow_status find_all(fw_columns_reader *r, furrow_error *err) {
  const fw_columns *c = r->columns;
  if (c->kind == COLUMNS_ARROW) {
    FW_TRY(fw_arrow_leaves_find(&r->all, &c->schema, err));
    r->schema = c->schema;
    r->schema.release = NULL;
    return FURROW_OK;
  }
  fw_buffer sql = {0};
  FW_TRY(fw_duckdb_open(&r->duckdb, c->database, err));
  fw_buffer_text(&sql, c->kind == COLUMNS_PARQUET ? "FROM " : c->sql);
  if (c->kind == COLUMNS_PARQUET) append_source(&sql, c);
  fw_buffer_byte(&sql, 0);
  const furrow_status wrong = c->kind == COLUMNS_PARQUET ? FURROW_E_FORMAT : FURROW_E_ARGUMENT;
  furrow_status status = fw_buffer_status(&sql, err);
  if (status == FURROW_OK) status = fw_duckdb_prepare(r->duckdb, sql.bytes, wrong, &r->schema, err);
  if (status == FURROW_OK) status = fw_arrow_leaves_find(&r->all, &r->schema, err);
  fw_buffer_clear(&sql);
  return status;
}

/* Prepares the query of the wanted columns. */
static furrow_status prepare_wanted(fw_columns_reader *r, furrow_error *err) {
  fw_buffer sql = {0};
  furrow_status status = select_columns(r, &sql, err);
  if (status == FURROW_OK) {
    r->schema.release(&r->schema);
    status = fw_duckdb_prepare(r->duckdb, sql.bytes, FURROW_E_FORMAT, &r->schema, err);
  }
  fw_buffer_clear(&sql);
  return status;
}

static furrow_status refuse_type(const fw_arrow_leaf *leaf, furrow_error *err) {
  fw_fail(err, FURROW_E_UNSUPPORTED, "column %s has a type that is not a cell (%s of Arrow)", leaf->name, leaf->format);
  fw_error_set_hint(err, "leave the column out, or cast it to text");
  return FURROW_E_UNSUPPORTED;
}

/* Finds the number of each column of the batches in the head; both are in the same order. Frames of a query have all
 * columns, to be compared with those of the next time. named: the wanted columns were named, and must be cells. */
static furrow_status make_builder(fw_columns_reader *r, bool named, furrow_error *err) {
  uint32_t *numbers = NULL;
  size_t at = 0;
  FW_TRY(fw_arrow_leaves_find(&r->leaves, &r->schema, err));
  FW_TRY(FW_ALLOC(&numbers, r->leaves.count, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < r->leaves.count; i++) {
    const fw_arrow_leaf *leaf = &r->leaves.leaves[i];
    const bool cell = leaf->type.storage != FW_ARROW_UNSUPPORTED;
    while (at < r->all.count && strcmp(r->all.leaves[at].name, leaf->name) != 0) at++;
    const bool wanted = at < r->all.count && r->wanted[at];
    numbers[i] = cell && (wanted || r->digest) ? (uint32_t)at : UINT32_MAX;
    if (wanted && named && !cell && status == FURROW_OK) status = refuse_type(leaf, err);
  }
  if (status == FURROW_OK) status = fw_frames_builder_create(&r->builder, &r->leaves, numbers, err);
  fw_free(numbers);
  return status;
}

static furrow_status write_head(fw_columns_reader *r, furrow_error *err) {
  const char **names;
  FW_TRY(FW_ALLOC(&names, r->all.count, err));
  for (size_t i = 0; i < r->all.count; i++) names[i] = r->all.leaves[i].name;
  fw_frames_write_head(&r->frames, names, r->all.count);
  fw_free((void *)names);
  return fw_buffer_status(&r->frames, err);
}

static furrow_status prepare_reader(fw_columns_reader *r, const char *const *names, size_t count, furrow_error *err) {
  FW_TRY(find_all(r, err));
  FW_TRY(mark_wanted(r, names, count, err));
  const columns_kind kind = r->columns->kind;
  return kind == COLUMNS_PARQUET || (kind == COLUMNS_QUERY && has_odd_columns(r)) ? prepare_wanted(r, err) : FURROW_OK;
}

static furrow_status open_frames(fw_columns_reader *r, const char *const *names, size_t count, furrow_error *err) {
  FW_TRY(prepare_reader(r, names, count, err));
  if (r->columns->kind == COLUMNS_QUERY) {
    r->digest = XXH3_createState();
    if (!r->digest) return fw_fail_memory(err, SIZE_MAX);
    XXH3_64bits_reset(r->digest);
  }
  FW_TRY(make_builder(r, names != NULL, err));
  FW_TRY(write_head(r, err));
  return r->duckdb ? fw_duckdb_run(r->duckdb, err) : FURROW_OK;
}

static furrow_status create_reader(fw_columns_reader **reader, const fw_columns *columns, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(reader, 1, err));
  (*reader)->columns = (fw_columns *)(uintptr_t)columns; /* only the digest of a query changes, under its lock */
  return FURROW_OK;
}

furrow_status fw_columns_reader_open(fw_columns_reader **reader, const fw_columns *columns, const char *const *names,
                                     size_t count, furrow_error *err) {
  fw_columns_reader *r;
  FW_TRY(create_reader(&r, columns, err));
  const furrow_status status = open_frames(r, names, count, err);
  return FW_HAND_OVER(status, reader, r, fw_columns_reader_close);
}

/* A query without ORDER BY may return its rows in another order when it runs again, as a join with several threads
 * does. Passes over different rows would give a dictionary and rows that do not belong together. */
static furrow_status check_digest(fw_columns_reader *r, furrow_error *err) {
  if (!r->digest) return FURROW_OK;
  fw_columns *c = r->columns;
  const uint64_t digest = XXH3_64bits_digest(r->digest);
  pthread_mutex_lock(&c->lock);
  const bool same = !c->known || c->digest == digest;
  c->known = true;
  c->digest = digest;
  pthread_mutex_unlock(&c->lock);
  if (same) return FURROW_OK;
  fw_fail(err, FURROW_E_STATE, "the query returned other rows, or another order, when it ran again");
  fw_error_set_hint(err, "give it an ORDER BY that decides between all rows, or write its result to a Parquet file");
  return FURROW_E_STATE;
}

/* Gives the next batch; the caller ends its use with let_go. FURROW_END. */
static furrow_status next_batch(fw_columns_reader *r, const struct ArrowArray **batch, furrow_error *err) {
  if (r->duckdb) {
    FW_TRY(fw_duckdb_next(r->duckdb, &r->own, err));
    *batch = &r->own;
    return FURROW_OK;
  }
  if (r->next == r->columns->count) return FURROW_END;
  *batch = &r->columns->batches[r->next++];
  return FURROW_OK;
}

/* Adds the next batch to the frames. */
static furrow_status read_batch(fw_columns_reader *r, furrow_error *err) {
  const struct ArrowArray *batch = NULL;
  furrow_status status = next_batch(r, &batch, err);
  if (status == FURROW_END) {
    r->ended = true;
    return fw_frames_finish(r->builder, &r->frames, err);
  }
  FW_TRY(status);
  status = fw_frames_add(r->builder, batch, &r->frames, err);
  let_go(r);
  return status;
}

furrow_status fw_columns_reader_read(fw_columns_reader *reader, void *buffer, size_t size, size_t *got,
                                     furrow_error *err) {
  *got = 0;
  while (*got < size) {
    const size_t left = reader->frames.size - reader->used, wanted = size - *got;
    const size_t n = left < wanted ? left : wanted;
    if (n > 0) memcpy((char *)buffer + *got, reader->frames.bytes + reader->used, n);
    reader->used += n;
    *got += n;
    if (*got == size) break;
    if (reader->ended) break;
    fw_buffer_reset(&reader->frames);
    reader->used = 0;
    FW_TRY(read_batch(reader, err));
    if (reader->digest && reader->frames.size > 0)
      (void)!XXH3_64bits_update(reader->digest, reader->frames.bytes, reader->frames.size);
    if (reader->ended) FW_TRY(check_digest(reader, err));
  }
  return FURROW_OK;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

furrow_status fw_columns_batches_open(fw_columns_reader **reader, const fw_columns *columns, const char *const *names,
                                      size_t count, furrow_error *err) {
  fw_columns_reader *r;
  FW_TRY(create_reader(&r, columns, err));
  furrow_status status = prepare_reader(r, names, count, err);
  if (status == FURROW_OK) status = fw_arrow_leaves_find(&r->leaves, &r->schema, err);
  if (status == FURROW_OK && r->duckdb) status = fw_duckdb_run(r->duckdb, err);
  return FW_HAND_OVER(status, reader, r, fw_columns_reader_close);
}

const fw_arrow_leaf *fw_columns_batches_leaf(const fw_columns_reader *reader, const char *name) {
  for (size_t i = 0; i < reader->leaves.count; i++)
    if (strcmp(reader->leaves.leaves[i].name, name) == 0) return &reader->leaves.leaves[i];
  return NULL;
}

furrow_status fw_columns_batches_next(fw_columns_reader *reader, const struct ArrowArray **batch, furrow_error *err) {
  if (reader->ended) return FURROW_END;
  let_go(reader);
  const furrow_status status = next_batch(reader, batch, err);
  reader->ended = status == FURROW_END;
  return status;
}

furrow_status fw_columns_find_leaves(const fw_columns *columns, fw_arrow_leaves *leaves, furrow_error *err) {
  fw_columns_reader *r;
  FW_TRY(create_reader(&r, columns, err));
  const furrow_status status = find_all(r, err);
  if (status == FURROW_OK) {
    *leaves = r->all;
    r->all = (fw_arrow_leaves){0};
  }
  fw_columns_reader_close(r);
  return status;
}

static furrow_status run_count(const fw_columns *c, const char *sql, uint64_t *rows, furrow_error *err) {
  fw_duckdb *duckdb = NULL;
  struct ArrowSchema schema = {0};
  struct ArrowArray batch = {0};
  furrow_status status = fw_duckdb_open(&duckdb, c->database, err);
  if (status == FURROW_OK) status = fw_duckdb_prepare(duckdb, sql, FURROW_E_FORMAT, &schema, err);
  if (status == FURROW_OK) status = fw_duckdb_run(duckdb, err);
  if (status == FURROW_OK) status = fw_duckdb_next(duckdb, &batch, err);
  if (status == FURROW_OK) {
    const bool whole = batch.length == 1 && batch.n_children == 1 && batch.children[0]->n_buffers == 2;
    if (whole) memcpy(rows, batch.children[0]->buffers[1], sizeof *rows);
    if (!whole) status = fw_fail(err, FURROW_E_FORMAT, "DuckDB does not give the number of rows");
  }
  if (batch.release) batch.release(&batch);
  if (schema.release) schema.release(&schema);
  fw_duckdb_close(duckdb);
  return status;
}

furrow_status fw_columns_count(const fw_columns *columns, uint64_t *rows, furrow_error *err) {
  fw_buffer sql = {0};
  if (columns->kind == COLUMNS_ARROW) {
    *rows = columns->rows;
    return FURROW_OK;
  }
  fw_buffer_text(&sql, "SELECT count(*)::BIGINT FROM ");
  append_source(&sql, columns);
  fw_buffer_byte(&sql, 0);
  furrow_status status = fw_buffer_status(&sql, err);
  if (status == FURROW_OK) status = run_count(columns, sql.bytes, rows, err);
  fw_buffer_clear(&sql);
  return status;
}
