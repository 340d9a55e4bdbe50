/* learn/data/scaling.c: memory of a scaling, and its inverse. */
#include "learn/data/scaling.h"

#include "base/mem.h"

static furrow_status take_arrays(fw_scaling *s, size_t count, furrow_error *err) {
  furrow_status status = fw_alloc_zero((void **)&s->key, count, sizeof *s->key, err);
  if (status == FURROW_OK) status = fw_alloc_zero((void **)&s->mean, count, sizeof *s->mean, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&s->factor, count, sizeof *s->factor, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&s->slot, count, sizeof *s->slot, err);
  return status;
}

furrow_status fw_scaling_init(fw_scaling *scaling, size_t count, furrow_error *err) {
  fw_scaling s = {.count = count};
  furrow_status status = take_arrays(&s, count, err);
  if (status == FURROW_OK) {
    for (size_t i = 0; i < count; i++) s.factor[i] = 1;
    for (size_t i = 0; i < count; i++) s.slot[i] = -1;
    *scaling = s;
  } else {
    fw_scaling_clear(&s);
  }
  return status;
}

void fw_scaling_clear(fw_scaling *s) {
  fw_free(s->key);
  fw_free(s->mean);
  fw_free(s->factor);
  fw_free(s->slot);
  *s = (fw_scaling){0};
}

furrow_status fw_scaling_invert(fw_scaling *inverse, const fw_scaling *s, furrow_error *err) {
  furrow_status status = fw_scaling_init(inverse, s->count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < s->count; i++) {
    inverse->key[i] = s->key[i];
    inverse->mean[i] = -s->mean[i] * s->factor[i];
    inverse->factor[i] = 1 / s->factor[i];
    inverse->slot[i] = s->slot[i];
  }
  if (s->label_factor != 0) {
    inverse->label_mean = -s->label_mean * s->label_factor;
    inverse->label_factor = 1 / s->label_factor;
  }
  return FURROW_OK;
}
