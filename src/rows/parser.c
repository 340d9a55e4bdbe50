/* rows/parser.c: from a URI to blocks, with any number of threads.
 *
 * The text comes in numbered pieces (io/split.h). A thread takes the next number, reads that piece and parses it
 * into the slot of that number; the caller takes the slots in order. So the blocks and their order are the same for
 * any number of threads, reading overlaps parsing, memory is limited to the slots, and the caller's block is the
 * container that a thread filled. */
#include "rows/parser.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/pool.h"
#include "columns/frames.h"
#include "kern/text/tokenizer.h"
#include "rows/block/block_reader.h"
#include "rows/blockiter.h"
#include "rows/registry.h"

#define DEFAULT_CHUNK ((size_t)512 << 10)
#define MAX_THREADS 1024
#define HEAD_BYTES (64 << 10)     /* first bytes of a file, where its header begins, if it has one */
#define MOST_HEAD_BYTES (8 << 20) /* the most bytes of a long first line that are inspected */

typedef struct slot {
  fw_chunk chunk;
  furrow_status status;
  furrow_error error;
  uint64_t lines; /* lines of the text, if lines are numbered by counting */
  bool ready;     /* protected by the parser's lock */
} slot;

/* Memory that a piece needs only while it is parsed. A thread reuses it for all of its slots, so that it stays in
 * the caches of its core. */
typedef struct workspace {
  char *text;
  size_t text_capacity;
  uint64_t *scratch;
  size_t scratch_capacity;
} workspace;

typedef enum base_state { BASE_KNOWN, BASE_TO_BE_FOUND } base_state;

struct furrow_parser {
  furrow_parser_params params;
  fw_uri uri;
  fw_fileset set;
  fw_split *split; /* NULL: not open yet, or rows come from a reader */
  char *head;      /* the first bytes of the data, until rows are read; NULL: not read yet */
  size_t head_size, head_file;
  bool head_whole;
  fw_block_reader *reader; /* NULL: rows are parsed from text */
  fw_format format;
  furrow_args *args;
  void *state; /* state of the format */
  char reason[128];
  bool named;         /* the caller named the format */
  bool by_content;    /* it was detected from the first bytes */
  fw_sniffed sniffed; /* the format that the data looks like */
  base_state base_state;
  uint32_t base;
  bool format_open;
  size_t record_size;       /* record size of a format with records of one size */
  uint64_t pipe_rows_begin; /* offset of the first row of a pipe, after its header */

  pthread_mutex_t lock; /* protects the members up to `pool` */
  pthread_cond_t slot_freed, slot_ready;
  size_t free_slots;
  bool stop;
  pthread_mutex_t source; /* serialises claiming; locked before `lock` */
  uint64_t claimed;       /* number of the next piece; changed under both locks */
  bool ended;             /* no more pieces will be claimed */
  fw_pool *pool;          /* threads in addition to the caller's; NULL: none */
  bool started;
  slot *slots;
  size_t nslots;

  /* the caller's side */
  workspace own;  /* the caller parses, too */
  uint64_t taken; /* number of the next piece to return */
  slot *held;     /* the slot of the caller's block */
  bool has_block; /* the caller holds a block */
  furrow_rowblock block;
  furrow_status final; /* not OK: the status that every later next returns */
  furrow_error final_error;
  furrow_parser_stats stats;
  size_t counted_file;
  uint64_t counted_lines; /* lines of counted_file in earlier pieces */
  uint64_t missing;       /* features so far that stand for a missing cell */
  bool label_known, has_label;
};

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status check_params(furrow_parser_params *p, furrow_error *err) {
  if (!p->format) p->format = "auto";
  if (p->nparts == 0 || p->part >= p->nparts)
    return fw_fail(err, FURROW_E_ARGUMENT, "part %u of %u: there is no such part", p->part, p->nparts);
  if (furrow_key_size(p->key_type) == 0) return fw_fail(err, FURROW_E_ARGUMENT, "key_type is none");
  if (furrow_value_size(p->value_type) == 0) return fw_fail(err, FURROW_E_ARGUMENT, "value_type is none");
  if (p->on_bad != FURROW_ON_BAD_ERROR && p->on_bad != FURROW_ON_BAD_SKIP)
    return fw_fail(err, FURROW_E_ARGUMENT, "on_bad is neither error nor skip");
  if (p->threads > MAX_THREADS) return fw_fail(err, FURROW_E_ARGUMENT, "threads: at most %d", MAX_THREADS);
  if (p->threads == 0) p->threads = fw_processor_count();
  if (p->chunk_bytes == 0) p->chunk_bytes = DEFAULT_CHUNK;
  if (p->max_line_bytes == 0) p->max_line_bytes = FW_MAX_LINE_BYTES;
  const size_t most = UINT32_MAX / 2;
  if (p->chunk_bytes > most || p->max_line_bytes > most)
    return fw_fail(err, FURROW_E_ARGUMENT, "%s must be less than 2 GiB",
                   p->chunk_bytes > most ? "chunk_bytes" : "max_line_bytes");
  return FURROW_OK;
}

