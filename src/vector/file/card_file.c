/* vector/file/card_file.c: the card next to an index (docs/formats/index_card.md). */
#include "base/error.h"
#include "base/mem.h"
#include "vector/file/companion_file.h"
#include "vector/file/index_read.h"
#include "vector/index/index_card.h"

/* A card with nothing but the reason why it is not used. */
static furrow_status keep_fault(fw_card **card, const furrow_error *fault, furrow_error *err) {
  fw_card *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = FW_ALLOC_ZERO(&made->fault, 1, err);
  if (status == FURROW_OK) *made->fault = *fault;
  return FW_HAND_OVER(status, card, made, fw_card_free);
}

furrow_status fw_card_load(furrow_index *index, const char *path, furrow_error *err) {
  furrow_error fault;
  void *object = NULL;
  const furrow_status status = fw_companion_load(&fw_card_kind, &object, path, &fault);
  if (status == FURROW_E_NOT_FOUND) return FURROW_OK;
  if (status == FURROW_E_FORMAT) return keep_fault(&index->card, &fault, err);
  if (status != FURROW_OK) {
    if (err) *err = fault;
    return status;
  }
  index->card = object;
  fw_companion_clear(&index->card->file);
  return FURROW_OK;
}
