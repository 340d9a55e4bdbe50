/* vector/file/index_write_ranks.c: several ranks write one index file together.
 *
 * Each rank has an index with the same quantizers and its own vectors. All ranks traverse the layout of the file at the
 * same time and count all of its bytes. Bytes that are the same on all ranks are written by rank 0, and each rank
 * writes its own vectors at their offsets. Rank 0 creates the file under a temporary name, and renames it when the
 * bytes of all ranks are on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "comm/collectives.h"
#include "io/atomic_file.h"
#include "io/target.h"
#include "vector/attributes/attribute_rows.h"
#include "vector/file/index_write.h"
#include "vector/index/direct_map.h"
#include "vector/index/index_card.h"
#include "vector/index/stored_ids.h"

#define BUFFER_SIZE ((size_t)1 << 20)
#define WAITS 50 /* times 0.1 s, until a network file system shows a file that another machine created */

typedef struct together {
  const furrow_comm *comm;
  const furrow_index *index, *ivf; /* ivf NULL: there is none */
  fw_index_part part;
  uint64_t *list_before, *list_size;
  fw_id_location *pairs;
  fw_card *card; /* of all ranks; NULL: not wanted, or a rank has none */
  /* the file */
  fw_atomic_file *made; /* on rank 0 */
  fw_target target;
  int fd;
  char *buffer; /* bytes `at` … at + filled - 1, not yet written */
  uint64_t at;
  size_t filled;
} together;

/* ---- Checks of the index -------------------------------------------------------------------------------- */

static furrow_status refuse_index(const char *what, furrow_error *err) {
  return fw_fail(err, FURROW_E_UNSUPPORTED, "several processes cannot write one file of an index whose %s", what);
}

static furrow_status check_lists(const furrow_index *index, furrow_error *err) {
  const fw_ivf *ivf = &index->ivf;
  if (ivf->lists.kind == FURROW_LISTS_BLOCKS) return refuse_index("lists have codes in blocks", err);
  if (ivf->lists.kind != FURROW_LISTS_INLINE) return refuse_index("lists are not part of it", err);
  const uint64_t n = (uint64_t)index->ntotal;
  if (ivf->direct_map.type == FURROW_DIRECT_MAP_ARRAY && ivf->direct_map.count != n)
    return refuse_index("direct map does not have one entry per vector", err);
  if (index->kind == FURROW_INDEX_IVF_PQR && ivf->refine_size != n * fw_pq_code_size(&ivf->refine_pq))
    return refuse_index("refinement does not have one code per vector", err);
  return FURROW_OK;
}

/* Checks that every array of the index has an entry for each of n vectors. */
static furrow_status check_tree(const furrow_index *index, int64_t n, furrow_error *err) {
  FW_TRY(fw_index_check_whole(index, err));
  if (index->ntotal != n) return refuse_index("parts have different numbers of vectors", err);
  if (fw_index_is_ivf(index)) return check_lists(index, err);
  switch (index->kind) {
  case FURROW_INDEX_FLAT:
  case FURROW_INDEX_SQ:
  case FURROW_INDEX_PQ: return FURROW_OK;
  case FURROW_INDEX_TRANSFORM:
  case FURROW_INDEX_ID_MAP:
  case FURROW_INDEX_REFINE: break;
  default: return refuse_index(furrow_index_kind_name(index->kind), err);
  }
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++) {
    if (index->child[i]) FW_TRY(check_tree(index->child[i], n, err));
    if (!index->child[i] && furrow_index_child_name(index, i)) return refuse_index("parts are missing", err);
  }
  return FURROW_OK;
}

/* Whether the ids in the lists are dense, so that they continue from rank to rank. */
static bool has_dense_lists(const furrow_index *index) {
  const furrow_index *inner = fw_skip_transforms(index), *ivf = furrow_index_ivf(index);
  return inner->kind == FURROW_INDEX_ID_MAP || fw_index_has_dense_ids(index) ||
         (ivf && ivf->ivf.direct_map.type == FURROW_DIRECT_MAP_ARRAY);
}

