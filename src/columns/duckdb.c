/* columns/duckdb.c: loads DuckDB's library and runs queries.
 *
 * The few functions that are used are declared here, as DuckDB's C interface defines them: no header of DuckDB is
 * needed to build Furrow, and no library to run it. DuckDB installs and loads extensions by itself when a query seems
 * to need one; that is switched off, so that nothing is fetched or executed that the user did not install. It writes
 * no temporary files either: what does not fit into memory fails with its message. */
#include "columns/duckdb.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- The library ---------------------------------------------------------------------------------------- */

typedef uint64_t idx;
typedef struct handle *handle; /* of a database, a connection, a statement … */

typedef struct query_result {
  idx counts[3];
  void *columns;
  char *message;
  void *internal;
} query_result;

enum { RESULT_OK = 0, STATEMENT_SELECT = 1, STATEMENT_EXPLAIN = 11 };

/* name without "duckdb_", result, parameters */
#define FUNCTIONS(X)                                                                       \
  X(create_config, int, (handle *))                                                        \
  X(set_config, int, (handle, const char *, const char *))                                 \
  X(destroy_config, void, (handle *))                                                      \
  X(open_ext, int, (const char *, handle *, handle, char **))                              \
  X(close, void, (handle *))                                                               \
  X(connect, int, (handle, handle *))                                                      \
  X(disconnect, void, (handle *))                                                          \
  X(query, int, (handle, const char *, query_result *))                                    \
  X(arrow_scan, int, (handle, const char *, struct ArrowArrayStream *))                    \
  X(prepare, int, (handle, const char *, handle *))                                        \
  X(prepare_error, const char *, (handle))                                                 \
  X(destroy_prepare, void, (handle *))                                                     \
  X(prepared_statement_type, int, (handle))                                                \
  X(prepared_statement_column_count, idx, (handle))                                        \
  X(prepared_statement_column_name, const char *, (handle, idx))                           \
  X(prepared_statement_column_logical_type, handle, (handle, idx))                         \
  X(destroy_logical_type, void, (handle *))                                                \
  X(execute_prepared_streaming, int, (handle, query_result *))                             \
  X(result_error, const char *, (query_result *))                                          \
  X(destroy_result, void, (query_result *))                                                \
  X(fetch_chunk, handle, (query_result))                                                   \
  X(destroy_data_chunk, void, (handle *))                                                  \
  X(connection_get_arrow_options, void, (handle, handle *))                                \
  X(destroy_arrow_options, void, (handle *))                                               \
  X(to_arrow_schema, handle, (handle, handle *, const char **, idx, struct ArrowSchema *)) \
  X(data_chunk_to_arrow, handle, (handle, handle, struct ArrowArray *))                    \
  X(error_data_has_error, bool, (handle))                                                  \
  X(error_data_message, const char *, (handle))                                            \
  X(destroy_error_data, void, (handle *))                                                  \
  X(free, void, (void *))

typedef struct library {
#define FW_X(name, result, parameters) result(*name) parameters;
  FUNCTIONS(FW_X)
#undef FW_X
} library;

static library duck;
static bool loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static furrow_status fail_to_load(const char *given, furrow_error *err) {
  const char *reason = dlerror();
  fw_fail(err, FURROW_E_NOT_FOUND, "Parquet and SQL are read by DuckDB, whose library cannot be loaded: %s",
          reason ? reason : "unknown reason");
  if (given)
    fw_error_set_hint(err, "FURROW_DUCKDB must name libduckdb.so, 1.4 or later");
  else
    fw_error_set_hint(err, "get libduckdb.so, 1.4 or later, from duckdb.org or with npm (@duckdb/node-bindings-…), and "
                           "set FURROW_DUCKDB to its path");
  return FURROW_E_NOT_FOUND;
}

