/* learn/train/notes.h: what a training has to say beside its figures. */
#ifndef FW_LEARN_TRAIN_NOTES_H
#define FW_LEARN_TRAIN_NOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

typedef struct fw_note {
  char *text;
  bool warning; /* the model may be useless */
} fw_note;

typedef struct fw_notes {
  fw_note *list;
  size_t count, capacity;
} fw_notes;

__attribute__((format(printf, 4, 5))) furrow_status fw_notes_add(fw_notes *notes, bool warning, furrow_error *err,
                                                                 const char *format, ...) FURROW_MUST_USE;
void fw_notes_clear(fw_notes *notes);

#endif