/* Fails if the number is not the same on all ranks; `what` names it. */
static furrow_status check_equal(const furrow_comm *comm, uint64_t number, const char *what, furrow_error *err) {
  void *all = NULL;
  size_t size;
  unsigned other = 0;
  FW_TRY(fw_comm_gather_all(comm, &number, sizeof number, &all, &size, NULL, err));
  const uint64_t *numbers = all;
  for (unsigned r = 1; r < comm->ranks && !other; r++)
    if (numbers[r] != numbers[0]) other = r;
  fw_free(all);
  if (!other) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "the indexes of rank 0 and rank %u differ: %s", other, what);
}

/* A digest of the kinds, which must be equal before anything else can be compared. */
static uint64_t shape_of(const furrow_index *index) {
  uint64_t words[4 + 8] = {(uint64_t)index->d};
  size_t count = 4;
  const furrow_index *ivf = furrow_index_ivf(index);
  if (ivf) words[1] = ivf->ivf.nlist;
  if (ivf) words[2] = (uint64_t)ivf->ivf.direct_map.type + 1;
  for (; index && count < sizeof words / sizeof *words; index = index->child[0])
    words[count++] = (uint64_t)index->kind + 1;
  return XXH3_64bits(words, sizeof words);
}

/* ---- Counts of all ranks -------------------------------------------------------------------------------- */

static size_t slice_begin(size_t count, unsigned r, unsigned ranks) {
  return count / ranks * r + (count % ranks < r ? count % ranks : r);
}

/* For every list, sums up the vectors of the ranks before this one and of all ranks. Rank r does this for the r-th
 * slice of the lists, so that no rank holds the sizes of all ranks. */
static furrow_status add_up_lists(together *t, const size_t *mine, const size_t *theirs, uint64_t *sizes, uint64_t *got,
                                  furrow_error *err) {
  const furrow_comm *comm = t->comm;
  const size_t own = theirs[0] / sizeof *got;
  FW_TRY(comm->exchange(comm, sizes, mine, got, theirs, err));
  for (size_t i = 0; i < own; i++) {
    uint64_t sum = 0;
    for (unsigned r = 0; r < comm->ranks; r++) {
      const uint64_t size = got[r * own + i];
      got[r * own + i] = sum;
      sum += size;
    }
    sizes[i] = sum; /* this rank's own sizes are already sent */
  }
  FW_TRY(comm->exchange(comm, got, theirs, t->list_before, mine, err));
  return comm->gather(comm, sizes, theirs[0], t->list_size, mine, err);
}

static furrow_status count_lists(together *t, furrow_error *err) {
  const furrow_comm *comm = t->comm;
  const size_t nlist = t->ivf->ivf.nlist;
  const size_t own = slice_begin(nlist, comm->rank + 1, comm->ranks) - slice_begin(nlist, comm->rank, comm->ranks);
  void *before = NULL, *all = NULL, *memory = NULL, *counts = NULL;
  furrow_status status = fw_alloc(&before, nlist, 8, err);
  t->list_before = before;
  if (status == FURROW_OK) status = fw_alloc(&all, nlist, 8, err);
  t->list_size = all;
  if (status == FURROW_OK) status = fw_alloc(&memory, nlist + own * comm->ranks, 8, err);
  if (status == FURROW_OK) status = fw_alloc(&counts, comm->ranks, 2 * sizeof(size_t), err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) {
    uint64_t *sizes = memory;
    size_t *mine = counts, *theirs = mine + comm->ranks;
    for (size_t i = 0; i < nlist; i++) sizes[i] = fw_lists_size(&t->ivf->ivf.lists, i);
    for (unsigned r = 0; r < comm->ranks; r++) {
      mine[r] = (slice_begin(nlist, r + 1, comm->ranks) - slice_begin(nlist, r, comm->ranks)) * 8;
      theirs[r] = own * 8;
    }
    status = add_up_lists(t, mine, theirs, sizes, sizes + nlist, err);
  }
  fw_free(memory);
  fw_free(counts);
  t->part.list_before = t->list_before;
  t->part.list_size = t->list_size;
  return status;
}

/* ---- A hash table of all ids ---------------------------------------------------------------------------- */

static int by_location(const void *a, const void *b) {
  const int64_t x = ((const fw_id_location *)a)->location, y = ((const fw_id_location *)b)->location;
  return x < y ? -1 : x > y;
}

