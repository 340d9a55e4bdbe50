/* learn/conf/model_dir.c: the files of a model directory next to the matrices, and the parameters of saving. */
#include "learn/conf/conf.h"

#include "base/error.h"
#include "base/params.h"
#include "rows/encode/encoder.h"

/* A model of raw logs contains the encoder that reads them. */
static furrow_status put_encoder(furrow_model_writer *model, const furrow_learn_conf *conf, furrow_error *err) {
  const char *directory = furrow_learn_conf_get(conf, "encoder");
  furrow_encoder *encoder = NULL;
  fw_buffer schema = {0};
  const void *dictionary = NULL;
  size_t size = 0;
  if (!directory[0]) return FURROW_OK;
  FW_TRY(furrow_encoder_load(&encoder, directory, err));
  furrow_status status = fw_encoder_files(encoder, &schema, &dictionary, &size, err);
  if (status == FURROW_OK)
    status = furrow_model_writer_write_file(model, FW_SCHEMA_NAME, schema.bytes, schema.size, err);
  if (status == FURROW_OK) status = furrow_model_writer_write_file(model, FW_DICTIONARY_NAME, dictionary, size, err);
  fw_buffer_clear(&schema);
  furrow_encoder_free(encoder);
  return status;
}

furrow_status fw_model_put_graph(furrow_model_writer *model, const furrow_learn_conf *conf, const fw_buffer *about,
                                 furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = furrow_learn_conf_describe(conf, FURROW_DESCRIBE_ANGEL, 0, &text, &size, err);
  if (status == FURROW_OK) status = furrow_model_writer_write_file(model, "graph.json", text, size, err);
  furrow_free(text);
  if (status == FURROW_OK) status = put_encoder(model, conf, err);
  if (status != FURROW_OK || !about) return status;
  return furrow_model_writer_write_file(model, "furrow.json", about->bytes, about->size, err);
}

furrow_status fw_save_params_read(fw_save_params *params, const furrow_trainer_save_params *given, unsigned ranks,
                                  furrow_error *err) {
  furrow_trainer_save_params used;
  furrow_trainer_save_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, given, furrow_trainer_save_params, err));
  *params = (fw_save_params){.formats = used.formats, .servers = used.servers, .part_size = used.part_size};
  furrow_matrix_write_params_init(&params->write);
  FW_TRY(FW_PARAMS_READ(&params->write, used.write, furrow_matrix_write_params, err));
  params->write.overwrite = used.overwrite;
  if (used.formats) params->write.separator = furrow_layer_formats_separator(used.formats);
  if (params->servers == 0) params->servers = (int32_t)ranks;
  return FURROW_OK;
}
