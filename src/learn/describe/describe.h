/* learn/describe/describe.h: descriptions of a plan: describe.c counts and writes text, the others JSON and pictures.
 */
#ifndef FW_LEARN_DESCRIBE_DESCRIBE_H
#define FW_LEARN_DESCRIBE_DESCRIBE_H

#include "base/buffer.h"
#include "base/json_out.h"
#include "learn/conf/conf_data.h"

#define FW_COUNT_UNKNOWN UINT64_MAX /* the count depends on the unknown number of features, or is too large */

/* What a layer keeps. */
typedef struct fw_layer_size {
  bool by_feature;  /* weights have a column for each feature */
  uint64_t rows;    /* parameters by feature: numbers of each feature */
  uint64_t weights; /* FW_COUNT_UNKNOWN: not known */
  uint64_t biases;
  uint64_t bytes; /* bytes, with the optimizer's state */
} fw_layer_size;

/* The position of a layer in a drawing: rows from the top, columns from the left. */
typedef struct fw_layer_place {
  size_t level, column;
  size_t last; /* the lowest row that takes its output */
} fw_layer_place;

typedef struct fw_description {
  const fw_plan *plan;
  uint64_t features;    /* FW_COUNT_UNKNOWN: not known */
  fw_layer_size *sizes; /* size of each layer */
  fw_layer_place *positions;
  uint64_t parameters, bytes;
  /* if the number of features is unknown: the fixed part, and the part that each feature adds */
  uint64_t fixed, fixed_bytes, each, each_bytes;
} fw_description;

/* Its input is the data. */
bool fw_layer_takes_data(const fw_layer *layer);
/* 1,234,567 or ? */
void fw_buffer_count(fw_buffer *out, uint64_t count);
/* Of the whole model; with an unknown number of features: "101 + 9 for each feature". */
void fw_buffer_parameters(fw_buffer *out, const fw_description *about);
void fw_buffer_memory(fw_buffer *out, const fw_description *about);
/* A byte of text in XML, and within the quotes of a string of dot. */
void fw_buffer_xml(fw_buffer *out, char byte);
void fw_buffer_dot(fw_buffer *out, char byte);
/* Members of JSON; a count that is not known is null. */
void fw_json_put_count(fw_json_out *json, const char *key, uint64_t count);
void fw_json_put_real(fw_json_out *json, const char *key, double value);
/* Adam, beta 0.9, gamma 0.99 … */
void fw_buffer_optimizer(fw_buffer *out, const fw_optimizer *optimizer);
/* Relu; Dropout 0.2; nothing for layers without one. */
void fw_buffer_activation(fw_buffer *out, const fw_layer *layer);

/* Places of all layers: no two in one place, and no connection of one column through a layer. */
void fw_describe_layout(fw_layer_place *positions, const fw_graph *graph);

/* One function for each format; the buffer reports that memory ran out. */
void fw_describe_json(fw_buffer *out, const fw_description *about);
void fw_describe_dot(fw_buffer *out, const fw_description *about);
void fw_describe_svg(fw_buffer *out, const fw_description *about);
void fw_describe_angel(fw_buffer *out, const fw_description *about);
/* Writes the keys of a configuration, whose plan this is. E_UNSUPPORTED: its graph comes from a JSON file. */
furrow_status fw_describe_keys(fw_buffer *out, const furrow_learn_conf *conf, const fw_plan *plan,
                               furrow_error *err) FURROW_MUST_USE;

#endif