/* Keeps the last location of each id in the order of the lists, like a single process. */
static furrow_status keep_last(fw_id_location *pairs, size_t *count, furrow_error *err) {
  fw_location_table table = {0};
  size_t kept = 0;
  FW_TRY(fw_location_table_create(&table, *count, err));
  if (*count > 0) qsort(pairs, *count, sizeof *pairs, by_location);
  for (size_t i = 0; i < *count; i++) fw_location_table_put(&table, pairs[i].id, pairs[i].location);
  for (size_t i = 0; i < *count; i++)
    if (fw_location_table_get(&table, pairs[i].id) == pairs[i].location) pairs[kept++] = pairs[i];
  fw_location_table_clear(&table);
  *count = kept;
  return FURROW_OK;
}

static void own_pairs(const together *t, fw_id_location *pairs) {
  const fw_lists *lists = &t->ivf->ivf.lists;
  const int64_t shift = t->part.shift_ids ? (int64_t)t->part.before : 0;
  for (size_t i = 0; lists->list && i < lists->nlist; i++)
    for (size_t k = 0; k < lists->list[i].size; k++)
      *pairs++ = (fw_id_location){fw_list_id(&lists->list[i], k) + shift, fw_location_make(i, t->list_before[i] + k)};
}

/* Gathers the locations of all ids on rank 0. */
static furrow_status collect_pairs(together *t, furrow_error *err) {
  const furrow_comm *comm = t->comm;
  const size_t stored = (size_t)fw_lists_stored(&t->ivf->ivf.lists);
  void *pairs = NULL, *sizes = NULL, *all = NULL;
  size_t count = 0;
  furrow_status status = fw_alloc(&pairs, stored, sizeof(fw_id_location), err);
  if (status == FURROW_OK) status = fw_alloc_zero(&sizes, comm->ranks, 2 * sizeof(size_t), err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) {
    size_t *send = sizes, *receive = send + comm->ranks;
    own_pairs(t, pairs);
    send[0] = stored * sizeof(fw_id_location);
    status = fw_comm_exchange_all(comm, pairs, send, &all, receive, err);
    for (unsigned r = 0; status == FURROW_OK && r < comm->ranks; r++) count += receive[r] / sizeof(fw_id_location);
    if (status == FURROW_OK) status = fw_comm_all_ok(comm, keep_last(all, &count, err), err);
  }
  t->part.pair_count = count;
  if (status == FURROW_OK) status = comm->broadcast(comm, &t->part.pair_count, 8, 0, err);
  t->pairs = all;
  t->part.pairs = fw_comm_is_first(comm) ? all : NULL;
  fw_free(pairs);
  fw_free(sizes);
  return status;
}

static furrow_status find_parts(together *t, const furrow_index_save_params *params, furrow_error *err) {
  t->part.shift_ids = params->shift_ids || has_dense_lists(t->index);
  FW_TRY(check_equal(t->comm, shape_of(t->index), "their kinds, dimensions or numbers of lists", err));
  FW_TRY(fw_comm_offset(t->comm, (uint64_t)t->index->ntotal, &t->part.before, &t->part.total, err));
  if (!t->ivf) return FURROW_OK;
  FW_TRY(count_lists(t, err));
  return t->ivf->ivf.direct_map.type == FURROW_DIRECT_MAP_HASHTABLE ? collect_pairs(t, err) : FURROW_OK;
}

/* ---- The file ------------------------------------------------------------------------------------------- */

/* The message of rank 0 to the others about the file that it created. */
typedef struct invitation {
  char name[FW_TARGET_MAX_NAME + 1];
} invitation;

static int open_temporary(const together *t, const char *name) {
  int fd = -1;
  for (unsigned i = 0; fd < 0 && i < WAITS; i++) {
    if (i > 0) usleep(100000);
    fd = openat(t->target.directory, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT && errno != EINTR) break;
  }
  return fd;
}

static furrow_status make_file(together *t, const char *path, bool overwrite, invitation *made, furrow_error *err) {
  FW_TRY(fw_atomic_file_open(&t->made, path, err));
  if (!overwrite) fw_atomic_file_keep_existing(t->made);
  snprintf(made->name, sizeof made->name, "%s", fw_atomic_file_temporary(t->made));
  return FURROW_OK;
}

