/* furrow/arrow.h: the structs of Arrow's C data interface and C stream interface, by which columns pass between
 * libraries without a copy. Their layout is fixed for all libraries and all versions:
 * https://arrow.apache.org/docs/format/CDataInterface.html. Nothing has to be linked for them.
 *
 * Another header may have declared them already: each interface has a macro that says so, and the declaration is then
 * left out here.
 *
 * The receiver of a struct calls its `release` once when it is no longer needed; a released struct has release == NULL.
 * A struct is moved by copying its bytes and setting release of the source to NULL.
 */
#ifndef FURROW_ARROW_H
#define FURROW_ARROW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
/* The structs ArrowSchema and ArrowArray are declared. */
#define ARROW_C_DATA_INTERFACE

/* The order of a dictionary's values has a meaning. */
#define ARROW_FLAG_DICTIONARY_ORDERED 1
/* Values may be null. */
#define ARROW_FLAG_NULLABLE 2
/* The keys of each map are sorted. */
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/* The type of a column. */
struct ArrowSchema {
  const char *format;                          /* what the values are: "l" 64-bit integers, "u" UTF-8 text … */
  const char *name;                            /* name of the column; may be NULL */
  const char *metadata;                        /* may be NULL */
  int64_t flags;                               /* ARROW_FLAG_… */
  int64_t n_children;                          /* how many columns are nested in it */
  struct ArrowSchema **children;               /* their types */
  struct ArrowSchema *dictionary;              /* type of the values of a dictionary; NULL: it has none */
  void (*release)(struct ArrowSchema *schema); /* frees it; NULL: it was released */
  void *private_data;                          /* of the producer */
};

/* The values of a column. */
struct ArrowArray {
  int64_t length;                            /* number of values */
  int64_t null_count;                        /* how many are null; -1: unknown */
  int64_t offset;                            /* number of values in the buffers before the first */
  int64_t n_buffers;                         /* how many buffers there are */
  int64_t n_children;                        /* how many columns are nested in it */
  const void **buffers;                      /* bits of values that are not null, then what the format says */
  struct ArrowArray **children;              /* the nested columns */
  struct ArrowArray *dictionary;             /* the values of a dictionary; NULL: it has none */
  void (*release)(struct ArrowArray *array); /* frees it; NULL: it was released */
  void *private_data;                        /* of the producer */
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
/* The struct ArrowArrayStream is declared. */
#define ARROW_C_STREAM_INTERFACE

/* A table that is handed over in batches of rows, each a struct array with one child per column. */
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out); /* 0, or an errno */
  int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);    /* the same; the end: release == NULL */
  const char *(*get_last_error)(struct ArrowArrayStream *stream); /* text of the last failure; may be NULL */
  void (*release)(struct ArrowArrayStream *stream);               /* frees it; NULL: it was released */
  void *private_data;                                             /* of the producer */
};

#endif /* ARROW_C_STREAM_INTERFACE */

#ifdef __cplusplus
}
#endif

#endif