/* Whether the URI has an argument that only csv accepts: then the format is csv. */
static bool has_csv_argument(const fw_uri *uri, char *reason, size_t size) {
  for (size_t i = 0; i < fw_format_csv.public.nargs; i++) {
    const char *name = fw_format_csv.public.args[i].name;
    if (!fw_uri_arg_value(uri, name)) continue;
    snprintf(reason, size, "argument %s", name);
    return true;
  }
  return false;
}

/* Uses the format that the caller names. */
static furrow_status use_format(furrow_parser *p, const char *name, furrow_error *err) {
  const char *argument = fw_uri_arg_value(&p->uri, "format");
  if (p->format.public.name && strcmp(p->format.public.name, name) == 0) return FURROW_OK;
  snprintf(p->reason, sizeof p->reason, "given");
  if (argument && strcmp(argument, "auto") != 0 && strcmp(argument, name) != 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "the URI says format=%s, the caller says %s", argument, name);
  return fw_format_find(name, &p->format, err);
}

/* Chooses the format by name or by the URI's arguments. If neither decides, it is detected from the data later. */
static furrow_status choose_by_name(furrow_parser *p, furrow_error *err) {
  const char *argument = fw_uri_arg_value(&p->uri, "format");
  if (p->named) return use_format(p, p->params.format, err);
  if (argument && strcmp(argument, "auto") != 0)
    snprintf(p->reason, sizeof p->reason, "argument format=%s", argument);
  else if (has_csv_argument(&p->uri, p->reason, sizeof p->reason))
    argument = "csv";
  else
    return FURROW_OK;
  return fw_format_find(argument, &p->format, err);
}

static furrow_status choose_format(furrow_parser *p, furrow_error *err) {
  bool in_memory = false;
  FW_TRY(fw_memory_rows_named(p->uri.paths, p->uri.npaths, &in_memory, err));
  if (!in_memory) return choose_by_name(p, err);
  p->format = (fw_format){.public = fw_format_memory};
  snprintf(p->reason, sizeof p->reason, "rows in memory");
  return FURROW_OK;
}

static furrow_status begin_format(furrow_parser *p, furrow_error *err) {
  FW_TRY(fw_args_create(&p->args, &p->format.public, &p->uri, err));
  const furrow_status status = p->format.public.open ? p->format.public.open(p->args, &p->state, err) : FURROW_OK;
  p->format_open = status == FURROW_OK;
  return status;
}

static void end_format(furrow_parser *p) {
  fw_block_reader_close(p->reader);
  if (p->format_open && p->format.public.close) p->format.public.close(p->state);
  fw_args_free(p->args);
  p->reader = NULL;
  p->args = NULL;
  p->state = NULL;
  p->format_open = false;
}

static bool is_of_records(const furrow_rows_format *format) {
  return format->record_size || format->find_record || format->record_length;
}

/* Tells the split how to find records. */
static furrow_status set_records(furrow_parser *p, furrow_error *err) {
  const furrow_rows_format *format = &p->format.public;
  fw_records own = {0};
  if (p->format.records && p->format.records(p->state, &own)) fw_split_set_records(p->split, &own);
  if (p->format.sequential && p->params.nparts > 1 && p->format.sequential(p->state)) {
    fw_fail(err, FURROW_E_ARGUMENT, "rows with a history cannot be read in parts");
    fw_error_set_hint(err, "one process reads them: each row depends on the rows before it");
    return FURROW_E_ARGUMENT;
  }
  if (!is_of_records(format)) return FURROW_OK;
  p->record_size = format->record_size ? format->record_size(p->state) : 0;
  if (format->record_size && p->record_size == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "format %s says that a record has no bytes", format->name);
  const fw_records records = {.head = format->head_bytes,
                              .size = p->record_size,
                              .find = format->find_record,
                              .length = format->record_length,
                              .state = p->state};
  fw_split_set_records(p->split, &records);
  return FURROW_OK;
}

/* Opens the data and reads its first bytes, once. */
static furrow_status read_head(furrow_parser *p, furrow_error *err) {
  const furrow_parser_params *given = &p->params;
  void *head = NULL;
  if (p->head) return FURROW_OK;
  if (!p->split)
    FW_TRY(
        fw_split_open(&p->split, &p->set, given->part, given->nparts, given->chunk_bytes, given->max_line_bytes, err));
  FW_TRY(fw_alloc(&head, MOST_HEAD_BYTES, 1, err));
  const furrow_status status =
      fw_split_head(p->split, head, MOST_HEAD_BYTES, &p->head_size, &p->head_file, &p->head_whole, err);
  if (status == FURROW_OK)
    p->head = head;
  else
    fw_free(head);
  return status;
}

