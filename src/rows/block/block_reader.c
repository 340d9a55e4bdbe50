/* rows/block/block_reader.c: blocks from an external reader, converted to the requested types. */
#include "rows/block/block_reader.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static furrow_status fail_reader(furrow_status status, furrow_error *said, furrow_error *err) {
  status = fw_failed_status(status);
  said->status = status;
  if (err) *err = *said;
  return status;
}

furrow_status fw_block_reader_open(fw_block_reader **reader, const furrow_rows_format *format, const void *state,
                                   const furrow_rows_request *request, furrow_error *err) {
  fw_block_reader *r;
  FW_TRY(FW_ALLOC_ZERO(&r, 1, err));
  r->format = format;
  r->key_type = request->key_type;
  r->value_type = request->value_type;
  furrow_error said;
  (void)fw_fail(&said, FURROW_E_IO, "format %s cannot open its rows", format->name);
  furrow_status status = format->open_rows(state, request, &r->rows, &said);
  if (status != FURROW_OK) {
    fw_free(r);
    return fail_reader(status, &said, err);
  }
  *reader = r;
  return FURROW_OK;
}

void fw_block_reader_close(fw_block_reader *reader) {
  if (!reader) return;
  if (reader->format->close_rows) reader->format->close_rows(reader->rows);
  furrow_container_free(reader->converted);
  fw_free(reader);
}

/* Copies the block to a block of the requested types. */
static furrow_status convert(fw_block_reader *r, const furrow_rowblock *given, furrow_rowblock *block,
                             furrow_error *err) {
  if (!r->converted) FW_TRY(furrow_container_create(&r->converted, r->key_type, r->value_type, err));
  furrow_container_clear(r->converted);
  FW_TRY(furrow_container_push_block(r->converted, given, err));
  return furrow_container_get_block(r->converted, block, err);
}

furrow_status fw_block_check(const furrow_rowblock *block, furrow_error *err) {
  if (furrow_key_size(block->key_type) == 0 || furrow_value_size(block->value_type) == 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "the block has a key_type or value_type that is not a type");
  if (block->size > 0 && !block->offset) return fw_fail(err, FURROW_E_ARGUMENT, "the block has rows and no offsets");
  for (size_t i = 0; i < block->size; i++)
    if (block->offset[i] > block->offset[i + 1])
      return fw_fail(err, FURROW_E_ARGUMENT, "offset %zu of the block is larger than the next", i);
  if (block->size > 0 && block->offset[0] < block->offset[block->size] && !block->index.any)
    return fw_fail(err, FURROW_E_ARGUMENT, "the block has features and no indices");
  return FURROW_OK;
}

static furrow_status check_block(fw_block_reader *r, const furrow_rowblock *block, furrow_error *err) {
  furrow_error why;
  if (fw_block_check(block, &why) != FURROW_OK)
    return fw_fail(err, FURROW_E_FORMAT, "format %.64s: %.160s", r->format->name, why.message);
  const bool has_label = block->label.any != NULL;
  if (r->label_known && r->has_label != has_label)
    return fw_fail(err, FURROW_E_PARSE, "rows from here on have %s label, earlier rows have %s", has_label ? "a" : "no",
                   has_label ? "none" : "one");
  r->label_known = true;
  r->has_label = has_label;
  return FURROW_OK;
}

furrow_status fw_block_reader_next(fw_block_reader *reader, furrow_rowblock *block, furrow_error *err) {
  const furrow_rowblock *given = NULL;
  do {
    furrow_error said;
    (void)fw_fail(&said, FURROW_E_IO, "format %s cannot read its rows", reader->format->name);
    const furrow_status status = reader->format->next_rows(reader->rows, &given, &said);
    if (status == FURROW_END) return status;
    if (status != FURROW_OK) return fail_reader(status, &said, err);
    if (!given) return fw_fail(err, FURROW_E_FORMAT, "format %s gave no block", reader->format->name);
  } while (given->size == 0);
  FW_TRY(check_block(reader, given, err));
  if (given->key_type != reader->key_type || given->value_type != reader->value_type)
    return convert(reader, given, block, err);
  *block = *given;
  return FURROW_OK;
}

furrow_status fw_block_reader_rewind(fw_block_reader *reader, furrow_error *err) {
  if (!reader->format->rewind_rows)
    return fw_fail(err, FURROW_E_STATE, "rows of format %s can be read only once", reader->format->name);
  furrow_error said;
  (void)fw_fail(&said, FURROW_E_IO, "format %s cannot read its rows again", reader->format->name);
  const furrow_status status = reader->format->rewind_rows(reader->rows, &said);
  if (status != FURROW_OK) return fail_reader(status, &said, err);
  reader->label_known = false;
  return FURROW_OK;
}
