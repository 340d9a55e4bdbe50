/* vector/file/index_write.h: writes an index to a file or to a callback, and the names of its ids. */
#ifndef FW_VECTOR_FILE_INDEX_WRITE_H
#define FW_VECTOR_FILE_INDEX_WRITE_H

#include "io/atomic_file.h"
#include "vector/data/id_names.h"
#include "vector/file/companion_file.h"
#include "vector/index/index.h"

/* ---- Older releases of Faiss (index_compat.c) ---- */

/* A release of Faiss: 1.6.3 is 10603. FW_COMPAT_NEWEST reads every layout that Furrow writes. */
typedef uint32_t fw_compat;
#define FW_COMPAT_NEWEST 0
#define FW_COMPAT_LISTS 10201    /* Iw..: lists are a separate part (ilar); before it, Iv..: ids and codes apart */
#define FW_COMPAT_SQ_PLAIN 10501 /* IwSq: scalar quantizer codes without residuals; before it, IwSQ: always with */
#define FW_COMPAT_PCA 10702      /* Pcam: with epsilon; before it, PcAm */

static inline bool fw_compat_reads(fw_compat release, fw_compat first) {
  return release == FW_COMPAT_NEWEST || release >= first;
}

/* Parses "1.6.3", or "1.6" for the first release of that series; NULL: the newest. Fails with E_ARGUMENT and lists the
 * known releases. */
furrow_status fw_compat_parse(fw_compat *release, const char *text, furrow_error *err) FURROW_MUST_USE;
/* Checks that an index can be written for a release. Fails with E_UNSUPPORTED and names the part and the first release
 * that reads it; the token is the fourcc. Fails with E_STATE if only training is missing. */
furrow_status fw_compat_check(const furrow_index *index, fw_compat release, bool inline_lists,
                              furrow_error *err) FURROW_MUST_USE;
/* The fourcc of an index in a file for a release. */
const char *fw_compat_fourcc(const furrow_index *index, fw_compat release);

/* ---- Writing ---- */

/* Lists whose vectors are written after the index's own vectors, list by list, with shifted ids. */
typedef struct fw_joined_lists {
  const fw_lists *lists;
  int64_t id_shift;
} fw_joined_lists;

/* For a file that several ranks write together: the counts over all ranks. */
typedef struct fw_index_part {
  uint64_t before, total;                  /* vectors (ntotal) of the ranks before this one, and of all ranks */
  const uint64_t *list_before, *list_size; /* nlist elements: the same for each list */
  bool shift_ids;                          /* ids in lists are increased by `before` */
  const fw_id_location *pairs;             /* direct map that is a hash table: the pairs of all ranks, on rank 0 */
  uint64_t pair_count;                     /* on every rank */
} fw_index_part;

/* Functions that write return no status: the first failure stays in status, and nothing is written after it. */
typedef struct fw_index_writer {
  /* Writes bytes at an offset; offsets are contiguous unless ranks write together. NULL: bytes are only counted. */
  furrow_status (*write)(void *to, uint64_t offset, const void *bytes, size_t size, furrow_error *err);
  void *to;
  uint64_t size;                /* bytes so far */
  bool inline_lists;            /* write lists on disk into the file */
  const furrow_index *lists_of; /* NULL, or the nested IVF index whose lists are written to the data file lists_file */
  const char *lists_file;
  fw_compat compat;              /* the release of Faiss that must be able to read the file */
  const furrow_index *joint;     /* NULL, or the nested IVF index whose lists are replaced by `joined`, inline */
  const fw_joined_lists *joined; /* lists of the same shape */
  size_t joined_count;
  fw_companions with;        /* what is stored next to the index */
  const char *first;         /* NULL, or the manifest that the file belongs to */
  int64_t least_id;          /* ids of new vectors are at least this (furrow_index) */
  const fw_index_part *part; /* NULL, or the counts for the index that is being written (not for its quantizers) */
  bool own;                  /* the current bytes belong to this rank only */
  bool skip_own,
      skip_common; /* do not write, only count: bytes of this rank only; bytes that are the same on all ranks */
  furrow_status status;
  furrow_error *err;
} fw_index_writer;

/* index may be NULL: a missing index. */
void fw_write_index(fw_index_writer *w, const furrow_index *index);
/* Initializes the writer from params. Fails if `index` cannot be written that way. */
furrow_status fw_index_writer_init(fw_index_writer *w, const furrow_index *index,
                                   const furrow_index_save_params *params, furrow_error *err) FURROW_MUST_USE;
/* The same; with params->unique_ids also fails with E_EXISTS if an id is repeated. */
furrow_status fw_index_check_savable(fw_index_writer *w, const furrow_index *index,
                                     const furrow_index_save_params *params, furrow_error *err) FURROW_MUST_USE;
/* Writes one file together with the other ranks (index_write_ranks.c); shift_ids as in furrow_index_save_params. */
furrow_status fw_index_write_together(const furrow_index *index, const char *path,
                                      const furrow_index_save_params *params, const furrow_comm *comm,
                                      const fw_index_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Computes the stamp of the file that `writer` would write. */
furrow_status fw_index_find_stamp(const furrow_index *index, const fw_index_writer *writer, fw_index_stamp *stamp,
                                  furrow_error *err) FURROW_MUST_USE;
/* Computes a digest (XXH3-64) of what all ranks must have in common: everything except the vectors and the links of
 * graphs, which may differ between machines. */
furrow_status fw_index_common_digest(const furrow_index *index, const fw_index_writer *writer, uint64_t *digest,
                                     furrow_error *err) FURROW_MUST_USE;
/* Writes a file with a copy of `writer`, completely or not at all, with what is stored next to it. */
furrow_status fw_index_write_file(const furrow_index *index, const char *path, bool overwrite,
                                  const fw_index_writer *writer, furrow_error *err) FURROW_MUST_USE;

/* ---- A new data file of lists (index_write_disk.c) ---- */

/* Sets w->lists_file and lists_of. Fails if the lists of the index cannot be written to a data file. */
furrow_status fw_lists_file_init(fw_index_writer *w, const furrow_index *index, const furrow_index_save_params *params,
                                 furrow_error *err) FURROW_MUST_USE;
/* Fails with E_ARGUMENT if the lists stay in a data file that readers of `path` would not find. */
furrow_status fw_lists_file_check_kept(const furrow_index *index, const fw_index_writer *writer, const char *path,
                                       furrow_error *err) FURROW_MUST_USE;
/* Starts the data file of an index that will become `path`; fails with E_EXISTS if there is one. *data stays as it is
 * if the writer has no data file. */
furrow_status fw_lists_file_open(fw_atomic_file **data, const fw_index_writer *writer, const char *path,
                                 furrow_error *err) FURROW_MUST_USE;
/* Writes the whole data file. It is committed before the index, so that there is no index without lists
 * (index_write.c). */
furrow_status fw_lists_file_write(fw_atomic_file *data, const fw_index_writer *writer,
                                  furrow_error *err) FURROW_MUST_USE;
/* Closes the data file; with `drop`, because the index did not get its name, removes it. `data` may be NULL. */
void fw_lists_file_close(fw_atomic_file *data, const fw_index_writer *writer, bool drop);

/* ---- The next id, in INDEX.nextid (next_id_file.c) ---- */

/* Call before the index gets its name. E_EXISTS: a file of another kind is in the way. */
furrow_status fw_next_id_save(int64_t next, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Call when the index has its name, if its ids show which is next: removes the file of the index before it. A file that
 * cannot be removed only makes the next id larger than it has to be. */
void fw_next_id_drop(const char *path);

#endif