static furrow_status join_file(together *t, const char *path, const invitation *made, furrow_error *err) {
  void *buffer = NULL;
  FW_TRY(fw_alloc(&buffer, BUFFER_SIZE, 1, err));
  t->buffer = buffer;
  FW_TRY(fw_target_find(&t->target, path, err));
  t->fd = open_temporary(t, made->name);
  if (t->fd >= 0) return FURROW_OK;
  const furrow_status status =
      fw_target_fail_errno(&t->target, err, errno, "cannot open the temporary file that rank 0 created next to it");
  fw_error_set_hint(err, "the folder must be on a file system that all processes share; shards need none");
  return status;
}

static furrow_status open_file(together *t, const char *path, bool overwrite, furrow_error *err) {
  const furrow_comm *comm = t->comm;
  invitation made = {{0}};
  furrow_status status = fw_comm_is_first(comm) ? make_file(t, path, overwrite, &made, err) : FURROW_OK;
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) status = comm->broadcast(comm, &made, sizeof made, 0, err);
  if (status != FURROW_OK) return status;
  return fw_comm_all_ok(comm, join_file(t, path, &made, err), err);
}

static furrow_status put_at(const together *t, const void *bytes, size_t size, uint64_t offset, furrow_error *err) {
  const int errnum = fw_write_at(t->fd, bytes, size, offset);
  return errnum == 0 ? FURROW_OK : fw_target_fail_errno(&t->target, err, errnum, "cannot write");
}

static furrow_status flush_bytes(together *t, furrow_error *err) {
  const size_t filled = t->filled;
  t->filled = 0;
  return put_at(t, t->buffer, filled, t->at, err);
}

/* Buffers contiguous bytes. */
static furrow_status write_part(void *to, uint64_t offset, const void *bytes, size_t size, furrow_error *err) {
  together *t = to;
  if (offset != t->at + t->filled || size > BUFFER_SIZE - t->filled) {
    FW_TRY(flush_bytes(t, err));
    t->at = offset;
  }
  if (size >= BUFFER_SIZE) {
    t->at = offset + size;
    return put_at(t, bytes, size, offset, err);
  }
  memcpy(t->buffer + t->filled, bytes, size);
  t->filled += size;
  return FURROW_OK;
}

static furrow_status write_own(together *t, fw_index_writer *w, furrow_error *err) {
  w->write = write_part;
  w->to = t;
  w->part = &t->part;
  w->skip_common = !fw_comm_is_first(t->comm);
  w->err = err;
  fw_write_index(w, t->index);
  if (w->status == FURROW_OK) w->status = flush_bytes(t, err);
  if (w->status == FURROW_OK && fsync(t->fd) != 0)
    w->status = fw_target_fail_errno(&t->target, err, errno, "cannot sync the file to disk");
  return w->status;
}

/* ---- Committing the file and its names ------------------------------------------------------------------ */

static furrow_status check_size(const together *t, uint64_t size, furrow_error *err) {
  struct stat found;
  if (fstat(t->fd, &found) != 0) return fw_target_fail_errno(&t->target, err, errno, "cannot look at the new file");
  if ((uint64_t)found.st_size == size) return FURROW_OK;
  return fw_target_fail(&t->target, err, FURROW_E_IO, "the parts of the processes did not make a whole file");
}

/* Finds the stamp of the written file, and checks names and attributes against it: it has the ids of all ranks. */
static furrow_status check_written(const together *t, const fw_companions *with, fw_index_stamp *stamp,
                                   furrow_error *err) {
  furrow_index_load_params load;
  furrow_index *written = NULL;
  char *temporary = NULL;
  const size_t folder = (size_t)(t->target.name - t->target.resolved);
  const char *name = fw_atomic_file_temporary(t->made);
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, folder + strlen(name) + 1, 1, err));
  temporary = memory;
  memcpy(temporary, t->target.resolved, folder);
  memcpy(temporary + folder, name, strlen(name));
  furrow_index_load_params_init(&load);
  load.memory_map = true;
  furrow_status status =
      with->names || with->attributes ? furrow_index_load(&written, temporary, &load, err) : FURROW_OK;
  if (status == FURROW_OK && with->names) status = fw_id_names_fit(with->names, written, FURROW_E_ARGUMENT, NULL, err);
  if (status == FURROW_OK && with->attributes)
    status = fw_attributes_fit_index(with->attributes, written, FURROW_E_ARGUMENT, NULL, err);
  furrow_index_free(written);
  if (status == FURROW_OK) status = fw_index_stamp_of_file(temporary, stamp, err);
  fw_free(temporary);
  return status;
}

