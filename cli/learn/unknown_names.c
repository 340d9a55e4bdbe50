/* cli/learn/unknown_names.c: rows of raw logs whose user or item the model does not know. */
#include "learn/unknown_names.h"
#include "core/shown_text.h"

#include <inttypes.h>
#include <stdio.h>

static void start_side(unknown_side *side, const furrow_encoder *encoder, furrow_side which) {
  const size_t field = encoder ? furrow_encoder_side_field(encoder, which) : SIZE_MAX;
  *side = (unknown_side){.used = field != SIZE_MAX};
  if (side->used) furrow_encoder_get_field(encoder, field, &side->field);
}

void unknown_names_start(unknown_names *names, const furrow_encoder *encoder) {
  names->rows = 0;
  start_side(&names->user, encoder, FURROW_SIDE_USER);
  start_side(&names->item, encoder, FURROW_SIDE_ITEM);
}

/* The first feature of a field with a dictionary stands for what the dictionary does not have. */
static void count_side(unknown_side *side, const furrow_rowblock *block) {
  const uint64_t first = side->field.first + (side->field.entries > 0), end = side->field.first + side->field.count;
  if (!side->used) return;
  for (size_t row = 0; row < block->size; row++) {
    bool known = false;
    for (uint64_t i = block->offset[row]; i < block->offset[row + 1] && !known; i++) {
      const uint64_t feature = furrow_keys_get(block->index, block->key_type, i);
      known = feature >= first && feature < end;
    }
    side->rows += !known;
  }
}

void unknown_names_count(unknown_names *names, const furrow_rowblock *block) {
  names->rows += block->size;
  count_side(&names->user, block);
  count_side(&names->item, block);
}

static void print_side(const unknown_side *side, const char *what, uint64_t rows) {
  if (side->rows == 0) return;
  if (rows == 1)
    say("furrow: note: the model does not know the %s (%s)\n", what, side->field.name);
  else if (side->rows == rows)
    say("furrow: warning: no row has %s %s that the model knows: is the column right (%s)?\n",
        what[0] == 'i' ? "an" : "a", what, side->field.name);
  else
    say("furrow: note: %" PRIu64 " of %" PRIu64 " rows have %s %s that the model does not know\n", side->rows, rows,
        what[0] == 'i' ? "an" : "a", what);
}

void unknown_names_print(const unknown_names *names) {
  print_side(&names->user, "user", names->rows);
  print_side(&names->item, "item", names->rows);
}
