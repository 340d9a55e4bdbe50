/* cli/index/build_parts.h: an index that is built in parts, so that memory never holds all of its codes. */
#ifndef CLI_INDEX_BUILD_PARTS_H
#define CLI_INDEX_BUILD_PARTS_H

#include "base/buffer.h"
#include "core/command.h"
#include "furrow/vector.h"
#include "index/index_source.h"

/* Parts that are full wait in files without names. All zeros: the index is not built in parts. */
typedef struct build_parts {
  const char *destination; /* the parts are in its folder */
  uint64_t most;           /* bytes of the lists of a part */
  fw_buffer empty;         /* the bytes of the trained index without vectors */
  furrow_index **full;
  size_t count;
} build_parts;

/* Starts with a trained index without vectors. Does nothing unless the index has only lists that a data file can hold.
 * Clear it, even after a failure. */
furrow_status build_parts_begin(build_parts *parts, const furrow_index *trained, const char *destination, uint64_t most,
                                furrow_error *err);
/* If *index is full, sets it aside and replaces it by an empty one. next: the id of the next vector; 0 if vectors bring
 * their ids. */
furrow_status build_parts_next(build_parts *parts, furrow_index **index, uint64_t next, furrow_error *err);
/* Writes all parts and the last one as one index. */
furrow_status build_parts_save(build_parts *parts, furrow_index *last, const furrow_index_save_params *params,
                               furrow_error *err);
/* Appends the ids of all parts that were set aside. */
furrow_status build_parts_ids(const build_parts *parts, id_list *ids, furrow_error *err);
void build_parts_clear(build_parts *parts);

#endif