/* Checks that the first bytes are text and detects their format from up to `most` lines. */
static furrow_status sniff_head(furrow_parser *p, size_t most, furrow_error *err) {
  FW_TRY(read_head(p, err));
  if (is_of_records(&p->format.public)) return FURROW_OK;
  if (p->format.row_number && fw_frames_begin(p->head, p->head_size)) return FURROW_OK;
  const furrow_status status = fw_sniff_text(p->head, p->head_size, err);
  if (status == FURROW_OK)
    p->sniffed = fw_sniff_format(p->head, p->head_size, p->head_whole, most);
  else
    fw_error_set_file(err, p->set.files[p->head_file].path);
  return status;
}

furrow_status fw_parser_find_format(furrow_parser *p, const char **name, furrow_error *err) {
  if (!p->format.public.name) {
    FW_TRY(sniff_head(p, 1000, err));
    snprintf(p->reason, sizeof p->reason, "content: %s", p->sniffed.why);
    FW_TRY(fw_format_find(p->sniffed.format, &p->format, err));
    p->by_content = true;
  }
  *name = p->format.public.name;
  return FURROW_OK;
}

furrow_status fw_parser_looks_like_dummy(furrow_parser *p, bool *dummy, furrow_error *err) {
  FW_TRY(sniff_head(p, 1000, err));
  *dummy = strcmp(p->sniffed.format, fw_format_dummy.public.name) == 0;
  return FURROW_OK;
}

/* Shows the first bytes to the format, if it needs them. */
static furrow_status show_head(furrow_parser *p, furrow_error *err) {
  size_t skip = 0;
  if (p->format.look) FW_TRY(p->format.look(p->state, p->head, p->head_size, p->head_whole, err));
  if (p->format.skip_head && p->head_size > 0) FW_TRY(p->format.skip_head(p->state, p->head, p->head_size, &skip, err));
  p->pipe_rows_begin = skip;
  return FURROW_OK;
}

static furrow_status begin_text(furrow_parser *p, furrow_error *err) {
  if (!p->by_content) FW_TRY(sniff_head(p, 20, err));
  furrow_status status = begin_format(p, err);
  if (status == FURROW_OK) status = show_head(p, err);
  if (status == FURROW_E_FORMAT || status == FURROW_E_PARSE) fw_error_set_file(err, p->set.files[p->head_file].path);
  FW_TRY(status);
  if (p->format.set_base) {
    const int64_t mode = furrow_args_int(p->args, "indexing_mode");
    fw_parser_set_base(p, mode > 0);
    if (mode < 0) p->base_state = BASE_TO_BE_FOUND;
  }
  FW_TRY(set_records(p, err));
  if (p->params.whole_chunks) fw_split_align(p->split);
  return FURROW_OK;
}

static void drop_slots(furrow_parser *p) {
  for (size_t i = 0; i < p->nslots; i++) fw_chunk_clear(&p->slots[i].chunk);
  fw_free(p->slots);
  p->slots = NULL;
  p->nslots = p->free_slots = 0;
}

/* The caller holds one slot, one is ready for it, and each thread fills one. One more per thread can be filled while
 * the caller parses a slot itself and does not take any. */
static furrow_status make_slots(furrow_parser *p, furrow_error *err) {
  const size_t count = p->params.threads == 1 ? 1 : 2 * p->params.threads + 2;
  FW_TRY(FW_ALLOC_ZERO(&p->slots, count, err));
  furrow_status status = FURROW_OK;
  p->nslots = p->free_slots = count;
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    fw_chunk *chunk = &p->slots[i].chunk;
    chunk->format = &p->format;
    chunk->state = p->state;
    chunk->on_bad = p->params.on_bad;
    chunk->record_size = p->record_size;
    status = furrow_container_create(&chunk->out, p->params.key_type, p->params.value_type, err);
  }
  if (status != FURROW_OK) drop_slots(p);
  return status;
}

static furrow_status open_reader(furrow_parser *p, furrow_error *err) {
  FW_TRY(begin_format(p, err));
  const furrow_rows_request request = {.paths = (const char *const *)p->uri.paths,
                                       .npaths = p->uri.npaths,
                                       .args = p->args,
                                       .part = p->params.part,
                                       .nparts = p->params.nparts,
                                       .key_type = p->params.key_type,
                                       .value_type = p->params.value_type,
                                       .threads = p->params.threads,
                                       .on_bad = p->params.on_bad,
                                       .chunk_bytes = p->params.chunk_bytes};
  return fw_block_reader_open(&p->reader, &p->format.public, p->state, &request, err);
}

static furrow_status begin_rows(furrow_parser *p, furrow_error *err) {
  return p->format.public.open_rows ? open_reader(p, err) : begin_text(p, err);
}

furrow_status fw_parser_begin(furrow_parser *p, const char *format, const fw_uri *uri, furrow_error *err) {
  fw_uri copy = {0};
  FW_TRY(fw_uri_copy(&copy, uri, err));
  end_format(p);
  fw_uri_clear(&p->uri);
  p->uri = copy;
  p->by_content = false;
  FW_TRY(use_format(p, format, err));
  return begin_rows(p, err);
}