/* Call it under the lock. The library stays loaded. */
static furrow_status load(furrow_error *err) {
  const char *given = getenv("FURROW_DUCKDB");
  if (given && !given[0]) given = NULL;
  void *object = dlopen(given ? given : "libduckdb.so", RTLD_NOW | RTLD_LOCAL);
  if (!object) return fail_to_load(given, err);
#define FW_X(name, result, parameters)                                                                     \
  *(void **)&duck.name = dlsym(object, "duckdb_" #name);                                                   \
  if (!duck.name) {                                                                                        \
    fw_fail(err, FURROW_E_UNSUPPORTED, "DuckDB's library lacks duckdb_%s: 1.4 or later is needed", #name); \
    if (given) fw_error_set_file(err, given);                                                              \
    dlclose(object);                                                                                       \
    return FURROW_E_UNSUPPORTED;                                                                           \
  }
  FUNCTIONS(FW_X)
#undef FW_X
  loaded = true;
  return FURROW_OK;
}

static furrow_status need_library(furrow_error *err) {
  pthread_mutex_lock(&lock);
  const furrow_status status = loaded ? FURROW_OK : load(err);
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- A database ----------------------------------------------------------------------------------------- */

struct fw_duckdb {
  handle database, connection, options, statement;
  query_result result;
  bool running;
};

/* DuckDB's messages have several lines; the first ones say what is wrong. */
static furrow_status fail_message(furrow_status status, const char *message, furrow_error *err) {
  fw_buffer text = {0};
  const char *at = message ? message : "unknown reason";
  for (; *at; at++) {
    if (*at == '\n' && at[1] == '\n') break;
    fw_buffer_byte(&text, *at == '\n' ? ' ' : *at);
  }
  while (text.size > 0 && (text.bytes[text.size - 1] == '.' || text.bytes[text.size - 1] == ' ')) text.size--;
  fw_buffer_byte(&text, 0);
  FW_TRY(fw_buffer_status(&text, err));
  fw_fail(err, status, "DuckDB: %s", text.bytes);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status configure(handle *config, bool file, furrow_error *err) {
  static const char *const settings[][2] = {{"autoinstall_known_extensions", "false"},
                                            {"autoload_known_extensions", "false"},
                                            {"allow_community_extensions", "false"},
                                            {"temp_directory", ""},
                                            {"access_mode", "READ_ONLY"}};
  const size_t count = sizeof settings / sizeof *settings - !file;
  if (duck.create_config(config) != RESULT_OK) return fw_fail_memory(err, SIZE_MAX);
  for (size_t i = 0; i < count; i++)
    if (duck.set_config(*config, settings[i][0], settings[i][1]) != RESULT_OK)
      return fw_fail(err, FURROW_E_UNSUPPORTED, "DuckDB has no setting %s", settings[i][0]);
  return FURROW_OK;
}

/* Runs a statement without a result. */
static furrow_status run_statement(fw_duckdb *d, const char *sql, furrow_status wrong, furrow_error *err) {
  query_result result;
  memset(&result, 0, sizeof result);
  const bool right = duck.query(d->connection, sql, &result) == RESULT_OK;
  const furrow_status status = right ? FURROW_OK : fail_message(wrong, duck.result_error(&result), err);
  duck.destroy_result(&result);
  return status;
}

static furrow_status open_database(fw_duckdb *d, const char *database, furrow_error *err) {
  handle config = NULL;
  char *message = NULL;
  FW_TRY(need_library(err));
  furrow_status status = configure(&config, database != NULL, err);
  if (status == FURROW_OK &&
      duck.open_ext(database ? database : ":memory:", &d->database, config, &message) != RESULT_OK) {
    status = fail_message(FURROW_E_FORMAT, message, err);
    if (database) fw_error_set_file(err, database);
  }
  if (message) duck.free(message);
  if (config) duck.destroy_config(&config);
  FW_TRY(status);
  if (duck.connect(d->database, &d->connection) != RESULT_OK) return fw_fail_memory(err, SIZE_MAX);
  duck.connection_get_arrow_options(d->connection, &d->options);
  /* lets DuckDB's threads work ahead: with its own 1 MB they spend more time waiting for their turn than reading */
  return run_statement(d, "SET streaming_buffer_size = '16MB'", FURROW_E_UNSUPPORTED, err);
}

furrow_status fw_duckdb_open(fw_duckdb **duckdb, const char *database, furrow_error *err) {
  fw_duckdb *d;
  FW_TRY(FW_ALLOC_ZERO(&d, 1, err));
  const furrow_status status = open_database(d, database, err);
  return FW_HAND_OVER(status, duckdb, d, fw_duckdb_close);
}

static void end_query(fw_duckdb *d) {
  if (d->running) duck.destroy_result(&d->result);
  if (d->statement) duck.destroy_prepare(&d->statement);
  d->running = false;
  d->statement = NULL;
}

void fw_duckdb_close(fw_duckdb *duckdb) {
  if (!duckdb) return;
  end_query(duckdb);
  if (duckdb->options) duck.destroy_arrow_options(&duckdb->options);
  if (duckdb->connection) duck.disconnect(&duckdb->connection);
  if (duckdb->database) duck.close(&duckdb->database);
  fw_free(duckdb);
}

/* ---- Queries -------------------------------------------------------------------------------------------- */

/* Frees the error that a function returned. */
static furrow_status check_error(handle error, furrow_status wrong, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (error && duck.error_data_has_error(error)) status = fail_message(wrong, duck.error_data_message(error), err);
  if (error) duck.destroy_error_data(&error);
  return status;
}

static furrow_status give_schema(fw_duckdb *d, struct ArrowSchema *schema, furrow_error *err) {
  const idx count = duck.prepared_statement_column_count(d->statement);
  handle *types = NULL;
  const char **names = NULL;
  furrow_status status = FW_ALLOC_ZERO(&types, (size_t)count, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&names, (size_t)count, err);
  for (idx i = 0; i < count && status == FURROW_OK; i++) {
    types[i] = duck.prepared_statement_column_logical_type(d->statement, i);
    names[i] = duck.prepared_statement_column_name(d->statement, i);
    if (!types[i] || !names[i])
      status = fw_fail(err, FURROW_E_UNSUPPORTED, "DuckDB does not say what column %llu is", (unsigned long long)i);
  }
  if (status == FURROW_OK)
    status = check_error(duck.to_arrow_schema(d->options, types, names, count, schema), FURROW_E_UNSUPPORTED, err);
  for (idx i = 0; types && names && i < count; i++) {
    if (types[i]) duck.destroy_logical_type(&types[i]);
    duck.free((void *)(uintptr_t)names[i]);
  }
  fw_free(types);
  fw_free((void *)names);
  return status;
}

furrow_status fw_duckdb_prepare(fw_duckdb *duckdb, const char *sql, furrow_status wrong, struct ArrowSchema *schema,
                                furrow_error *err) {
  end_query(duckdb);
  if (duck.prepare(duckdb->connection, sql, &duckdb->statement) != RESULT_OK)
    return fail_message(wrong, duckdb->statement ? duck.prepare_error(duckdb->statement) : NULL, err);
  if (duck.prepared_statement_type(duckdb->statement) != STATEMENT_SELECT)
    return fw_fail(err, FURROW_E_ARGUMENT, "the SQL is not a query: it begins with SELECT, FROM or WITH");
  return give_schema(duckdb, schema, err);
}

furrow_status fw_duckdb_run(fw_duckdb *duckdb, furrow_error *err) {
  duckdb->running = true;
  if (duck.execute_prepared_streaming(duckdb->statement, &duckdb->result) == RESULT_OK) return FURROW_OK;
  return fail_message(FURROW_E_FORMAT, duck.result_error(&duckdb->result), err);
}

furrow_status fw_duckdb_next(fw_duckdb *duckdb, struct ArrowArray *batch, furrow_error *err) {
  handle chunk = duck.fetch_chunk(duckdb->result);
  if (!chunk) {
    const char *message = duck.result_error(&duckdb->result);
    return message ? fail_message(FURROW_E_FORMAT, message, err) : FURROW_END;
  }
  *batch = (struct ArrowArray){0};
  const furrow_status status =
      check_error(duck.data_chunk_to_arrow(duckdb->options, chunk, batch), FURROW_E_FORMAT, err);
  duck.destroy_data_chunk(&chunk);
  if (status == FURROW_OK || !batch->release) return status;
  batch->release(batch);
  return status;
}

furrow_status fw_duckdb_copy(fw_duckdb *duckdb, const char *name, struct ArrowArrayStream *stream, const char *sql,
                             furrow_error *err) {
  FW_TRY(run_statement(duckdb, "SET threads = 1", FURROW_E_UNSUPPORTED, err));
  if (duck.arrow_scan(duckdb->connection, name, stream) != RESULT_OK)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "DuckDB cannot read batches of Arrow");
  return run_statement(duckdb, sql, FURROW_E_IO, err);
}

void fw_duckdb_quote(fw_buffer *sql, char quote, const char *text) {
  fw_buffer_byte(sql, quote);
  for (; *text; text++) {
    if (*text == quote) fw_buffer_byte(sql, quote);
    fw_buffer_byte(sql, *text);
  }
  fw_buffer_byte(sql, quote);
}
