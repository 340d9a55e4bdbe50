/* rows/table/table_source.c: a data set of tables, read by any number of threads.
 *
 * Threads claim numbered pieces of whole records and pass on their batches. After an error no more pieces are
 * claimed; of several errors the first piece's is reported, so the result of a scan does not depend on the threads. */
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "comm/collectives.h"
#include "furrow/table.h"
#include "io/stream.h"
#include "kern/text/tokenizer.h"
#include "rows/table/table_reader.h"
#include "rows/text/rowbuilder.h"

#define DEFAULT_PIECE ((size_t)512 << 10)
#define MOST_PIECE ((size_t)UINT32_MAX / 2)
#define HEAD_BYTES ((size_t)64 << 10)     /* first bytes of a file, where its header ends if pieces are smaller */
#define MOST_HEAD_BYTES ((size_t)8 << 20) /* the most bytes of a long first line that are inspected */

struct fw_table_source {
  fw_uri uri;
  fw_fileset set;
  fw_split *pipe; /* the open pipe that the head was read from */
  fw_table_layout layout;
  size_t head_file;      /* the file whose head was inspected */
  uint64_t pipe_records; /* offset of the first record in that file */
  bool scanned;
};

/* ---- Opening -------------------------------------------------------------------------------------------- */

static bool is_pipe(const fw_table_source *source, size_t file) {
  return file < source->set.nfiles && source->set.files[file].kind == FW_FILE_PIPE;
}

/* Detects the layout from the head, for which memory is given. delimiter: from the URI, or NULL. */
static furrow_status look_at_head(fw_table_source *source, fw_split *split, char *head, const char *delimiter,
                                  furrow_error *err) {
  size_t got = 0, file = 0, skip = 0;
  bool whole = true;
  FW_TRY(fw_split_head(split, head, MOST_HEAD_BYTES, &got, &file, &whole, err));
  memset(head + got, 0, FW_KERN_PAD);
  const fw_table_hints hints = {.kind = fw_uri_arg_value(&source->uri, "kind"),
                                .delimiter = delimiter,
                                .header = fw_uri_arg_value(&source->uri, "header"),
                                .newlines = fw_uri_arg_value(&source->uri, "newlines"),
                                .quotes = fw_uri_arg_value(&source->uri, "quotes")};
  furrow_status status = fw_table_layout_find(&source->layout, &hints, head, got, whole, err);
  if (status == FURROW_OK) status = fw_table_layout_skip_head(&source->layout, head, got, &skip, err);
  source->pipe_records = skip;
  source->head_file = file;
  if (status == FURROW_E_FORMAT && source->set.nfiles > 0) fw_error_set_file(err, source->set.files[file].path);
  return status;
}

static furrow_status open_source(fw_table_source *source, furrow_error *err) {
  fw_split *split = NULL;
  void *head = NULL;
  const char *given = fw_uri_arg_value(&source->uri, "delimiter");
  char *delimiter = NULL;
  furrow_status status = given ? fw_uri_decode(&delimiter, given, strlen(given), err) : FURROW_OK;
  if (status == FURROW_OK) status = fw_fileset_open(&source->set, source->uri.paths, source->uri.npaths, err);
  if (status == FURROW_OK) status = fw_split_open(&split, &source->set, 0, 1, DEFAULT_PIECE, FW_MAX_LINE_BYTES, err);
  if (status == FURROW_OK) status = fw_alloc(&head, MOST_HEAD_BYTES + 2 * FW_KERN_PAD, 1, err);
  if (status == FURROW_OK) {
    memset(head, 0, FW_KERN_PAD);
    status = look_at_head(source, split, (char *)head + FW_KERN_PAD, delimiter, err);
  }
  fw_free(delimiter);
  fw_free(head);
  if (status == FURROW_OK && is_pipe(source, 0))
    source->pipe = split;
  else
    fw_split_close(split);
  return status;
}

furrow_status fw_table_source_open(fw_table_source **source, const char *uri, furrow_error *err) {
  fw_table_source *s;
  FW_TRY(FW_ALLOC_ZERO(&s, 1, err));
  furrow_status status = fw_uri_parse(&s->uri, uri, err);
  if (status == FURROW_OK) status = open_source(s, err);
  return FW_HAND_OVER(status, source, s, fw_table_source_close);
}

void fw_table_source_close(fw_table_source *source) {
  if (!source) return;
  fw_split_close(source->pipe);
  fw_table_layout_clear(&source->layout);
  fw_fileset_clear(&source->set);
  fw_uri_clear(&source->uri);
  fw_free(source);
}

const fw_table_layout *fw_table_source_layout(const fw_table_source *source) {
  return &source->layout;
}