furrow_status fw_parser_open_files(furrow_parser **parser, const fw_uri *uri, const furrow_parser_params *params,
                                   furrow_error *err) {
  furrow_parser_params given;
  furrow_parser_params_init(&given);
  FW_TRY(FW_PARAMS_READ(&given, params, furrow_parser_params, err));
  FW_TRY(check_params(&given, err));
  furrow_parser *p = NULL;
  FW_TRY(FW_ALLOC_ZERO(&p, 1, err));
  p->params = given;
  p->named = strcmp(given.format, "auto") != 0;
  pthread_mutex_init(&p->lock, NULL);
  pthread_mutex_init(&p->source, NULL);
  pthread_cond_init(&p->slot_freed, NULL);
  pthread_cond_init(&p->slot_ready, NULL);
  furrow_status status = fw_uri_copy(&p->uri, uri, err);
  if (status == FURROW_OK) status = choose_format(p, err);
  p->params.format = NULL; /* it is the caller's string */
  if (status == FURROW_OK && !p->format.public.open_rows)
    status = fw_fileset_open(&p->set, p->uri.paths, p->uri.npaths, err);
  return FW_HAND_OVER(status, parser, p, furrow_parser_close);
}

furrow_status fw_parser_open(furrow_parser **parser, const fw_uri *uri, const furrow_parser_params *params,
                             furrow_error *err) {
  furrow_parser *p = NULL;
  const char *format = NULL;
  FW_TRY(fw_parser_open_files(&p, uri, params, err));
  furrow_status status = fw_parser_find_format(p, &format, err);
  /* A caller that names the format csv gets dmlc-core's delimiter for text without a header. */
  if (status == FURROW_OK && !p->named && strcmp(format, "csv") == 0)
    status = fw_uri_add_arg(&p->uri, "delimiter", "auto", err);
  if (status == FURROW_OK) status = begin_rows(p, err);
  return FW_HAND_OVER(status, parser, p, furrow_parser_close);
}

furrow_status furrow_parser_open(furrow_parser **parser, const char *uri, const furrow_parser_params *params,
                                 furrow_error *err) {
  fw_uri parsed = {0};
  FW_TRY(fw_uri_parse(&parsed, uri, err));
  const furrow_status status = fw_parser_open(parser, &parsed, params, err);
  fw_uri_clear(&parsed);
  return status;
}

furrow_status furrow_parser_open_part(furrow_parser **parser, const char *uri, uint32_t part, uint32_t nparts,
                                      const char *format, furrow_error *err) {
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.part = part;
  params.nparts = nparts;
  params.format = format;
  return furrow_parser_open(parser, uri, &params, err);
}

/* ---- The threads' side ---------------------------------------------------------------------------------- */

/* Takes the next number and claims its piece. NULL: there is none. */
static slot *claim_piece(furrow_parser *p) {
  pthread_mutex_lock(&p->source);
  slot *s = NULL;
  if (!p->ended) {
    s = &p->slots[p->claimed % p->nslots];
    s->status = fw_split_claim(p->split, &s->chunk.text, &s->error);
    pthread_mutex_lock(&p->lock);
    p->ended = s->status != FURROW_OK;
    if (s->status == FURROW_END)
      s = NULL;
    else
      p->claimed++;
    pthread_mutex_unlock(&p->lock);
  }
  pthread_mutex_unlock(&p->source);
  return s;
}

/* If pieces are small, or comments come before it, a header may end after the first piece of its file. A piece that
 * starts within the first bytes of a file, but not at its start, looks for the end of the header there. */
static furrow_status find_rows_begin(const furrow_parser *p, fw_chunk *chunk, furrow_error *err) {
  const fw_text *text = &chunk->text;
  chunk->rows_begin = 0;
  if (!p->format.skip_head || text->offset == 0 || text->offset >= HEAD_BYTES || text->length == 0) return FURROW_OK;
  if (p->set.files[text->file].kind == FW_FILE_COLUMNS) return FURROW_OK; /* the head is in the first piece */
  if (p->set.files[text->file].kind == FW_FILE_PIPE) {
    chunk->rows_begin = p->pipe_rows_begin;
    return FURROW_OK;
  }
  void *head = NULL;
  size_t got = 0;
  size_t skip = 0;
  furrow_status status = fw_alloc(&head, HEAD_BYTES, 1, err);
  if (status == FURROW_OK) status = fw_split_file_head(p->split, text->file, head, HEAD_BYTES, &got, err);
  if (status == FURROW_OK) status = p->format.skip_head(p->state, head, got, &skip, err);
  fw_free(head);
  chunk->rows_begin = skip;
  return status;
}

/* Lends a workspace to a chunk, or takes it back. Text that was read in order stays with the chunk, because its lines
 * are counted later; and so does text with a rest that is not parsed yet. */
