/* learn/train/encoded_data.c: what the encoder of a raw log tells of the training. */
#include "learn/train/encoded_data.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf_data.h"
#include "rows/encode/encoder.h"

/* The fields of one side, that of its id first: "1,4,5". What is not the item's counts as the user's. */
static furrow_status set_side(furrow_learn_conf *conf, const char *key, const furrow_encoder *encoder, bool item,
                              furrow_error *err) {
  const size_t id = furrow_encoder_side_field(encoder, item ? FURROW_SIDE_ITEM : FURROW_SIDE_USER);
  fw_buffer text = {0};
  char *list = NULL;
  fw_buffer_format(&text, "%zu", id);
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    if (i != id && (field.side == FURROW_SIDE_ITEM) == item) fw_buffer_format(&text, ",%zu", i);
  }
  furrow_status status = fw_buffer_take(&text, &list, NULL, err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, key, list, err);
  fw_buffer_clear(&text);
  fw_free(list);
  return status;
}

static bool has_sides(const furrow_encoder *encoder) {
  return furrow_encoder_side_field(encoder, FURROW_SIDE_USER) != SIZE_MAX &&
         furrow_encoder_side_field(encoder, FURROW_SIDE_ITEM) != SIZE_MAX;
}

static furrow_status settle_sides(fw_fit *f, const furrow_encoder *encoder, furrow_error *err) {
  furrow_learn_conf *conf = f->trainer->conf;
  if (!has_sides(encoder) || fw_conf_is_set(conf, FW_KEY_ITEM_FIELDS) || fw_conf_is_set(conf, FW_KEY_USER_FIELDS))
    return FURROW_OK;
  FW_TRY(set_side(conf, "item-fields", encoder, true, err));
  return set_side(conf, "user-fields", encoder, false, err);
}

/* The field of the hours of events. */
static furrow_status settle_hours(fw_fit *f, const furrow_encoder *encoder, furrow_error *err) {
  const fw_dictionary *d = &encoder->dictionary;
  char text[24];
  if (!f->trainer->plan->rank.same_hour || fw_conf_is_set(f->trainer->conf, FW_KEY_HOUR_FIELD)) return FURROW_OK;
  for (size_t i = 0; i < d->count; i++) {
    const fw_field *field = &d->fields[i];
    if (field->kind != FW_FIELD_PART || field->part != FW_PART_HOUR || field->column->role != FW_ROLE_TIME) continue;
    snprintf(text, sizeof text, "%zu", i);
    return furrow_learn_conf_set(f->trainer->conf, "hour-field", text, err);
  }
  return FURROW_OK;
}

/* A log without labels says who took what: a model of it ranks. */
static furrow_status settle_loss(fw_fit *f, const furrow_encoder *encoder, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  const bool ranks = fw_loss_ranks(plan->graph.loss) || plan->rank.negatives > 0;
  if (ranks || fw_schema_of_kind(encoder->schema, FW_AS_LABEL)) return FURROW_OK;
  const char *algorithm = plan->model.algorithm;
  if (algorithm && strcmp(algorithm, "fm") == 0 && !fw_conf_is_set(f->trainer->conf, FW_KEY_LOSS)) {
    FW_TRY(fw_notes_add(&f->trainer->notes, false, err,
                        "the log has no label: the model learns to rank items, with SampledSoftmaxLoss"));
    return furrow_learn_conf_set(f->trainer->conf, "loss", "sampled-softmax", err);
  }
  fw_fail(err, FURROW_E_ARGUMENT, "the log has no label: there is nothing to tell its rows apart");
  fw_error_set_hint(err, "name the column of the label, or train fm, which ranks items; `negatives` draws rows that "
                         "were not taken for any model of two classes");
  return FURROW_E_ARGUMENT;
}

/* Numbers that users give items are ratings; a schema names the classes of other labels. */
static bool has_ratings(const furrow_encoder *encoder) {
  const fw_column *label = fw_schema_of_kind(encoder->schema, FW_AS_LABEL);
  return label && !label->classes && has_sides(encoder);
}

/* Ranks whose dictionaries differ would take the same feature for different ones. */
static furrow_status compare_encoders(const fw_fit *f, furrow_status loaded, furrow_error *err) {
  const furrow_comm *comm = f->trainer->comm;
  char digest[17] = "", first[17];
  if (comm->ranks == 1) return loaded;
  if (loaded == FURROW_OK) loaded = fw_encoder_digest(f->trainer->plan->data.encoder, digest, err);
  FW_TRY(fw_comm_share_status(comm, loaded, err));
  memcpy(first, digest, sizeof first);
  FW_TRY(comm->broadcast(comm, first, sizeof first, 0, err));
  furrow_status status = FURROW_OK;
  if (memcmp(first, digest, sizeof first) != 0) {
    status = fw_fail(err, FURROW_E_STATE, "the encoder of rank %u is not that of rank 0", comm->rank);
    fw_error_set_hint(err, "encode the log first (furrow rows encode), or let all processes read the same files");
  }
  return fw_comm_share_status(comm, status, err);
}

furrow_status fw_fit_settle_encoder(fw_fit *f, furrow_error *err) {
  furrow_encoder *encoder = NULL;
  if (!f->trainer->plan->data.encoder) return FURROW_OK;
  furrow_status status = furrow_encoder_load(&encoder, f->trainer->plan->data.encoder, err);
  status = compare_encoders(f, status, err);
  if (status != FURROW_OK) {
    furrow_encoder_free(encoder);
    return status;
  }
  f->ratings = has_ratings(encoder);
  status = settle_sides(f, encoder, err);
  f->in_order = encoder->schema->history > 0; /* which refuses other logs */
  if (status == FURROW_OK) status = settle_hours(f, encoder, err);
  if (status == FURROW_OK) status = settle_loss(f, encoder, err);
  if (status == FURROW_OK) status = fw_trainer_replan(f->trainer, err);
  furrow_encoder_free(encoder);
  return status;
}