furrow_status fw_table_source_head(const fw_table_source *source, fw_buffer *head, furrow_error *err) {
  fw_stream *stream = NULL;
  char bytes[4096];
  uint64_t left = source->set.nfiles > 0 ? source->pipe_records : 0;
  furrow_status status = left > 0 ? fw_stream_open(&stream, &source->set.files[source->head_file], err) : FURROW_OK;
  for (size_t got = 1; left > 0 && got > 0 && status == FURROW_OK; left -= got) {
    status = fw_stream_read(stream, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes, &got, err);
    if (status == FURROW_OK) fw_buffer_append(head, bytes, got);
  }
  fw_stream_close(stream);
  return status == FURROW_OK ? fw_buffer_status(head, err) : status;
}

bool fw_table_source_repeats(const fw_table_source *source) {
  for (size_t i = 0; i < source->set.nfiles; i++)
    if (is_pipe(source, i)) return false;
  return true;
}

/* ---- Rows or a log? ------------------------------------------------------------------------------------- */

/* Whether the URI has only arguments that tables take: with others, its caller reads it as rows. */
static bool may_be_table(const fw_uri *uri) {
  static const char *const own[] = {"kind", "delimiter", "header", "newlines", "quotes"};
  size_t known = 0;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) known += fw_uri_arg_value(uri, own[i]) != NULL;
  return known == uri->nargs && !uri->cachefile;
}

/* Nothing is read from a pipe, because it cannot be read twice. */
furrow_status fw_table_can_look(const char *text, bool *can, furrow_error *err) {
  fw_uri uri = {0};
  fw_fileset set = {0};
  furrow_status status = fw_uri_parse(&uri, text, err);
  *can = status == FURROW_OK && may_be_table(&uri);
  if (*can) status = fw_fileset_open(&set, uri.paths, uri.npaths, err);
  for (size_t i = 0; i < set.nfiles; i++) *can &= set.files[i].kind != FW_FILE_PIPE;
  fw_fileset_clear(&set);
  fw_uri_clear(&uri);
  return status;
}

furrow_status furrow_table_needs_schema(const char *uri, bool *needed, furrow_error *err) {
  fw_table_source *source = NULL;
  bool can = false, found = false;
  FW_TRY(fw_table_can_look(uri, &can, err));
  furrow_status status = can ? fw_table_source_open(&source, uri, err) : FURROW_OK;
  if (source) found = source->layout.kind != FW_TABLE_DELIMITED || source->layout.texts;
  fw_table_source_close(source);
  if (status == FURROW_E_FORMAT || status == FURROW_E_UNSUPPORTED) status = FURROW_OK; /* it is not a table */
  if (status == FURROW_OK) *needed = found;
  return status;
}

/* ---- Scanning ------------------------------------------------------------------------------------------- */

typedef struct table_scan {
  fw_table_source *source;
  const fw_table *table;
  const fw_table_scan_params *params;
  void *const *users;
  fw_table_take *take;
  fw_split *split;

  pthread_mutex_t lock; /* protects the following members */
  uint64_t claimed;
  size_t counted_file;
  uint64_t counted_lines; /* lines of counted_file, which is read in order, in earlier pieces */
  bool stop;
  furrow_status status; /* status of the first piece that failed, or of a thread */
  furrow_error error;
  uint64_t failed;    /* the piece that failed */
  uint64_t first_bad; /* the piece of stats.first_bad */
  furrow_parser_stats stats;
} table_scan;

/* A piece that a thread is reading. */
typedef struct table_piece {
  fw_text text;
  uint64_t number;
  uint64_t lines; /* lines before the piece in its file, if the file is read in order */
  fw_chunk_stats stats;
  uint64_t records;
} table_piece;

/* Call it under the lock. */
static void keep_error(table_scan *scan, uint64_t piece, furrow_status status, const furrow_error *error) {
  scan->stop = true;
  if (scan->status != FURROW_OK && scan->failed <= piece) return;
  scan->status = status;
  scan->failed = piece;
  scan->error = *error;
}

/* Claims the next piece; returns false if there is none. */
static bool claim_piece(table_scan *scan, table_piece *piece) {
  furrow_error error = {0};
  pthread_mutex_lock(&scan->lock);
  furrow_status status = FURROW_END;
  if (!scan->stop) {
    status = fw_report_progress(scan->params->progress, scan->params->progress_user, "reading", scan->stats.bytes,
                                fw_split_size(scan->split), &error);
    if (status == FURROW_OK) {
      status = fw_split_claim(scan->split, &piece->text, &error);
      if (status == FURROW_E_PARSE && scan->source->layout.multiline)
        fw_error_set_hint(&error, "a quote may not be closed; newlines=no reads each line as a record");
    }
  }
  piece->number = scan->claimed;
  if (status == FURROW_OK) {
    const fw_text *text = &piece->text;
    scan->claimed++;
    if (text->file != scan->counted_file || text->offset == 0) scan->counted_lines = 0;
    scan->counted_file = text->file;
    piece->lines = scan->counted_lines;
    if (text->in_order && scan->source->layout.kind != FW_TABLE_COLUMNS)
      scan->counted_lines += fw_tokenizer_table()->count_lines(text->lines, text->length - text->line_end_added);
  } else {
    if (status != FURROW_END) keep_error(scan, piece->number, status, &error);
    scan->stop = true;
  }
  pthread_mutex_unlock(&scan->lock);
  return status == FURROW_OK;
}