static void exchange_workspace(workspace *w, fw_chunk *chunk) {
  const workspace had = {chunk->text.memory, chunk->text.capacity, chunk->scratch, chunk->scratch_capacity};
  chunk->scratch = w->scratch;
  chunk->scratch_capacity = w->scratch_capacity;
  w->scratch = had.scratch;
  w->scratch_capacity = had.scratch_capacity;
  if (chunk->text.in_order || chunk->rest > 0) return;
  chunk->text.memory = w->text;
  chunk->text.capacity = w->text_capacity;
  w->text = had.text;
  w->text_capacity = had.text_capacity;
}

static void clear_workspace(workspace *w) {
  fw_chunk chunk = {0};
  exchange_workspace(w, &chunk);
  fw_chunk_clear(&chunk);
}

static void parse_slot(furrow_parser *p, slot *s) {
  fw_chunk *chunk = &s->chunk;
  furrow_container_clear(chunk->out);
  chunk->stats.bad_rows = chunk->stats.ignored = chunk->stats.recoded = chunk->stats.missing = 0;
  s->lines = 0;
  if (s->status == FURROW_OK) s->status = fw_split_read(p->split, &chunk->text, &s->error);
  if (s->status != FURROW_OK) {
    chunk->text.length = 0; /* the slot's previous text is not counted again */
    return;
  }
  chunk->file = p->set.files[chunk->text.file].path;
  const bool of_lines = p->set.files[chunk->text.file].kind != FW_FILE_COLUMNS;
  if (chunk->text.in_order && of_lines && !is_of_records(&p->format.public))
    s->lines = fw_tokenizer_table()->count_lines(chunk->text.lines, chunk->text.length - chunk->text.line_end_added);
  s->status = find_rows_begin(p, chunk, &s->error);
  if (p->format.public.head_bytes && chunk->text.offset < p->format.public.head_bytes)
    chunk->rows_begin = p->format.public.head_bytes;
  if (s->status == FURROW_OK) s->status = fw_chunk_parse(chunk, &s->error);
}

static void fill_slot(furrow_parser *p, slot *s, workspace *w) {
  s->chunk.rest = 0;
  exchange_workspace(w, &s->chunk);
  parse_slot(p, s);
  exchange_workspace(w, &s->chunk);
}

/* Claims a piece for a free slot and fills it. Returns false if the data has ended. Call it under the lock, which it
 * releases while it works. */
static bool fill_next(furrow_parser *p, workspace *w) {
  p->free_slots--;
  pthread_mutex_unlock(&p->lock);
  slot *s = claim_piece(p);
  if (s) fill_slot(p, s, w);
  pthread_mutex_lock(&p->lock);
  if (s)
    s->ready = true;
  else
    p->free_slots++;
  return s != NULL;
}

/* The work of each thread of the pool, until the data ends or the caller stops it. */
static void fill_slots(void *context) {
  furrow_parser *p = context;
  workspace own = {0};
  pthread_mutex_lock(&p->lock);
  for (bool more = true; more;) {
    while (p->free_slots == 0 && !p->stop) pthread_cond_wait(&p->slot_freed, &p->lock);
    if (p->stop) break;
    more = fill_next(p, &own);
    pthread_cond_signal(&p->slot_ready);
  }
  pthread_mutex_unlock(&p->lock);
  clear_workspace(&own);
}

static furrow_status start_threads(furrow_parser *p, furrow_error *err) {
  if (p->started || p->params.threads == 1) return FURROW_OK;
  furrow_status status = FURROW_OK;
  if (!p->pool) status = fw_pool_create(&p->pool, p->params.threads - 1, err);
  for (unsigned i = 1; i < p->params.threads && status == FURROW_OK; i++)
    status = fw_pool_submit(p->pool, fill_slots, p, err);
  p->started = status == FURROW_OK;
  return status;
}

static void stop_threads(furrow_parser *p) {
  if (!p->pool || fw_pool_is_inherited(p->pool)) return;
  pthread_mutex_lock(&p->lock);
  p->stop = true;
  pthread_cond_broadcast(&p->slot_freed);
  pthread_mutex_unlock(&p->lock);
  fw_pool_wait(p->pool);
  p->stop = false;
  p->started = false;
}

void furrow_parser_close(furrow_parser *p) {
  if (!p) return;
  stop_threads(p);
  fw_pool_free(p->pool);
  drop_slots(p);
  clear_workspace(&p->own);
  end_format(p);
  fw_split_close(p->split);
  fw_fileset_clear(&p->set);
  fw_uri_clear(&p->uri);
  fw_free(p->head);
  pthread_cond_destroy(&p->slot_ready);
  pthread_cond_destroy(&p->slot_freed);
  pthread_mutex_destroy(&p->source);
  pthread_mutex_destroy(&p->lock);
  fw_free(p);
}

/* ---- The caller's side ---------------------------------------------------------------------------------- */

