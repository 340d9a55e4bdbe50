/* cli/learn/class_label.c: how the labels of classes are printed. */
#include "learn/class_label.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Labels of a model that does not know them are -1 and 1: they are not the numbers of names. */
const char *class_name(const furrow_scorer *scorer, double label) {
  const furrow_encoder *encoder = furrow_scorer_encoder(scorer);
  if (!encoder || !(furrow_scorer_class_label(scorer, 0) >= 0) || !(label >= 0 && label < 1e9) || label != trunc(label))
    return NULL;
  return furrow_schema_class_name(furrow_encoder_schema(encoder), (size_t)label);
}

/* Labels that are not whole are floats. */
const char *class_label(char text[CLASS_LABEL_SIZE], const furrow_scorer *scorer, double label) {
  const char *name = class_name(scorer, label);
  if (name) return name;
  snprintf(text, CLASS_LABEL_SIZE, "%.*g", label == trunc(label) ? 15 : 7, label);
  return text;
}

static bool needs_quotes(const char *label) {
  return strpbrk(label, ",\"\r\n") != NULL;
}

void output_class_begin(output *out, const char *label) {
  if (!needs_quotes(label)) {
    output_data(out, label);
    return;
  }
  output_text(out, "\"");
  for (; *label; label++) output_bytes(out, *label == '"' ? "\"\"" : label, *label == '"' ? 2 : 1);
}

void output_class_end(output *out, const char *label) {
  if (needs_quotes(label)) output_text(out, "\"");
}
