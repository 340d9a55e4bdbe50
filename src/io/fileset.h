/* io/fileset.h: the files of a list of paths, in order, as one run of bytes. */
#ifndef FW_IO_FILESET_H
#define FW_IO_FILESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

typedef enum fw_file_kind {
  FW_FILE_PLAIN, /* a regular file: can be read at any offset */
  FW_FILE_GZIP,  /* regular, compressed: can only be read from its start */
  FW_FILE_ZSTD,
  FW_FILE_XZ,
  FW_FILE_BZIP2,
  FW_FILE_LZ4,
  FW_FILE_RECORDIO, /* regular: records of dmlc-core, which hold lines; can be read at any offset */
  FW_FILE_JSON,     /* regular: an array of objects, which are lines; can only be read from its start */
  FW_FILE_COLUMNS,  /* a table of typed columns: can only be read from its start, as frames (columns/frames.h) */
  FW_FILE_PIPE      /* stdin, a FIFO, a device: can only be read once */
} fw_file_kind;

typedef struct fw_file {
  char *path; /* "-" is standard input */
  fw_file_kind kind;
  uint64_t size;    /* on disk; 0 for a pipe */
  uint64_t begin;   /* sum of the sizes of the files before it */
  int64_t mtime_ns; /* time of the last change; 0 for a pipe */
  bool once;        /* it cannot be read in parts: a query */
} fw_file;

typedef struct fw_fileset {
  fw_file *files;
  size_t nfiles;
  uint64_t size; /* sum of the sizes of all files */
} fw_fileset;

/* Finds the files of each path in turn: a file; a directory: its regular files by name (byte order), without hidden
 * ones (.x, and _x like Hadoop's _SUCCESS), not recursive; otherwise a glob (* ? [ ]): its matches by name; "-" and
 * "stdin"; file:///path. An existing file takes precedence over a glob of that name. Symlinks are followed. The
 * first bytes of a file decide whether it is compressed, or a Parquet file, which a name that ends in .parquet is, too.
 * An empty file is a file. E_NOT_FOUND names the path that matches nothing (and says so for a directory without files);
 * E_UNSUPPORTED names the scheme (http, https, s3, hdfs, viewfs, azure, gs … and any other x://) or the compression
 * (zip, snappy …). */
furrow_status fw_fileset_open(fw_fileset *set, char *const *paths, size_t npaths, furrow_error *err) FURROW_MUST_USE;
/* Frees; the struct is all zeros afterwards. */
void fw_fileset_clear(fw_fileset *set);

#endif