/* Sets the file and the line of an error whose offset is known. */
static void locate_error(furrow_parser *p, const slot *s, furrow_error *error) {
  const fw_text *text = &s->chunk.text;
  if (error->file[0]) return;
  fw_error_set_file(error, p->set.files[text->file].path);
  if (error->offset == FURROW_NO_OFFSET || is_of_records(&p->format.public)) return;
  uint64_t line = 0;
  if (p->format.row_number)
    line = p->format.row_number(p->state, text->lines, text->length, (size_t)(error->offset - text->offset));
  if (line > 0) {
    error->line = line;
    error->offset = FURROW_NO_OFFSET;
    return;
  }
  if (text->in_order)
    line =
        p->counted_lines + 1 + fw_tokenizer_table()->count_lines(text->lines, (size_t)(error->offset - text->offset));
  else if (fw_split_line_number(p->split, text->file, error->offset, &line, NULL) != FURROW_OK)
    line = 0;
  error->line = line;
  if (error->column > 0) error->offset += error->column - 1;
}

/* If a row cannot be read, names the format that the data looks like. */
static void hint_at_format(const furrow_parser *p, furrow_error *error) {
  const char *format = p->format.public.name, *other = p->sniffed.format;
  if (!p->format.parse_chunk) return;       /* a registered format of the program */
  if (strcmp(format, "table") == 0) return; /* format table reads csv, too: so the cell is wrong, not the format */
  if (error->status != FURROW_E_PARSE || error->hint[0] || !p->sniffed.sure || strcmp(format, other) == 0) return;
  if (strcmp(format, "libfm") == 0 && strcmp(other, "libffm") == 0) return;
  fw_error_set_hint(error, "the data looks like %s (%s): format %s reads it", other, p->sniffed.why, other);
}

/* Rows with and without a label must not be mixed. The row builder checks this within a block, this function between
 * blocks. */
static void check_labels(furrow_parser *p, slot *s) {
  const furrow_container *out = s->chunk.out;
  if (out->rows == 0) return;
  if (p->label_known && p->has_label != out->has_label) {
    s->status = fw_fail(&s->error, FURROW_E_PARSE, "rows from here on have %s label, earlier rows have %s",
                        out->has_label ? "a" : "no", out->has_label ? "none" : "one");
    s->error.offset = s->chunk.text.offset + s->chunk.head;
    furrow_container_clear(s->chunk.out);
  }
  p->label_known = true;
  p->has_label = out->has_label;
}

static void count_slot(furrow_parser *p, slot *s) {
  const fw_text *text = &s->chunk.text;
  furrow_parser_stats *total = &p->stats;
  const fw_chunk_stats *stats = &s->chunk.stats;
  if (text->in_order && text->file != p->counted_file) {
    p->counted_file = text->file;
    p->counted_lines = 0;
  }
  check_labels(p, s);
  if (stats->bad_rows > 0 && total->bad_rows == 0) {
    total->first_bad = stats->first_bad;
    locate_error(p, s, &total->first_bad);
  }
  if (stats->ignored > 0 && total->ignored == 0) {
    total->first_ignored = stats->first_ignored;
    locate_error(p, s, &total->first_ignored);
  }
  total->bad_rows += stats->bad_rows;
  total->ignored += stats->ignored;
  total->recoded += stats->recoded;
  total->rows += s->chunk.out->rows;
  total->features += s->chunk.out->features;
  p->missing += stats->missing;
  if (s->chunk.rest == 0) total->bytes += text->length - (text->length > 0 && text->line_end_added);
  if (s->status != FURROW_OK) {
    locate_error(p, s, &s->error);
    hint_at_format(p, &s->error);
  }
  if (text->in_order && s->chunk.rest == 0) p->counted_lines += s->lines;
}

/* Returns the next slot in order, filled; NULL at the end of the data. The caller is one of the threads: it fills a
 * slot instead of waiting for one. */
static slot *take_slot(furrow_parser *p) {
  slot *s = &p->slots[p->taken % p->nslots];
  pthread_mutex_lock(&p->lock);
  while (!s->ready && !(p->ended && p->taken == p->claimed)) {
    if (p->free_slots > 0 && !p->ended)
      (void)fill_next(p, &p->own);
    else
      pthread_cond_wait(&p->slot_ready, &p->lock);
  }
  if (!s->ready) s = NULL;
  pthread_mutex_unlock(&p->lock);
  if (s) p->taken++;
  return s;
}

static void give_back(furrow_parser *p, slot *s) {
  if (!s) return;
  pthread_mutex_lock(&p->lock);
  s->ready = false;
  p->free_slots++;
  pthread_cond_signal(&p->slot_freed);
  pthread_mutex_unlock(&p->lock);
}

static furrow_status finish_rows(furrow_parser *p, furrow_status status, const furrow_error *error) {
  p->final = status;
  if (error) p->final_error = *error;
  return status;
}

/* Returns the next block of the reader. */
static furrow_status advance_reader(furrow_parser *p, furrow_error *err) {
  FW_TRY(fw_block_reader_next(p->reader, &p->block, err));
  p->stats.rows += p->block.size;
  p->stats.features += p->block.offset[p->block.size] - p->block.offset[0];
  return FURROW_OK;
}

