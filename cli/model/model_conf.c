/* cli/model/model_conf.c: Angel's settings for the formats of a model (-D KEY=VALUE), by kind of layer. */
#include "model/model_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/fail.h"

/* ---- graph.json ----------------------------------------------------------------------------------------- */

enum { GRAPH_MOST = 16 << 20 };

static furrow_status read_all(graph_text *graph, FILE *file, const char *path, furrow_error *err) {
  size_t capacity = 0;
  while (!feof(file)) {
    if (graph->size == capacity) {
      capacity = capacity ? 2 * capacity : 4096;
      char *text = capacity > GRAPH_MOST ? NULL : realloc(graph->text, capacity);
      if (!text) return fail_file(err, FURROW_E_MEMORY, path, "is too large", 0);
      graph->text = text;
    }
    graph->size += fread(graph->text + graph->size, 1, capacity - graph->size, file);
    if (ferror(file)) return fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  }
  return FURROW_OK;
}

furrow_status graph_read(graph_text *graph, const furrow_model_listing *listing, furrow_error *err) {
  char path[4096];
  int n = snprintf(path, sizeof path, "%s/%sgraph.json", listing->path, listing->single ? "../" : "");
  *graph = (graph_text){0};
  struct stat info;
  if (n < (int)sizeof path && stat(path, &info) == 0 && !S_ISREG(info.st_mode)) /* a pipe would keep us waiting */
    return fail_file(err, FURROW_E_FORMAT, path, "not a regular file", 0);
  FILE *file = n < (int)sizeof path ? fopen(path, "re") : NULL;
  if (!file) return FURROW_OK; /* a model need not have one */
  furrow_status status = read_all(graph, file, path, err);
  fclose(file);
  if (status != FURROW_OK) graph_clear(graph);
  return status;
}

void graph_clear(graph_text *graph) {
  free(graph->text);
  *graph = (graph_text){0};
}

/* ---- Settings ------------------------------------------------------------------------------------------- */

static const char separator_key[] = "text.format.filed.sep";

static furrow_status set_one(layer_formats *formats, const char *text, furrow_error *err) {
  char key[128];
  const char *equals = strchr(text, '=');
  size_t n = equals ? (size_t)(equals - text) : sizeof key;
  if (n == 0 || n >= sizeof key) return fail_token(err, text, "-D takes KEY=VALUE");
  memcpy(key, text, n);
  key[n] = 0;
  if (strcmp(key, separator_key) == 0) return parse_separator(equals + 1, &formats->separator, err);
  formats->any = true;
  return furrow_layer_formats_set(formats->conf, key, equals + 1, err);
}

furrow_status layer_formats_make(layer_formats *formats, const text_list *define, const furrow_model_listing *listing,
                                 furrow_error *err) {
  *formats = (layer_formats){0};
  furrow_status status = furrow_layer_formats_create(&formats->conf, err);
  for (size_t i = 0; i < define->count && status == FURROW_OK; i++) status = set_one(formats, define->texts[i], err);
  if (status == FURROW_OK && formats->any) status = graph_read(&formats->graph, listing, err);
  return status;
}

void layer_formats_clear(layer_formats *formats) {
  furrow_layer_formats_free(formats->conf);
  graph_clear(&formats->graph);
  *formats = (layer_formats){0};
}

const char *layer_format(const layer_formats *formats, const furrow_matrix_source *source) {
  furrow_layer_kind kind =
      furrow_layer_kind_of(furrow_matrix_source_meta(source)->matrix_name, furrow_matrix_source_format(source),
                           formats->graph.text, formats->graph.size);
  return furrow_layer_formats_is_set(formats->conf, kind) ? furrow_layer_formats_get(formats->conf, kind)->name : NULL;
}
