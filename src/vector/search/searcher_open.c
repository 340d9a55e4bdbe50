/* vector/search/searcher_open.c: an index file, or the shards of a manifest, with the names of its ids, opened for
 * searching in one call. */
#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "comm/collectives.h"
#include "furrow/attributes.h"
#include "furrow/io.h"
#include "furrow/vector_data.h"
#include "vector/file/index_read.h"
#include "vector/search/searcher.h"

/* Rank 0 looks, because others may not see the file. */
static furrow_status find_kind(const furrow_comm *comm, const char *path, bool *is_shards, furrow_error *err) {
  uint64_t found = fw_comm_is_first(comm) && furrow_is_shards(path);
  if (comm->ranks > 1) FW_TRY(comm->broadcast(comm, &found, sizeof found, 0, err));
  *is_shards = found != 0;
  return FURROW_OK;
}

static furrow_status open_shards(furrow_searcher **searcher, const char *path, const furrow_searcher_open_params *p,
                                 const furrow_comm *comm, furrow_error *err) {
  const bool named = fw_comm_is_first(comm) && !p->skip_names;
  furrow_shards_params params;
  furrow_path_watch *watch = NULL;
  void *memory = NULL;
  furrow_shards_params_init(&params);
  params.load = p->load;
  params.comm = comm;
  params.threads = p->threads;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **searcher, err);
  furrow_searcher *s = memory;
  if (status == FURROW_OK && named) status = furrow_path_watch_begin(&watch, path, err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) status = furrow_shards_open(&s->shards, path, &params, err);
  const bool opened = status == FURROW_OK;
  if (opened && named) status = fw_id_names_load_if_there(&s->names, path, err);
  if (status == FURROW_OK && named && p->attributes) status = fw_attributes_load_if_there(&s->attributes, path, err);
  if (watch) status = furrow_path_watch_end(watch, status, err);
  if (opened) status = fw_comm_all_ok(comm, status, err);
  return FW_HAND_OVER(status, searcher, s, furrow_searcher_free);
}

static furrow_status load_index(furrow_index **index, furrow_id_names **names, furrow_attributes **attributes,
                                const char *path, const furrow_searcher_open_params *p, bool named, furrow_error *err) {
  if (!named) return furrow_index_load(index, path, p->load, err);
  return p->attributes ? furrow_index_load_with_attributes(index, names, attributes, path, p->load, err)
                       : furrow_index_load_with_names(index, names, path, p->load, err);
}

static furrow_status open_index(furrow_searcher **searcher, const char *path, const furrow_searcher_open_params *p,
                                bool named, furrow_error *err) {
  furrow_index *index = NULL;
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  furrow_status status = load_index(&index, &names, &attributes, path, p, named, err);
  if (status == FURROW_OK) status = fw_searcher_create(searcher, index, NULL, p->threads, err);
  if (status != FURROW_OK) {
    furrow_id_names_free(names);
    furrow_attributes_free(attributes);
    furrow_index_free(index);
    return status;
  }
  (*searcher)->loaded = index;
  (*searcher)->names = names;
  (*searcher)->attributes = attributes;
  return FURROW_OK;
}

furrow_status furrow_searcher_open(furrow_searcher **searcher, const char *path,
                                   const furrow_searcher_open_params *params, furrow_error *err) {
  furrow_searcher_open_params p;
  const furrow_comm *comm = NULL;
  furrow_searcher *opened = NULL;
  bool is_shards = false;
  furrow_searcher_open_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_searcher_open_params, err));
  FW_TRY(fw_comm_of(&comm, p.comm, err));
  FW_TRY(find_kind(comm, path, &is_shards, err));
  if (is_shards) return open_shards(searcher, path, &p, comm, err);
  const bool named = fw_comm_is_first(comm) && !p.skip_names;
  const furrow_status status = fw_comm_all_ok(comm, open_index(&opened, path, &p, named, err), err);
  return FW_HAND_OVER(status, searcher, opened, furrow_searcher_free);
}

size_t furrow_searcher_dimension(const furrow_searcher *searcher) {
  return searcher->shards ? furrow_shards_dimension(searcher->shards) : (size_t)searcher->index->d;
}

uint64_t furrow_searcher_vectors(const furrow_searcher *searcher) {
  return searcher->shards ? furrow_shards_vectors(searcher->shards) : (uint64_t)searcher->index->ntotal;
}

const furrow_index *furrow_searcher_index(const furrow_searcher *searcher) {
  return searcher->shards ? furrow_shards_index(searcher->shards, 0) : searcher->index;
}

const furrow_id_names *furrow_searcher_names(const furrow_searcher *searcher) {
  return searcher->names;
}

const furrow_attributes *furrow_searcher_attributes(const furrow_searcher *searcher) {
  return searcher->attributes;
}

const char *furrow_searcher_name(const furrow_searcher *searcher, int64_t id, size_t *size) {
  return searcher->names ? furrow_id_names_text(searcher->names, id, size) : NULL;
}
