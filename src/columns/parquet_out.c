/* columns/parquet_out.c: writes Parquet files.
 *
 * DuckDB pulls the rows of a COPY out of a stream of Arrow, while the caller pushes them. So the COPY runs in a thread
 * of its own, which waits for each batch, and the caller waits until the batch before was taken: two batches are in
 * memory at a time. */
#include "columns/parquet_out.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "columns/duckdb.h"

struct fw_parquet_out {
  fw_duckdb *duckdb;
  fw_buffer sql;
  struct ArrowSchema schema;
  struct ArrowArrayStream stream;
  pthread_t thread;
  bool started;
  pthread_mutex_t lock; /* protects what follows */
  pthread_cond_t changed;
  struct ArrowArray batch; /* the next one; released: there is none */
  bool finished, dropped;  /* no batch follows; and the file is not wanted */
  bool ended;              /* the COPY has ended, with this result: */
  furrow_status status;
  furrow_error error;
};

/* ---- The stream, which DuckDB reads ---------------------------------------------------------------------- */

static void release_nothing(struct ArrowSchema *schema) {
  schema->release = NULL;
}

/* DuckDB asks for it several times: it gets views. */
static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
  fw_parquet_out *out = stream->private_data;
  *schema = out->schema;
  schema->release = release_nothing;
  return 0;
}

static int give_batch(struct ArrowArrayStream *stream, struct ArrowArray *batch) {
  fw_parquet_out *out = stream->private_data;
  pthread_mutex_lock(&out->lock);
  while (!out->batch.release && !out->finished) pthread_cond_wait(&out->changed, &out->lock);
  const bool dropped = out->dropped;
  *batch = out->batch;
  out->batch.release = NULL;
  pthread_cond_broadcast(&out->changed);
  pthread_mutex_unlock(&out->lock);
  if (!dropped) return 0;
  if (batch->release) batch->release(batch);
  batch->release = NULL;
  return ECANCELED;
}

static const char *give_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "the file is not wanted any more";
}

static void release_stream(struct ArrowArrayStream *stream) {
  stream->release = NULL;
}

/* ---- The thread ------------------------------------------------------------------------------------------ */

static void *copy(void *user) {
  fw_parquet_out *out = user;
  furrow_error error = {0};
  const furrow_status status = fw_duckdb_copy(out->duckdb, "batches", &out->stream, out->sql.bytes, &error);
  pthread_mutex_lock(&out->lock);
  out->ended = true;
  out->status = status;
  out->error = error;
  pthread_cond_broadcast(&out->changed);
  pthread_mutex_unlock(&out->lock);
  return NULL;
}

static furrow_status start(fw_parquet_out *out, const char *path, furrow_error *err) {
  FW_TRY(fw_duckdb_open(&out->duckdb, NULL, err));
  fw_buffer_text(&out->sql, "COPY (FROM batches) TO ");
  fw_duckdb_quote(&out->sql, '\'', path);
  fw_buffer_text(&out->sql, " (FORMAT parquet, USE_TMP_FILE false)");
  fw_buffer_byte(&out->sql, 0);
  FW_TRY(fw_buffer_status(&out->sql, err));
  out->stream = (struct ArrowArrayStream){.get_schema = give_schema,
                                          .get_next = give_batch,
                                          .get_last_error = give_error,
                                          .release = release_stream,
                                          .private_data = out};
  const int code = pthread_create(&out->thread, NULL, copy, out);
  if (code != 0) return fw_fail_errno(err, FURROW_E_IO, code, "cannot start a thread");
  out->started = true;
  return FURROW_OK;
}

furrow_status fw_parquet_out_open(fw_parquet_out **out, const char *path, struct ArrowSchema *schema,
                                  furrow_error *err) {
  fw_parquet_out *o = NULL;
  furrow_status status = FW_ALLOC_ZERO(&o, 1, err);
  if (status != FURROW_OK) {
    schema->release(schema);
    return status;
  }
  o->schema = *schema;
  schema->release = NULL;
  pthread_mutex_init(&o->lock, NULL);
  pthread_cond_init(&o->changed, NULL);
  status = start(o, path, err);
  return FW_HAND_OVER(status, out, o, fw_parquet_out_close);
}

/* Under the lock: the result of a COPY that has ended. */
static furrow_status result(const fw_parquet_out *out, furrow_error *err) {
  if (err && out->status != FURROW_OK) *err = out->error;
  return out->status;
}

furrow_status fw_parquet_out_add(fw_parquet_out *out, struct ArrowArray *batch, furrow_error *err) {
  furrow_status status = FURROW_OK;
  pthread_mutex_lock(&out->lock);
  while (out->batch.release && !out->ended) pthread_cond_wait(&out->changed, &out->lock);
  if (out->ended) {
    status = result(out, err);
    if (status == FURROW_OK) status = fw_fail(err, FURROW_E_IO, "DuckDB ended the file too early");
    batch->release(batch);
  } else {
    out->batch = *batch;
    batch->release = NULL;
    pthread_cond_broadcast(&out->changed);
  }
  pthread_mutex_unlock(&out->lock);
  return status;
}

/* Waits for the thread. */
static void end(fw_parquet_out *out, bool dropped) {
  if (!out->started) return;
  pthread_mutex_lock(&out->lock);
  out->finished = true;
  out->dropped = dropped;
  pthread_cond_broadcast(&out->changed);
  pthread_mutex_unlock(&out->lock);
  pthread_join(out->thread, NULL);
  out->started = false;
}

furrow_status fw_parquet_out_finish(fw_parquet_out *out, furrow_error *err) {
  end(out, false);
  return result(out, err);
}

void fw_parquet_out_close(fw_parquet_out *out) {
  if (!out) return;
  end(out, true);
  fw_duckdb_close(out->duckdb);
  if (out->batch.release) out->batch.release(&out->batch);
  if (out->schema.release) out->schema.release(&out->schema);
  fw_buffer_clear(&out->sql);
  pthread_cond_destroy(&out->changed);
  pthread_mutex_destroy(&out->lock);
  fw_free(out);
}
