/* learn/conf/conf_rank.c: what a configuration says of users, items and negatives. */
#include <string.h>

#include "base/error.h"
#include "learn/conf/conf_data.h"

static furrow_status take_fields(fw_arena *arena, const char *text, const uint64_t **fields, size_t *count,
                                 furrow_error *err) {
  void *taken = NULL;
  size_t n = 1;
  if (!text[0]) return FURROW_OK;
  for (const char *at = text; (at = strchr(at, ',')); at++) n++;
  FW_TRY(fw_arena_take(arena, &taken, n, sizeof(uint64_t), err));
  uint64_t *numbers = taken;
  for (size_t i = 0; i < n; i++) text = fw_next_field(text, &numbers[i]);
  *fields = numbers;
  *count = n;
  return FURROW_OK;
}

static furrow_status check_apart(const fw_rank_conf *rank, furrow_error *err) {
  for (size_t i = 0; i < rank->user_field_count; i++)
    for (size_t k = 0; k < rank->item_field_count; k++)
      if (rank->user_fields[i] == rank->item_fields[k])
        return fw_fail(err, FURROW_E_ARGUMENT, "the field %llu is in user-fields and in item-fields",
                       (unsigned long long)rank->user_fields[i]);
  return FURROW_OK;
}

/* Input layer, embedding, sum of the products of pairs: what splits into a vector of the user and one of the item. */
static bool is_machine(const fw_graph *graph) {
  size_t inputs = 0, embeddings = 0, crosses = 0;
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    inputs += layer->type == FW_LAYER_INPUT && layer->width == 1 && layer->activation == FW_ACTIVATION_IDENTITY;
    embeddings += layer->type == FW_LAYER_EMBEDDING;
    crosses += layer->type == FW_LAYER_BI_INNER_SUM;
  }
  return graph->count == 5 && inputs == 1 && embeddings == 1 && crosses == 1 &&
         graph->layers[3].type == FW_LAYER_SUM_POOLING;
}

static furrow_status check_ranking(const fw_plan *plan, furrow_error *err) {
  const fw_graph *graph = &plan->graph;
  if (plan->rank.same_hour)
    return fw_fail(err, FURROW_E_ARGUMENT, "negative-sampling=hour is for rows that `negatives` draws, not for %s",
                   fw_loss_name(graph->loss));
  if (!is_machine(graph)) {
    fw_fail(err, FURROW_E_ARGUMENT, "%s is for fm alone", fw_loss_name(graph->loss));
    fw_error_set_hint(err, "the key `negatives` draws negative rows for any model with LogLoss");
    return FURROW_E_ARGUMENT;
  }
  for (size_t i = 0; i < graph->count; i++) {
    const fw_optimizer_type type = graph->layers[i].optimizer.type;
    if (graph->layers[i].type == FW_LAYER_EMBEDDING && type != FW_OPTIMIZER_ADAM &&
        type != FW_OPTIMIZER_PUBLISHED_ADAGRAD)
      return fw_fail(err, FURROW_E_ARGUMENT, "%s is trained with Adam or published-adagrad, not with %s",
                     fw_loss_name(graph->loss), fw_optimizer_name(type));
  }
  return FURROW_OK;
}

/* Drawn rows are negatives of two classes. */
static furrow_status check_negatives(const fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  static const fw_key keys[] = {FW_KEY_NEGATIVE_SAMPLING, FW_KEY_POSITIVE_FROM};
  const fw_rank_conf *rank = &plan->rank;
  for (size_t i = 0; rank->negatives == 0 && i < sizeof keys / sizeof *keys; i++)
    if (fw_conf_is_set(conf, keys[i]))
      return fw_fail(err, FURROW_E_ARGUMENT, "%s goes with negatives, or with a loss that ranks",
                     fw_key_facts(keys[i])->name);
  if (rank->negatives > 0 && !fw_loss_has_two_classes(plan->graph.loss))
    return fw_fail(err, FURROW_E_ARGUMENT, "negatives are rows of the negative class, and %s has none",
                   fw_loss_name(plan->graph.loss));
  return FURROW_OK;
}

furrow_status fw_rank_resolve(fw_plan *plan, fw_arena *arena, const furrow_learn_conf *conf, furrow_error *err) {
  fw_rank_conf *rank = &plan->rank;
  FW_TRY(take_fields(arena, fw_conf_value(conf, FW_KEY_USER_FIELDS).text, &rank->user_fields, &rank->user_field_count,
                     err));
  FW_TRY(take_fields(arena, fw_conf_value(conf, FW_KEY_ITEM_FIELDS).text, &rank->item_fields, &rank->item_field_count,
                     err));
  rank->negatives = (uint32_t)fw_conf_value(conf, FW_KEY_NEGATIVES).integer;
  rank->popular = fw_conf_value(conf, FW_KEY_NEGATIVE_SAMPLING).integer == 1;
  rank->same_hour = fw_conf_value(conf, FW_KEY_NEGATIVE_SAMPLING).integer == 2;
  rank->hour_field = fw_conf_value(conf, FW_KEY_HOUR_FIELD).integer;
  rank->has_positive_from = fw_conf_is_set(conf, FW_KEY_POSITIVE_FROM);
  rank->positive_from = fw_conf_value(conf, FW_KEY_POSITIVE_FROM).real;
  FW_TRY(check_apart(rank, err));
  const bool items = fw_loss_ranks(plan->graph.loss) && !plan->forest.used;
  return items ? check_ranking(plan, err) : check_negatives(plan, conf, err);
}