/* Sets the file and the line of an error whose record has a known offset. */
static void locate_error(const table_scan *scan, const table_piece *piece, furrow_error *error) {
  const fw_text *text = &piece->text;
  if (error->file[0]) return;
  fw_error_set_file(error, scan->source->set.files[text->file].path);
  if (error->offset == FURROW_NO_OFFSET) return;
  uint64_t line = 0;
  if (scan->source->layout.kind == FW_TABLE_COLUMNS) {
    error->line = fw_table_columns_row(text->lines, text->length, (size_t)(error->offset - text->offset));
    error->offset = FURROW_NO_OFFSET;
    return;
  }
  if (text->in_order && error->offset >= text->offset)
    line = piece->lines + 1 + fw_tokenizer_table()->count_lines(text->lines, (size_t)(error->offset - text->offset));
  else if (fw_split_line_number(scan->split, text->file, error->offset, &line, NULL) != FURROW_OK)
    line = 0;
  error->line = line;
  if (error->column > 0) error->offset += error->column - 1;
}

/* Finds where the records of the piece begin: after the header, which may end after the first piece if pieces are
 * small. */
static furrow_status find_records(const table_scan *scan, const table_piece *piece, size_t *at, furrow_error *err) {
  const fw_text *text = &piece->text;
  const fw_table_layout *layout = &scan->source->layout;
  size_t skip = 0;
  *at = 0;
  if (text->offset == 0) return fw_table_layout_skip_head(layout, text->lines, text->length, at, err);
  if (text->offset >= HEAD_BYTES || !layout->header || layout->kind == FW_TABLE_COLUMNS) return FURROW_OK;
  if (is_pipe(scan->source, text->file)) {
    skip = (size_t)scan->source->pipe_records;
  } else {
    void *head = NULL;
    size_t got = 0;
    furrow_status status = fw_alloc(&head, HEAD_BYTES, 1, err);
    if (status == FURROW_OK) status = fw_split_file_head(scan->split, text->file, head, HEAD_BYTES, &got, err);
    if (status == FURROW_OK) status = fw_table_layout_skip_head(layout, head, got, &skip, err);
    fw_free(head);
    if (status != FURROW_OK) return status;
  }
  if (skip > text->offset) *at = skip - text->offset < text->length ? (size_t)(skip - text->offset) : text->length;
  return FURROW_OK;
}

