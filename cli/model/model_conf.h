/* cli/model/model_conf.h: Angel's settings for the formats of a model (-D KEY=VALUE), by kind of layer. */
#ifndef CLI_MODEL_MODEL_CONF_H
#define CLI_MODEL_MODEL_CONF_H

#include "furrow/model.h"
#include "model/model_source.h"

/* graph.json of a model; text NULL: there is none. For a matrix folder, the file of the directory around it. */
typedef struct graph_text {
  char *text;
  size_t size;
} graph_text;

furrow_status graph_read(graph_text *graph, const furrow_model_listing *listing, furrow_error *err);
void graph_clear(graph_text *graph);

typedef struct layer_formats {
  furrow_layer_formats *conf;
  graph_text graph;
  separator separator; /* "": not set */
  bool any;            /* a format is set */
} layer_formats;

/* Clear it, even after a failure. */
furrow_status layer_formats_make(layer_formats *formats, const text_list *define, const furrow_model_listing *listing,
                                 furrow_error *err);
void layer_formats_clear(layer_formats *formats);
/* Returns the format that was set for the matrix's layer; NULL: none. */
const char *layer_format(const layer_formats *formats, const furrow_matrix_source *source);

#endif
