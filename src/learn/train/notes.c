/* learn/train/notes.c: what a training has to say beside its figures. */
#include "learn/train/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

furrow_status fw_notes_add(fw_notes *notes, bool warning, furrow_error *err, const char *format, ...) {
  char text[512];
  void *list = notes->list;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  furrow_status status = fw_grow(&list, &notes->capacity, notes->count + 1, sizeof *notes->list, err);
  notes->list = list;
  if (status != FURROW_OK) return status;
  fw_note *note = &notes->list[notes->count];
  *note = (fw_note){.warning = warning};
  status = fw_strndup(&note->text, text, strlen(text), err);
  if (status == FURROW_OK) notes->count++;
  return status;
}

void fw_notes_clear(fw_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) fw_free(notes->list[i].text);
  fw_free(notes->list);
  *notes = (fw_notes){0};
}