/* Runs on rank 0, when the bytes of all ranks are on the disk. */
static furrow_status commit_file(together *t, const char *path, const furrow_index_save_params *params, uint64_t size,
                                 furrow_error *err) {
  fw_index_stamp stamp = {0};
  FW_TRY(check_size(t, size, err));
  const fw_companions with = {.names = params->names, .attributes = params->attributes, .card = t->card};
  if (fw_companions_any(&with)) FW_TRY(check_written(t, &with, &stamp, err));
  return fw_companions_commit(t->made, &with, path, &stamp, params->overwrite, err);
}

/* ---- The whole file ------------------------------------------------------------------------------------- */

static furrow_status write_file(together *t, const char *path, const furrow_index_save_params *params,
                                const fw_index_writer *writer, furrow_error *err) {
  fw_index_writer w = *writer;
  uint64_t digest = 0;
  w.part = &t->part;
  furrow_status status = fw_comm_all_ok(t->comm, fw_index_common_digest(t->index, &w, &digest, err), err);
  if (status == FURROW_OK) status = check_equal(t->comm, digest, "their transforms or quantizers", err);
  if (status == FURROW_OK) status = open_file(t, path, params->overwrite, err);
  if (status != FURROW_OK) return status;
  status = fw_comm_all_ok(t->comm, write_own(t, &w, err), err);
  if (status == FURROW_OK && fw_comm_is_first(t->comm)) status = commit_file(t, path, params, w.size, err);
  return fw_comm_all_ok(t->comm, status, err);
}

/* Adds up the cards of all ranks. */
static furrow_status join_cards(together *t, bool wanted, furrow_error *err) {
  static const fw_card none;
  const bool kept = wanted && fw_card_is_kept(t->index->card);
  void *all = NULL;
  size_t size;
  furrow_status status =
      fw_comm_gather_all(t->comm, kept ? t->index->card : &none, kept ? sizeof none : 0, &all, &size, NULL, err);
  if (status == FURROW_OK && size == t->comm->ranks * sizeof none) {
    const fw_card *cards = all;
    status = fw_card_create(&t->card, cards->factory, err);
    for (unsigned r = 0; status == FURROW_OK && r < t->comm->ranks; r++) fw_card_join(t->card, &cards[r]);
  }
  fw_free(all);
  return fw_comm_all_ok(t->comm, status, err);
}

static furrow_status check_job(const together *t, const char *path, furrow_error *err) {
  if (strcmp(path, "-") == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "several processes cannot write to standard output together");
  return check_tree(t->index, t->index->ntotal, err);
}

furrow_status fw_index_write_together(const furrow_index *index, const char *path,
                                      const furrow_index_save_params *params, const furrow_comm *comm,
                                      const fw_index_writer *writer, furrow_error *err) {
  together t = {.comm = comm, .index = index, .ivf = furrow_index_ivf(index), .fd = -1};
  t.target.directory = -1;
  furrow_status status = fw_comm_all_ok(comm, check_job(&t, path, err), err);
  if (status == FURROW_OK) status = find_parts(&t, params, err);
  if (status == FURROW_OK) status = join_cards(&t, params->card, err);
  if (status == FURROW_OK) status = write_file(&t, path, params, writer, err);
  if (t.fd >= 0) close(t.fd);
  fw_target_clear(&t.target);
  fw_atomic_file_close(t.made);
  fw_free(t.buffer);
  fw_free(t.list_before);
  fw_free(t.list_size);
  fw_free(t.pairs);
  fw_card_free(t.card);
  return status;
}
