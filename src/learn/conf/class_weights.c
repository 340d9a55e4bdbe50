/* learn/conf/class_weights.c: a factor for the weight of each row by its class. */
#include "learn/conf/conf_data.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"

void fw_class_weights_clear(fw_class_weights *weights) {
  fw_free(weights->factors);
  *weights = (fw_class_weights){0};
}

bool fw_class_weights_are_used(const fw_class_weights *weights) {
  return weights->balanced || weights->factors;
}

/* ---- Reading ---- */

static furrow_status refuse_weights(const char *text, const char *why, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "class-weights=%.100s: %s", text, why);
  fw_error_set_hint(err, "it is none, balanced, or a number for each class: 1,2.5");
  return FURROW_E_ARGUMENT;
}

/* Reads numbers up to the end of the text into factors, which has space for all of them. */
static const char *read_factors(const char *text, double *factors, size_t count) {
  const char *end = text + strlen(text), *s = text;
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    s = fw_read_f64(s, end, &factors[i]);
    if (!s || (s < end && *s != ',')) return "a weight is not a number";
    if (!(factors[i] >= 0) || isinf(factors[i])) return "a weight is negative or not finite";
    any |= factors[i] > 0;
    s++; /* past the comma; after the last number, past the end */
  }
  return any ? NULL : "all weights are 0";
}

furrow_status fw_class_weights_parse(fw_class_weights *weights, const char *text, furrow_error *err) {
  fw_class_weights made = {.balanced = strcmp(text, "balanced") == 0};
  if (!made.balanced && strcmp(text, "none") != 0) {
    made.count = 1;
    for (const char *s = text; *s; s++) made.count += *s == ',';
    if (made.count < 2) return refuse_weights(text, "not none, balanced or a list", err);
    FW_TRY(FW_ALLOC(&made.factors, made.count, err));
    const char *wrong = read_factors(text, made.factors, made.count);
    if (wrong) {
      fw_class_weights_clear(&made);
      return refuse_weights(text, wrong, err);
    }
  }
  *weights = made;
  return FURROW_OK;
}

/* ---- Factors ---- */

furrow_status fw_class_weights_check(const fw_class_weights *weights, size_t classes, furrow_error *err) {
  if (!fw_class_weights_are_used(weights)) return FURROW_OK;
  if (classes == 0) return fw_fail(err, FURROW_E_ARGUMENT, "class-weights: a model of regression has no classes");
  if (weights->factors && weights->count != classes)
    return fw_fail(err, FURROW_E_ARGUMENT, "class-weights has %zu numbers, but the model has %zu classes",
                   weights->count, classes);
  return FURROW_OK;
}

static void balance(const uint64_t *rows, size_t classes, double *factors) {
  double all = 0, seen = 0;
  for (size_t k = 0; k < classes; k++) {
    all += (double)rows[k];
    seen += rows[k] > 0;
  }
  for (size_t k = 0; k < classes; k++) factors[k] = rows[k] > 0 ? all / (seen * (double)rows[k]) : 1;
}

void fw_class_weights_factors(const fw_class_weights *weights, const uint64_t *rows, size_t classes, double *factors) {
  if (weights->balanced)
    balance(rows, classes, factors);
  else
    for (size_t k = 0; k < classes; k++) factors[k] = weights->factors ? weights->factors[k] : 1;
}
