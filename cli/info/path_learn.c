/* cli/info/path_learn.c: what training reads and keeps, for 'furrow info': JSON files of Angel, checkpoints. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/text_file.h"
#include "furrow/learn.h"
#include "info/path_kind.h"

/* ---- Checkpoints ---------------------------------------------------------------------------------------- */

static bool is_checkpoint(const path_inspection *look) {
  furrow_checkpoint_info *info = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_checkpoint_info_load(&info, look->path, &err);
  furrow_checkpoint_info_free(info);
  return status == FURROW_OK || (status == FURROW_E_FORMAT && err.offset != 0 && err.offset != FURROW_NO_OFFSET);
}

static furrow_status tell_checkpoint(path_inspection *look, furrow_error *err) {
  furrow_checkpoint_info *info = NULL;
  report *r = look->r;
  if (look->folder) path_advise(look, "furrow train --conf CONF.json --train ROWS --out MODEL --checkpoint @ --resume");
  furrow_status status = furrow_checkpoint_info_load(&info, look->path, err);
  if (status != FURROW_OK) return status;
  report_u64(r, "bytes", info->bytes);
  report_text(r, "parameters", info->number_size == 8 ? "double" : "float");
  report_u64(r, "epochs", info->epochs);
  report_u64(r, "updates", info->steps);
  report_u64(r, "best epoch", info->best);
  const furrow_epoch *last = info->last;
  report_f64(r, "learning rate", last ? last->learning_rate : 0);
  report_f64(r, "loss", last ? last->train->loss : 0);
  if (last && last->valid->rows > 0) report_f64(r, "validation loss", last->valid->loss);
  furrow_checkpoint_info_free(info);
  return FURROW_OK;
}

/* ---- JSON files ----------------------------------------------------------------------------------------- */

/* Returns whether the file is text that begins with a brace. */
static bool is_conf(const path_inspection *look) {
  char head[256];
  FILE *file = look->folder ? NULL : fopen(look->path, "rbe");
  if (!file) return false;
  const size_t size = fread(head, 1, sizeof head, file);
  fclose(file);
  size_t at = 0;
  while (at < size && isspace((unsigned char)head[at])) at++;
  return at < size && head[at] == '{';
}

static void report_conf(report *r, const furrow_learn_conf *conf) {
  static const char *const keys[][2] = {{"data format", "format"},
                                        {"features", "range"},
                                        {"epochs", "epochs"},
                                        {"batch", "batch"},
                                        {"learning rate", "lr"}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *value = furrow_learn_conf_get(conf, keys[i][1]);
    if (value) report_text(r, keys[i][0], value);
  }
}

static furrow_status describe_conf(path_inspection *look, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_status status = furrow_learn_conf_create(&conf, err);
  if (status == FURROW_OK) status = furrow_learn_conf_load(conf, look->path, err);
  if (status == FURROW_OK) status = furrow_learn_conf_check(conf, err);
  if (status == FURROW_OK) {
    report_conf(look->r, conf);
    path_advise(look, "furrow train --conf @ --dry-run");
    path_advise(look, "furrow train --conf @ --dry-run --json");
    path_advise(look, "furrow train --conf @ --train ROWS --out MODEL");
  }
  furrow_learn_conf_free(conf);
  return status;
}

const path_kind checkpoint_kind = {"checkpoint", "the state of a training after an epoch", is_checkpoint,
                                   tell_checkpoint};
const path_kind conf_kind = {"algorithm", "Angel's JSON file for an algorithm, or the graph of a model", is_conf,
                             describe_conf};