/* `s`: a slot with a rest that is not parsed yet, or NULL. */
static furrow_status advance_block(furrow_parser *p, slot *s, furrow_error *err) {
  if (p->reader) return advance_reader(p, err);
  furrow_status status = p->slots ? FURROW_OK : make_slots(p, err);
  fw_free(p->head);
  p->head = NULL;
  if (status == FURROW_OK && p->base_state == BASE_TO_BE_FOUND) status = fw_parser_find_base(p, err);
  if (status == FURROW_OK) status = start_threads(p, err);
  while (status == FURROW_OK) {
    if (s)
      s->status = fw_chunk_parse(&s->chunk, &s->error);
    else
      s = take_slot(p);
    if (!s) return FURROW_END;
    if (p->format.in_order && s->status == FURROW_OK) s->status = p->format.in_order(p->state, &s->chunk, &s->error);
    count_slot(p, s);
    if (s->status != FURROW_OK) finish_rows(p, s->status, &s->error); /* reported after the rows before it */
    if (s->chunk.out->rows > 0) {
      p->held = s;
      p->block = fw_container_block(s->chunk.out);
      return FURROW_OK;
    }
    status = s->status;
    if (err && status != FURROW_OK) *err = s->error;
    if (s->chunk.rest > 0) continue;
    give_back(p, s);
    s = NULL;
  }
  return status;
}

/* The threads that fill the slots exist only in the parent. */
static furrow_status refuse_fork(const furrow_parser *p, furrow_error *err) {
  if (!p->pool || !fw_pool_is_inherited(p->pool)) return FURROW_OK;
  return fw_fail(err, FURROW_E_STATE, "the process was forked while the data was read: open it again");
}

furrow_status furrow_parser_next(furrow_parser *p, furrow_error *err) {
  FW_TRY(refuse_fork(p, err));
  slot *unfinished = p->held && p->held->chunk.rest > 0 && p->final == FURROW_OK ? p->held : NULL;
  if (!unfinished) give_back(p, p->held);
  p->held = NULL;
  p->has_block = false;
  if (p->final != FURROW_OK) {
    if (err && p->final != FURROW_END) *err = p->final_error;
    return p->final;
  }
  furrow_error error;
  furrow_status status = advance_block(p, unfinished, &error);
  p->has_block = status == FURROW_OK;
  if (status != FURROW_OK) {
    finish_rows(p, status, status == FURROW_END ? NULL : &error);
    if (err && status != FURROW_END) *err = error;
  }
  return status;
}

const furrow_rowblock *furrow_parser_value(const furrow_parser *p) {
  return p->has_block ? &p->block : NULL;
}

furrow_status furrow_parser_next_block(furrow_parser *p, const furrow_rowblock **block, furrow_error *err) {
  FW_TRY(furrow_parser_next(p, err));
  *block = &p->block;
  return FURROW_OK;
}

furrow_status furrow_parser_rewind(furrow_parser *p, furrow_error *err) {
  stop_threads(p);
  FW_TRY(p->reader ? fw_block_reader_rewind(p->reader, err) : fw_split_rewind(p->split, err));
  if (p->format.rewind) p->format.rewind(p->state);
  p->held = NULL;
  p->has_block = false;
  p->claimed = p->taken = 0;
  p->ended = false;
  p->free_slots = p->nslots;
  for (size_t i = 0; i < p->nslots; i++) p->slots[i].ready = false;
  p->final = FURROW_OK;
  memset(&p->stats, 0, sizeof p->stats);
  p->missing = 0;
  p->counted_file = 0;
  p->counted_lines = 0;
  p->label_known = false;
  return FURROW_OK;
}

/* ---- Auto indexing: one decision for the whole data set ------------------------------------------------- */

static uint64_t smallest(furrow_keys column, furrow_key_type type, uint64_t begin, uint64_t end) {
  uint64_t least = UINT64_MAX;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t v = furrow_keys_get(column, type, i);
    if (v < least) least = v;
  }
  return least;
}

static bool has_zero(const furrow_rowblock *block) {
  const uint64_t begin = block->offset[0];
  const uint64_t end = block->offset[block->size];
  return begin < end && (smallest(block->index, block->key_type, begin, end) == 0 ||
                         (block->field.any && smallest(block->field, block->key_type, begin, end) == 0));
}

uint32_t fw_index_base(const fw_base_signs *signs) {
  return signs->features > 0 && signs->zeros == 0;
}

furrow_status fw_parser_find_signs(furrow_parser *p, fw_base_signs *signs, furrow_error *err) {
  const base_state before = p->base_state;
  furrow_status status = FURROW_OK;
  p->base_state = BASE_KNOWN;
  while (signs->zeros == 0 && (status = furrow_parser_next(p, err)) == FURROW_OK)
    signs->zeros = has_zero(furrow_parser_value(p));
  signs->features = p->stats.features > 0;
  p->base_state = before;
  return status == FURROW_OK || status == FURROW_END ? furrow_parser_rewind(p, err) : status;
}

