/* vector/file/index_write.h: writes an index to a file or to a function that takes bytes, and the names of its ids. */
#ifndef FW_VECTOR_FILE_INDEX_WRITE_H
#define FW_VECTOR_FILE_INDEX_WRITE_H

#include "io/atomic_file.h"
#include "vector/data/id_names.h"
#include "vector/index/index.h"

/* ---- Older releases of Faiss (index_compat.c) ---- */

/* A release of Faiss: 1.6.3 is 10603. FW_COMPAT_NEWEST: reads every layout that Furrow writes. */
typedef uint32_t fw_compat;
#define FW_COMPAT_NEWEST 0
#define FW_COMPAT_LISTS 10201    /* Iw..: lists are a part of their own (ilar); before, Iv..: ids here, codes there */
#define FW_COMPAT_SQ_PLAIN 10501 /* IwSq: scalar quantizer codes without residuals; before, IwSQ: residuals always */
#define FW_COMPAT_PCA 10702      /* Pcam: with epsilon; before, PcAm */

static inline bool fw_compat_reads(fw_compat release, fw_compat first) {
  return release == FW_COMPAT_NEWEST || release >= first;
}

/* "1.6.3", or "1.6" for the first of them; NULL: the newest. E_ARGUMENT lists the known releases. */
furrow_status fw_compat_parse(fw_compat *release, const char *text, furrow_error *err) FURROW_MUST_USE;
/* Whether an index can be written for a release. E_UNSUPPORTED names the part and the first release that reads it; the
 * token is the fourcc. E_STATE: only because it is not trained. */
furrow_status fw_compat_check(const furrow_index *index, fw_compat release, bool inline_lists,
                              furrow_error *err) FURROW_MUST_USE;
/* The fourcc that an index has in a file for a release. */
const char *fw_compat_fourcc(const furrow_index *index, fw_compat release);

/* ---- Writing ---- */

/* Lists whose vectors are written behind those of the index, list by list, with other ids. */
typedef struct fw_joined_lists {
  const fw_lists *lists;
  int64_t id_shift;
} fw_joined_lists;

/* A file that several ranks write together: what the other ranks have of an index. */
typedef struct fw_index_part {
  uint64_t before, total;                  /* vectors (ntotal) of the ranks before this one, and of all */
  const uint64_t *list_before, *list_size; /* nlist each: the same of each list */
  bool shift_ids;                          /* ids in lists are increased by `before` */
  const fw_id_location *pairs;             /* of a direct map that is a hash table: those of all ranks, on rank 0 */
  uint64_t pair_count;                     /* on every rank */
} fw_index_part;

/* Functions that write return no status: the first failure stays in status, and nothing is written after it. */
typedef struct fw_index_writer {
  /* Bytes at an offset: behind those before, unless ranks write together. NULL: bytes are counted. */
  furrow_status (*write)(void *to, uint64_t offset, const void *bytes, size_t size, furrow_error *err);
  void *to;
  uint64_t size;                 /* so far */
  bool inline_lists;             /* lists on disk become part of the file */
  fw_compat compat;              /* the release of Faiss that is to read the file */
  const furrow_index *joint;     /* NULL, or the IVF index inside whose lists are replaced by `joined`, inline */
  const fw_joined_lists *joined; /* of the same shape */
  size_t joined_count;
  const furrow_id_names *names; /* NULL, or the names of its ids, to be written beside the file */
  const fw_index_part *part;    /* NULL, or of the index that is being written; not of its quantizers */
  bool own;                     /* what is written now is of this rank alone */
  bool skip_own, skip_common;   /* what is of this rank alone, or the same on all, is counted but not written */
  furrow_status status;
  furrow_error *err;
} fw_index_writer;

/* index may be NULL: a missing index. */
void fw_write_index(fw_index_writer *w, const furrow_index *index);
/* The writer that params ask for. Fails where `index` cannot be written so. */
furrow_status fw_index_writer_init(fw_index_writer *w, const furrow_index *index,
                                   const furrow_index_save_params *params, furrow_error *err) FURROW_MUST_USE;
/* The same, and with params->unique_ids E_EXISTS: an id is there more than once. */
furrow_status fw_index_check_savable(fw_index_writer *w, const furrow_index *index,
                                     const furrow_index_save_params *params, furrow_error *err) FURROW_MUST_USE;
/* Writes one file together with the other ranks (index_write_ranks.c); shift_ids as in furrow_index_save_params. */
furrow_status fw_index_write_together(const furrow_index *index, const char *path,
                                      const furrow_index_save_params *params, const furrow_comm *comm,
                                      const fw_index_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* The stamp of the file that `writer` would write. */
furrow_status fw_index_find_stamp(const furrow_index *index, const fw_index_writer *writer, fw_index_stamp *stamp,
                                  furrow_error *err) FURROW_MUST_USE;
/* A digest (XXH3-64) of what the ranks must have in common: everything but the vectors and the links of graphs, which
 * may differ between machines. */
furrow_status fw_index_common_digest(const furrow_index *index, const fw_index_writer *writer, uint64_t *digest,
                                     furrow_error *err) FURROW_MUST_USE;
/* Writes a file, whole or not at all, by a copy of `writer`, with the names of its ids where there are any. */
furrow_status fw_index_write_file(const furrow_index *index, const char *path, bool overwrite,
                                  const fw_index_writer *writer, furrow_error *err) FURROW_MUST_USE;

/* ---- Names of ids, in INDEX.names (id_names_file.c) ---- */

furrow_status fw_index_stamp_of_file(const char *path, fw_index_stamp *stamp, furrow_error *err) FURROW_MUST_USE;
/* Gives an index file its name, together with the names of its ids; NULL: it has none, and with `overwrite` those of
 * the index before it go. They are two files, which no single step replaces: names wait as PATH.names.new with the
 * stamp of their index file until it is in place (docs/formats/index_names.md). furrow_id_names_load takes those of the
 * two files that fit the index. E_EXISTS: PATH.names is there and `overwrite` is false, or it is not a file of names.
 */
furrow_status fw_id_names_commit(fw_atomic_file *file, const furrow_id_names *names, const char *path,
                                 const fw_index_stamp *stamp, bool overwrite, furrow_error *err) FURROW_MUST_USE;

#endif
