/* array/npy.h: the header of a NumPy array file: reading (versions 1 to 3) and writing (version 1). */
#ifndef FW_ARRAY_NPY_H
#define FW_ARRAY_NPY_H

#include "array/array_type.h"
#include "array/bytes_in.h"

#define FW_NPY_DIMENSIONS 32

typedef struct fw_npy_header {
  char descr[16];     /* without the byte order: "f4", "S3" */
  bool swapped;       /* the elements are not in the byte order of this machine */
  bool fortran_order; /* set only if the order matters */
  size_t dimensions;  /* 0: a single element */
  uint64_t shape[FW_NPY_DIMENSIONS];
  uint64_t size; /* bytes of the header; the elements follow */
} fw_npy_header;

/* Reads the header at the start of the bytes. E_FORMAT: not an npy file, or damaged; E_UNSUPPORTED: structured
 * types. */
furrow_status fw_npy_read_header(fw_npy_header *header, fw_bytes_in *in, furrow_error *err) FURROW_MUST_USE;

/* Every header that is written has this size, whatever the counts in it, so the counts can be filled in at the end. */
#define FW_NPY_HEADER 128

/* descr includes the byte order ("<f4"); 0, 1 or 2 dimensions: rows, columns. */
void fw_npy_write_header(char out[FW_NPY_HEADER], const char *descr, int dimensions, uint64_t rows, uint64_t columns);
/* "<f4", "|u1" */
void fw_npy_descr(char descr[8], fw_array_type type);

#endif