static furrow_status read_piece(const table_scan *scan, void *user, table_piece *piece, fw_table_batch *batch,
                                furrow_error *err) {
  FW_TRY(fw_split_read(scan->split, &piece->text, err));
  if (piece->text.length == 0) return FURROW_OK;
  fw_table_cursor cursor = {.text = piece->text.lines,
                            .length = piece->text.length,
                            .offset = piece->text.offset,
                            .on_bad = scan->params->on_bad,
                            .stats = &piece->stats,
                            .other_column = scan->params->other_column,
                            .user = user};
  FW_TRY(find_records(scan, piece, &cursor.at, err));
  furrow_status status;
  while ((status = fw_table_next(scan->table, &cursor, batch, err)) == FURROW_OK) {
    const uint64_t bad = piece->stats.bad_rows;
    FW_TRY(scan->take(user, piece->number, &cursor, batch, err));
    piece->records += batch->records - (piece->stats.bad_rows - bad); /* refused records are not counted */
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* Adds the results of the piece to the scan. */
static void count_piece(table_scan *scan, const table_piece *piece, furrow_status status, furrow_error *error) {
  const fw_chunk_stats *stats = &piece->stats;
  furrow_error bad = stats->first_bad;
  if (stats->bad_rows > 0) locate_error(scan, piece, &bad);
  if (status != FURROW_OK) locate_error(scan, piece, error);
  pthread_mutex_lock(&scan->lock);
  if (stats->bad_rows > 0 && piece->number < scan->first_bad) {
    scan->first_bad = piece->number;
    scan->stats.first_bad = bad;
  }
  scan->stats.bad_rows += stats->bad_rows;
  scan->stats.recoded += stats->recoded;
  scan->stats.rows += piece->records;
  scan->stats.bytes += piece->text.length - (piece->text.length > 0 && piece->text.line_end_added);
  if (status != FURROW_OK) keep_error(scan, piece->number, status, error);
  pthread_mutex_unlock(&scan->lock);
}

/* The work of thread i. */
static void read_pieces(void *context, size_t i) {
  table_scan *scan = context;
  fw_table_batch batch = {0};
  table_piece piece = {0};
  furrow_error error = {0};
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && claim_piece(scan, &piece)) {
    error = (furrow_error){0};
    error.offset = FURROW_NO_OFFSET;
    piece.stats.bad_rows = 0;
    piece.records = 0;
    if (!batch.scratch)
      status = fw_table_batch_init(&batch, scan->table, &error); /* threads without a piece need none */
    if (status == FURROW_OK) status = read_piece(scan, scan->users ? scan->users[i] : NULL, &piece, &batch, &error);
    count_piece(scan, &piece, status, &error);
  }
  fw_text_clear(&piece.text);
  fw_table_batch_clear(&batch);
}

uint32_t fw_table_scan_threads(const fw_table_scan_params *params) {
  return params->threads ? params->threads : fw_processor_count();
}

static furrow_status open_split(table_scan *scan, furrow_error *err) {
  const fw_table_scan_params *params = scan->params;
  fw_table_source *source = scan->source;
  const size_t piece = params->piece_bytes ? params->piece_bytes : DEFAULT_PIECE;
  if (source->scanned && !fw_table_source_repeats(source))
    return fw_fail(err, FURROW_E_STATE, "standard input or a pipe can be read only once");
  source->scanned = true;
  if (piece > MOST_PIECE) return fw_fail(err, FURROW_E_ARGUMENT, "piece_bytes: at most 2 GiB");
  if (source->pipe) {
    if (params->nparts > 1) return fw_fail(err, FURROW_E_ARGUMENT, "a pipe cannot be read in parts");
    fw_split_set_piece(source->pipe, piece);
    scan->split = source->pipe;
  } else {
    FW_TRY(fw_split_open(&scan->split, &source->set, params->part, params->nparts ? params->nparts : 1, piece,
                         params->max_line ? params->max_line : FW_MAX_LINE_BYTES, err));
  }
  fw_records records;
  bool given = false;
  fw_table_records(scan->table, &records, &given);
  if (given) fw_split_set_records(scan->split, &records);
  if (params->whole_pieces && params->nparts > 1) scan->claimed = fw_split_align_indexed(scan->split);
  return FURROW_OK;
}

static furrow_status run_threads(table_scan *scan, furrow_error *err) {
  const uint32_t threads = fw_table_scan_threads(scan->params);
  if (threads == 1) {
    read_pieces(scan, 0);
    return FURROW_OK;
  }
  fw_pool *pool = NULL;
  furrow_status status = fw_pool_create(&pool, threads - 1, err);
  if (status == FURROW_OK) status = fw_pool_for(pool, threads, read_pieces, scan, err);
  fw_pool_free(pool);
  return status;
}

furrow_status fw_table_scan(fw_table_source *source, const fw_table *table, const fw_table_scan_params *params,
                            void *const *users, fw_table_take *take, furrow_parser_stats *stats, furrow_error *err) {
  table_scan scan = {.source = source,
                     .table = table,
                     .params = params,
                     .users = users,
                     .take = take,
                     .counted_file = SIZE_MAX,
                     .first_bad = UINT64_MAX};
  FW_TRY(open_split(&scan, err));
  pthread_mutex_init(&scan.lock, NULL);
  furrow_status status = run_threads(&scan, err);
  if (status == FURROW_OK && scan.status != FURROW_OK) {
    status = scan.status;
    if (err) *err = scan.error;
  }
  if (stats) {
    scan.stats.size = stats->size;
    *stats = scan.stats;
  }
  pthread_mutex_destroy(&scan.lock);
  if (scan.split != source->pipe) fw_split_close(scan.split);
  return status;
}

/* ---- Ranks ---------------------------------------------------------------------------------------------- */

static void add_stats(furrow_parser_stats *into, const furrow_parser_stats *next) {
  if (into->bad_rows == 0) into->first_bad = next->first_bad;
  if (into->ignored == 0) into->first_ignored = next->first_ignored;
  into->rows += next->rows;
  into->features += next->features;
  into->bytes += next->bytes;
  into->bad_rows += next->bad_rows;
  into->ignored += next->ignored;
  into->recoded += next->recoded;
}

furrow_status fw_rank_stats_join(const furrow_comm *comm, furrow_parser_stats *stats, furrow_error *err) {
  void *memory = NULL;
  size_t bytes = 0;
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_gather_all(comm, stats, sizeof *stats, &memory, &bytes, NULL, err));
  const furrow_parser_stats *all = memory;
  *stats = all[0];
  for (unsigned r = 1; r < comm->ranks; r++) add_stats(stats, &all[r]);
  fw_free(memory);
  return FURROW_OK;
}