/* Combines the signs of all parts, because one part alone is not enough. */
static furrow_status find_all_signs(furrow_parser *p, fw_base_signs *signs, furrow_error *err) {
  if (p->params.nparts == 1) return fw_parser_find_signs(p, signs, err);
  furrow_parser *all = NULL;
  furrow_parser_params params = p->params;
  params.part = 0;
  params.nparts = 1;
  params.format = p->format.public.name;
  FW_TRY(fw_parser_open(&all, &p->uri, &params, err));
  const furrow_status status = fw_parser_find_signs(all, signs, err);
  furrow_parser_close(all);
  return status;
}

furrow_status fw_parser_reads_once(furrow_parser *p, bool *once, furrow_error *err) {
  /* Only the reader knows whether its paths are files. */
  if (p->format.public.open_rows && p->set.nfiles == 0 &&
      fw_fileset_open(&p->set, p->uri.paths, p->uri.npaths, err) == FURROW_E_MEMORY)
    return FURROW_E_MEMORY;
  *once = false;
  for (size_t i = 0; i < p->set.nfiles; i++) *once |= p->set.files[i].kind == FW_FILE_PIPE;
  return FURROW_OK;
}

furrow_status fw_parser_find_base(furrow_parser *p, furrow_error *err) {
  fw_base_signs signs = {0};
  bool once = false;
  FW_TRY(fw_parser_reads_once(p, &once, err));
  if (once)
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "indexing_mode=-1 has to read the data twice, and a pipe can be read only once");
  FW_TRY(find_all_signs(p, &signs, err));
  fw_parser_set_base(p, fw_index_base(&signs));
  return FURROW_OK;
}

void fw_parser_set_base(furrow_parser *p, uint32_t base) {
  p->base = base;
  p->base_state = BASE_KNOWN;
  p->format.set_base(p->state, base);
}

/* ---- Information about the data ------------------------------------------------------------------------- */

void furrow_parser_get_stats(const furrow_parser *p, furrow_parser_stats *stats) {
  fw_info_write(stats, &p->stats, sizeof p->stats);
}

uint64_t furrow_parser_bytes_read(const furrow_parser *p) {
  return p->stats.bytes;
}

/* Unknown for parts and compressed files: the last line of a part ends after the part, and compressed files have
 * more text than bytes. */
uint64_t furrow_parser_bytes_total(const furrow_parser *p) {
  const uint64_t size = p->split ? fw_split_size(p->split) : 0;
  return size > 0 && size < p->stats.bytes ? p->stats.bytes : size;
}

const char *furrow_parser_format(const furrow_parser *p) {
  return p->format.public.name;
}

const char *furrow_parser_format_reason(const furrow_parser *p) {
  return p->reason;
}

uint32_t furrow_parser_index_base(const furrow_parser *p) {
  return p->base;
}

size_t furrow_parser_column_count(const furrow_parser *p) {
  return p->format.column_count ? p->format.column_count(p->state) : 0;
}

const char *furrow_parser_column_name(const furrow_parser *p, size_t column) {
  return p->format.column_name ? p->format.column_name(p->state, column) : NULL;
}

static size_t special_column(const furrow_parser *p, bool weight, const char **name) {
  *name = NULL;
  return p->format.special_column ? p->format.special_column(p->state, weight, name) : SIZE_MAX;
}

const char *furrow_parser_label_name(const furrow_parser *p) {
  const char *name;
  (void)special_column(p, false, &name);
  return name;
}

const char *furrow_parser_weight_name(const furrow_parser *p) {
  const char *name;
  (void)special_column(p, true, &name);
  return name;
}

int64_t furrow_parser_label_column(const furrow_parser *p) {
  const char *name;
  const size_t column = special_column(p, false, &name);
  return column == SIZE_MAX ? -1 : (int64_t)column;
}

int64_t furrow_parser_weight_column(const furrow_parser *p) {
  const char *name;
  const size_t column = special_column(p, true, &name);
  return column == SIZE_MAX ? -1 : (int64_t)column;
}

furrow_status fw_parser_check_memory(const furrow_parser *p, furrow_error *err) {
  enum { EACH = 20 }; /* bytes of a feature: index, field and value */
  if (p->missing <= ((uint64_t)64 << 20) / EACH + p->stats.bytes) return FURROW_OK;
  fw_fail(err, FURROW_E_RANGE,
          "the records lack so many columns of the model that the rows would need far more memory than the text");
  fw_error_set_hint(
      err, "a newly trained model stores only the columns that records have; with the key `stream` no rows are kept");
  return FURROW_E_RANGE;
}

bool fw_parser_whole(furrow_parser *p, furrow_rowblock *block) {
  if (!p->reader || !fw_memory_rows_whole(p->reader, block)) return false;
  p->stats.rows = block->size;
  p->stats.features = block->offset[block->size] - block->offset[0];
  return true;
}
