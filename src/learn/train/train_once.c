/* learn/train/train_once.c: data in, a model directory out, in one call; a training that is repeated on other data. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "comm/collectives.h"
#include "furrow/learn.h"
#include "io/input.h"
#include "learn/train/trainer.h"

/* Sets "key=value". */
static furrow_status apply_setting(furrow_learn_conf *conf, const char *setting, furrow_error *err) {
  const char *equals = strchr(setting, '=');
  char *key = NULL;
  if (!equals) {
    fw_fail(err, FURROW_E_ARGUMENT, "a setting is not key=value");
    fw_error_set_token(err, setting, strlen(setting));
    return FURROW_E_ARGUMENT;
  }
  FW_TRY(fw_strndup(&key, setting, (size_t)(equals - setting), err));
  const furrow_status status = furrow_learn_conf_set(conf, key, equals + 1, err);
  fw_free(key);
  return status;
}

static furrow_status configure(furrow_learn_conf *conf, const char *algorithm, const char *const *settings,
                               furrow_error *err) {
  if (algorithm) FW_TRY(furrow_learn_conf_set_algorithm(conf, algorithm, err));
  for (; settings && *settings; settings++) FW_TRY(apply_setting(conf, *settings, err));
  return FURROW_OK;
}

/* Checks the output folder before hours of training, not after them. */
static furrow_status check_folder(const char *folder, const furrow_trainer_save_params *given, furrow_error *err) {
  furrow_trainer_save_params save;
  furrow_trainer_save_params_init(&save);
  FW_TRY(FW_PARAMS_READ(&save, given, furrow_trainer_save_params, err));
  if (!folder || save.overwrite || !fw_path_exists(folder)) return FURROW_OK;
  fw_fail(err, FURROW_E_EXISTS, "there is something of that name already");
  fw_error_set_file(err, folder);
  return FURROW_E_EXISTS;
}

static furrow_status fit_and_save(furrow_trainer **trainer, const furrow_learn_conf *conf, const char *data,
                                  const char *folder, const furrow_train_params *p, furrow_error *err) {
  furrow_trainer *made = NULL;
  furrow_status status = furrow_trainer_create(&made, conf, p->trainer, err);
  if (status == FURROW_OK) status = furrow_trainer_fit(made, data, p->valid, p->fit, err);
  if (status == FURROW_OK && folder) status = furrow_trainer_save(made, folder, p->save, err);
  if (status == FURROW_OK && trainer)
    *trainer = made;
  else
    furrow_trainer_free(made);
  return status;
}

furrow_status furrow_train(furrow_trainer **trainer, const char *algorithm, const char *data, const char *folder,
                           const furrow_train_params *params, furrow_error *err) {
  furrow_train_params p;
  furrow_trainer_params trainer_params;
  const furrow_comm *comm = NULL;
  furrow_learn_conf *own = NULL;
  furrow_train_params_init(&p);
  furrow_trainer_params_init(&trainer_params);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_train_params, err));
  FW_TRY(FW_PARAMS_READ(&trainer_params, p.trainer, furrow_trainer_params, err));
  FW_TRY(fw_comm_of(&comm, trainer_params.comm, err));
  if (p.conf && (algorithm || p.settings))
    return fw_fail(err, FURROW_E_ARGUMENT, "conf cannot be used together with an algorithm or settings");
  furrow_status status = fw_comm_is_first(comm) ? check_folder(folder, p.save, err) : FURROW_OK;
  if (status == FURROW_OK && !p.conf) status = furrow_learn_conf_create(&own, err);
  if (status == FURROW_OK && !p.conf) status = configure(own, algorithm, p.settings, err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) status = fit_and_save(trainer, p.conf ? p.conf : own, data, folder, &p, err);
  furrow_learn_conf_free(own);
  return status;
}

furrow_status fw_trainer_repeat(furrow_trainer **repeated, const furrow_trainer *trainer, const fw_repeated_fit *with,
                                furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *made = NULL;
  furrow_parser_params parser;
  furrow_trainer_params params;
  furrow_trainer_fit_params fit;
  furrow_parser_params_init(&parser);
  furrow_trainer_params_init(&params);
  furrow_trainer_fit_params_init(&fit);
  parser.on_bad = with->on_bad;
  parser.threads = params.threads = with->threads;
  params.max_features = trainer->max_features;
  fit.parser = &parser;
  fit.metric = trainer->metric[0] ? trainer->metric : NULL;
  fit.keep_best = trainer->keep_best;
  fit.patience = trainer->patience;
  fit.progress = with->progress;
  fit.progress_user = with->progress_user;
  furrow_status status = fw_learn_conf_copy(&conf, trainer->given, err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "encoder", with->encoder, err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "format", "table", err);
  if (status == FURROW_OK) status = furrow_trainer_create(&made, conf, &params, err);
  if (status == FURROW_OK) status = furrow_trainer_fit(made, with->data, NULL, &fit, err);
  furrow_learn_conf_free(conf);
  return FW_HAND_OVER(status, repeated, made, furrow_trainer_free);
}
