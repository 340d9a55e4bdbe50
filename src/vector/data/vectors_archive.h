/* vector/data/vectors_archive.h: files of several arrays, one of which has the vectors: npz, safetensors. */
#ifndef FW_VECTOR_DATA_VECTORS_ARCHIVE_H
#define FW_VECTOR_DATA_VECTORS_ARCHIVE_H

#include "array/safetensors.h"
#include "array/zip.h"

typedef enum fw_archive_kind { FW_ARCHIVE_NONE, FW_ARCHIVE_NPZ, FW_ARCHIVE_SAFETENSORS } fw_archive_kind;

/* Returns the kind that `name` is (NULL: that the extension of path says); NONE: another kind of file. */
fw_archive_kind fw_archive_kind_find(const char *path, const char *name);

/* The archive that a reader of one of its arrays needs. {0} is closed. */
typedef struct fw_vectors_archive {
  fw_zip *zip;
  fw_safetensors *tensors;
} fw_vectors_archive;

/* Opens an archive and the array `name`; NULL: its only array of numbers with two dimensions. E_NOT_FOUND: there is no
 * such array; E_ARGUMENT: there are several. The caller closes the reader before the archive. */
furrow_status fw_vectors_archive_open(fw_vectors_archive *archive, fw_array_reader **reader, const char *path,
                                      fw_archive_kind kind, const char *name, furrow_error *err) FURROW_MUST_USE;
void fw_vectors_archive_close(fw_vectors_archive *archive);

#endif
