/* vector/file/index_read.h: the parts of the index reader. Each reads and checks one part of the layout
 * (docs/formats/faiss-ivfpq.md), and leaves a failure in reader->c. */
#ifndef FW_VECTOR_FILE_INDEX_READ_H
#define FW_VECTOR_FILE_INDEX_READ_H

#include <sys/stat.h>

#include "vector/file/index_cursor.h"
#include "vector/index/index.h"

typedef struct fw_index_reader {
  fw_cursor c;
  bool borrow;         /* codes and ids of lists are views into c.bytes */
  bool no_disk_lists;  /* do not open the data file of ilod */
  const char *lists;   /* path of the data file; NULL: in the folder of c.file */
  bool lists_optional; /* the data file may be missing */
  unsigned quantizers; /* > 0: a coarse quantizer is being read, whose vectors must be finite */
  bool pack;           /* pack the codes of lists for searching (fw_lists.packed), unless they are borrowed */
} fw_index_reader;

/* Reads a whole index in part `name` ("": the file itself). *index is NULL if it is stored as null. After a failure it
 * holds what was read so far; the caller frees it. */
void fw_read_index(fw_index_reader *r, const char *name, furrow_index **index);

/* Read the part after the header, by kind. */
void fw_read_ivf(fw_index_reader *r, furrow_index *index);
void fw_read_transforms(fw_index_reader *r, furrow_index *index);

/* Reads a product quantizer of dimension d. */
void fw_read_pq(fw_index_reader *r, const char *name, fw_pq *pq, int32_t d);
/* Reads the scalar quantizer of an index whose header is known. */
void fw_read_sq(fw_cursor *c, fw_sq *sq, const furrow_index *index);
/* Reads "bbs", the number of vectors in a block of 4-bit codes. */
int32_t fw_read_bbs(fw_cursor *c);
/* Fails unless the quantizer has 4 bits and m2 is its number of sub-quantizers, rounded up to even. */
void fw_check_fast_pq(fw_cursor *c, const fw_pq *pq, uint64_t nbits_offset, uint64_t m2, uint64_t m2_offset);
/* Reads the lists of an IVF index whose nlist, code_size (and bbs, m2) are known. */
void fw_read_lists(fw_index_reader *r, fw_ivf *ivf, furrow_index_kind kind);
/* Whether codes of these lists are packed; the quantizer must be known. */
bool fw_reader_packs_codes(const fw_index_reader *r, const fw_ivf *ivf);
/* Allocates the slab for packed codes and sets the start of each list in it; the sizes of all lists must be known. */
void fw_alloc_packed(fw_cursor *c, fw_lists *lists, const fw_pq *pq);
/* Replaces the codes that list i owns by packed ones. */
void fw_pack_own_codes(fw_cursor *c, fw_lists *lists, size_t i, const fw_pq *pq);
/* Read the ids and codes of a list, each with a count; the list owns them. */
void fw_read_own_ids(fw_cursor *c, fw_list *list);
void fw_read_own_codes(fw_cursor *c, fw_list *list, fw_field_type type, uint64_t expected, const char *meaning);
/* Reads the contents of lists on disk from the data file; disk->lists must be known. */
void fw_read_disk_lists(fw_index_reader *r, fw_ivf *ivf);

/* Fails if d (or ntotal) in the header of `index`, which is in part `name`, differs from `want`. */
void fw_expect_d(fw_index_reader *r, const furrow_index *index, const char *name, int32_t want);
void fw_expect_ntotal(fw_index_reader *r, const furrow_index *index, const char *name, int64_t want);
/* Rejects the last field, an array of floats, if one of them is NaN or infinite. */
void fw_expect_finite(fw_cursor *c, const float *numbers, size_t count);
/* Returns a * b, the count of an array; rejects the last field if it overflows. */
uint64_t fw_expect_product(fw_cursor *c, uint64_t a, uint64_t b);

/* Opens a file for reading and returns its size; close it with fw_input_close. Fails with E_ARGUMENT if it is not a
 * regular file. */
furrow_status fw_open_regular(fw_input **input, uint64_t *size, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Reads the card that is stored next to an index, if there is one (card_file.c). */
furrow_status fw_card_load(furrow_index *index, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Reads the next id that is stored next to an index, if there is one (next_id_file.c). */
furrow_status fw_next_id_load(furrow_index *index, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Loads the names of an index file or a manifest (id_names_file.c); *names is unchanged if there are none. */
/* attributes_file.c. *names and *attributes stay as they are if the index has none. */
furrow_status fw_attributes_load_if_there(furrow_attributes **attributes, const char *path,
                                          furrow_error *err) FURROW_MUST_USE;
furrow_status fw_id_names_load_if_there(furrow_id_names **names, const char *path, furrow_error *err) FURROW_MUST_USE;

#endif
