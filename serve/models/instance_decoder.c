/* serve/models/instance_decoder.c: what a version of a model needs to read the rows of requests. */
#include "models/instance_decoder.h"

#include <stdlib.h>
#include <string.h>

void instance_decoder_free(instance_decoder *decoder) {
  if (!decoder) return;
  for (unsigned i = 0; decoder->readers && i < decoder->threads; i++) {
    furrow_event_reader_free(decoder->readers[i].events);
    furrow_line_reader_free(decoder->readers[i].lines);
    furrow_json_free(decoder->readers[i].cells);
    fw_buffer_clear(&decoder->readers[i].warnings);
    free(decoder->readers[i].values);
    free(decoder->readers[i].seen);
  }
  free(decoder->readers);
  event_columns_clear(&decoder->columns);
  free(decoder->names);
  free(decoder->buckets);
  free(decoder);
}

static uint64_t hash_of(const char *name, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3;
  return hash ^ hash >> 32;
}

size_t instance_decoder_find(const instance_decoder *d, furrow_json_text name) {
  if (d->bucket_count == 0) return SIZE_MAX;
  size_t at = hash_of(name.bytes, name.size) & (d->bucket_count - 1);
  for (; d->buckets[at]; at = (at + 1) & (d->bucket_count - 1))
    if (furrow_json_is(name, d->names[d->buckets[at] - 1])) return d->buckets[at] - 1;
  return SIZE_MAX;
}

static bool make_names(instance_decoder *d, const furrow_scorer *scorer) {
  while (furrow_scorer_feature_name(scorer, d->name_count)) d->name_count++;
  if (d->name_count == 0) return true;
  for (d->bucket_count = 4; d->bucket_count < 2 * d->name_count;) d->bucket_count *= 2;
  d->names = calloc(d->name_count, sizeof *d->names);
  d->buckets = calloc(d->bucket_count, sizeof *d->buckets);
  if (!d->names || !d->buckets) return false;
  for (size_t i = 0; i < d->name_count; i++) {
    const char *name = d->names[i] = furrow_scorer_feature_name(scorer, i);
    size_t at = hash_of(name, strlen(name)) & (d->bucket_count - 1);
    while (d->buckets[at]) at = (at + 1) & (d->bucket_count - 1);
    d->buckets[at] = (uint32_t)i + 1;
  }
  return true;
}

static const char *setting_of(const furrow_learn_conf *conf, const char *key) {
  const char *value = furrow_learn_conf_get(conf, key);
  return value && *value ? value : NULL;
}

static instance_decoder *make_decoder(const model_version *version) {
  instance_decoder *d = calloc(1, sizeof *d);
  const furrow_learn_conf *conf = version->conf;
  if (!d) return NULL;
  const char *has_label = setting_of(conf, "has-label");
  d->threads = version->threads;
  d->readers = calloc(d->threads, sizeof *d->readers);
  d->has_label = !has_label || !strchr("nNfF0", *has_label); /* no, false */
  d->ignored[0] = setting_of(conf, "label-column");
  d->ignored[1] = setting_of(conf, "weight-column");
  furrow_error err;
  if (d->readers && make_names(d, version->scorer) &&
      (!version->encoder || event_columns_read(&d->columns, version->encoder, &err) == FURROW_OK))
    return d;
  instance_decoder_free(d);
  return NULL;
}

instance_decoder *instance_decoder_get(model_version *version) {
  instance_decoder *known = atomic_load_explicit(&version->decoder, memory_order_acquire);
  if (known) return known;
  instance_decoder *made = make_decoder(version);
  if (!made || atomic_compare_exchange_strong(&version->decoder, &known, made)) return made;
  instance_decoder_free(made);
  return known;
}
