/* base/nearest_word.h: which of some words somebody may have meant. */
#ifndef FW_BASE_NEAREST_WORD_H
#define FW_BASE_NEAREST_WORD_H

#include <stddef.h>
#include <stdint.h>

#define FW_NEAREST_LENGTH 64 /* longer candidates are not considered */

/* Start with {NULL, SIZE_MAX}. */
typedef struct fw_nearest {
  const char *word;
  size_t distance; /* letters to insert or remove; a change is both. Capital letters are no others */
} fw_nearest;

/* Keeps the candidate if it is nearer to what was written than the one before. */
void fw_nearest_offer(fw_nearest *nearest, const char *written, const char *candidate);

#endif
