/* bench/bench_json_peers.c: Furrow's JSON reader beside jansson and yyjson.
 *
 *   bench_json_peers [--quick] [--rounds N] [--json] [--only Furrow|jansson|yyjson] [FILE …]
 *
 * Reads a document from memory and goes over all of its values: counts them, adds up the numbers and the bytes of
 * strings and keys. Furrow's reader makes no tree and does that while it reads; the others make a tree first, go over
 * it and free it. Documents: the metadata of a matrix with 4,000 partitions, the graph of a net, and a large mixed one;
 * or the FILEs. The run fails when two do not find the same. Memory is what a peer's tree takes. --only with a name
 * runs that one alone, --rounds times, for a program that counts instructions. */
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>

#include "base/json_in.h"
#include "base/rng.h"
#include "contest.h"

#ifdef HAVE_JANSSON
#include <jansson.h>
#endif
#ifdef HAVE_YYJSON
#include <yyjson.h>
#endif

typedef struct totals {
  uint64_t values, bytes;
  double sum;
} totals;

typedef struct document {
  const char *name;
  char *text;
  size_t size, capacity;
  totals found;  /* by the last one that read it */
  double memory; /* of the tree, bytes */
} document;

/* ---- Furrow ---- */

static furrow_status add_value(furrow_json *json, totals *t, furrow_error *err);

static furrow_status add_object(furrow_json *json, totals *t, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    t->bytes += key.size;
    status = add_value(json, t, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status add_array(furrow_json *json, totals *t, furrow_error *err) {
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK)
    status = add_value(json, t, err);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status add_value(furrow_json *json, totals *t, furrow_error *err) {
  furrow_status status;
  furrow_json_text string;
  double number;
  bool truth;
  t->values++;
  switch (furrow_json_peek(json)) {
  case FURROW_JSON_OBJECT: return add_object(json, t, err);
  case FURROW_JSON_ARRAY: return add_array(json, t, err);
  case FURROW_JSON_STRING:
    status = furrow_json_string(json, &string, err);
    if (status == FURROW_OK) t->bytes += string.size;
    return status;
  case FURROW_JSON_NUMBER:
    status = furrow_json_f64(json, &number, err);
    if (status == FURROW_OK) t->sum += number;
    return status;
  case FURROW_JSON_BOOL: return furrow_json_bool(json, &truth, err);
  default: return furrow_json_null(json, err);
  }
}

static void read_ours(void *context) {
  document *d = context;
  furrow_json json;
  furrow_error err;
  totals t = {0, 0, 0};
  fw_json_open(&json, d->text, d->size, d->name);
  furrow_status status = add_value(&json, &t, &err);
  if (status == FURROW_OK) status = furrow_json_end(&json, &err);
  fw_json_close(&json);
  if (status != FURROW_OK) {
    fprintf(stderr, "bench_json_peers: %s: %s\n", d->name, err.message);
    exit(1);
  }
  d->found = t;
}

/* ---- The others ---- */

#ifdef HAVE_JANSSON
static void add_jansson(json_t *value, totals *t) {
  const char *key;
  json_t *member;
  size_t i;
  t->values++;
  if (json_is_object(value)) {
    json_object_foreach(value, key, member) {
      t->bytes += strlen(key);
      add_jansson(member, t);
    }
  } else if (json_is_array(value)) {
    json_array_foreach(value, i, member) add_jansson(member, t);
  } else if (json_is_string(value)) {
    t->bytes += json_string_length(value);
  } else if (json_is_number(value)) {
    t->sum += json_number_value(value);
  }
}

static void read_jansson(void *context) {
  document *d = context;
  json_error_t error;
  totals t = {0, 0, 0};
  json_t *root = json_loadb(d->text, d->size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
  if (!root) {
    fprintf(stderr, "bench_json_peers: %s: jansson: %s\n", d->name, error.text);
    exit(1);
  }
  if (d->memory < 0) d->memory += (double)mallinfo2().uordblks + (double)mallinfo2().hblkhd;
  add_jansson(root, &t);
  json_decref(root);
  d->found = t;
}
#endif

#ifdef HAVE_YYJSON
static void add_yyjson(yyjson_val *value, totals *t) {
  size_t i, count;
  yyjson_val *key, *member;
  t->values++;
  if (yyjson_is_obj(value)) {
    yyjson_obj_foreach(value, i, count, key, member) {
      t->bytes += yyjson_get_len(key);
      add_yyjson(member, t);
    }
  } else if (yyjson_is_arr(value)) {
    yyjson_arr_foreach(value, i, count, member) add_yyjson(member, t);
  } else if (yyjson_is_str(value)) {
    t->bytes += yyjson_get_len(value);
  } else if (yyjson_is_num(value)) {
    t->sum += yyjson_get_num(value);
  }
}

static void read_yyjson(void *context) {
  document *d = context;
  totals t = {0, 0, 0};
  yyjson_doc *doc = yyjson_read(d->text, d->size, 0);
  if (!doc) {
    fprintf(stderr, "bench_json_peers: %s: yyjson cannot read it\n", d->name);
    exit(1);
  }
  if (d->memory < 0) d->memory += (double)mallinfo2().uordblks + (double)mallinfo2().hblkhd;
  add_yyjson(yyjson_doc_get_root(doc), &t);
  yyjson_doc_free(doc);
  d->found = t;
}
#endif

/* ---- Documents ---- */

__attribute__((format(printf, 2, 3))) static void put(document *d, const char *format, ...) {
  va_list arguments;
  if (d->capacity - d->size < 4096) {
    d->capacity = d->capacity * 2 + 65536;
    d->text = realloc(d->text, d->capacity);
    if (!d->text) abort();
  }
  va_start(arguments, format);
  d->size += (size_t)vsnprintf(d->text + d->size, 4096, format, arguments);
  va_end(arguments);
}

/* As Angel writes it. */
static document make_meta(int partitions) {
  document d = {.name = "metadata of a matrix"};
  put(&d,
      "{\"matrixId\":7,\"matrixName\":\"embedding\",\"formatClassName\":\"com.tencent.angel.model.output.format."
      "TextColumnFormat\",\"rowType\":24,\"row\":3,\"col\":%d,\"blockRow\":3,\"blockCol\":5000,\"options\":{"
      "\"feature.index.range.end\":\"%d\",\"feature.index.range.start\":\"0\"},\"partMetas\":{",
      partitions * 5000, partitions * 5000);
  for (int i = 0; i < partitions; i++) {
    put(&d,
        "%s\"%d\":{\"partId\":%d,\"startRow\":0,\"endRow\":3,\"startCol\":%d,\"endCol\":%d,\"nnz\":9,"
        "\"saveRowNum\":0,\"saveColNum\":3,\"saveColElemNum\":3,\"fileName\":\"%d\",\"offset\":%d,\"length\":63,"
        "\"rowMetas\":{",
        i ? "," : "", i, i, i * 5000, i * 5000 + 5000, i % 16, i / 16 * 63);
    for (int r = 0; r < 3; r++)
      put(&d, "%s\"%d\":{\"rowId\":%d,\"offset\":-1,\"elementNum\":3,\"saveType\":0}", r ? "," : "", r, r);
    put(&d, "}}");
  }
  put(&d, "}}");
  return d;
}

/* As training writes it, for DeepFM. */
static document make_graph(void) {
  document d = {.name = "graph of a net"};
  put(&d, "{\n  \"data\": {\n    \"format\": \"libffm\",\n    \"indexrange\": 1000000,\n    \"numfield\": 39\n  },\n"
          "  \"model\": {\n    \"modeltype\": \"T_FLOAT_DENSE\"\n  },\n  \"train\": {\n    \"epoch\": 10,\n    \"lr\": "
          "0.05,\n    \"decayclass\": \"StandardDecay\",\n    \"decayalpha\": 0.001,\n    \"minibatchsize\": 1024,\n"
          "    \"seed\": 1\n  },\n  \"default_optimizer\": {\"type\": \"AdaGrad\", \"lr\": 0.05, \"beta\": 0.9},\n"
          "  \"layers\": [\n");
  put(&d,
      "    {\"name\": \"wide\", \"type\": \"SimpleInputLayer\", \"outputdim\": 1, \"transfunc\": \"identity\"},\n"
      "    {\"name\": \"embedding\", \"type\": \"Embedding\", \"numfactors\": 8, \"outputdim\": 312},\n"
      "    {\"name\": \"fclayer\", \"type\": \"FCLayer\", \"inputlayer\": \"embedding\", \"outputdims\": [100, 100, "
      "1], \"transfuncs\": [\"relu\", \"relu\", \"identity\"], \"optimizer\": {\"type\": \"Momentum\", \"lr\": "
      "0.01, \"momentum\": 0.9}},\n"
      "    {\"name\": \"cross\", \"type\": \"BiInnerSumCross\", \"inputlayer\": \"embedding\", \"outputdim\": 1},\n"
      "    {\"name\": \"sum\", \"type\": \"SumPooling\", \"inputlayers\": [\"wide\", \"cross\", \"fclayer\"], "
      "\"outputdim\": 1},\n"
      "    {\"name\": \"loss\", \"type\": \"SimpleLossLayer\", \"inputlayer\": \"sum\", \"lossfunc\": \"logloss\"}\n"
      "  ]\n}\n");
  return d;
}

/* Objects of strings with and without escapes, letters beyond ASCII, numbers of all lengths, lists. */
static document make_mixed(int records) {
  document d = {.name = "mixed, large"};
  fw_rng rng;
  fw_rng_init(&rng, 1);
  put(&d, "[");
  for (int i = 0; i < records; i++) {
    put(&d,
        "%s\n  {\"id\": %llu, \"name\": \"user %d of group %d\", \"text\": \"a line\\n\\\"quoted\\\" and \\u00e9, "
        "gr\303\274n\", \"url\": \"https://example.org/items/%d?page=2&sort=up\", ",
        i ? "," : "", (unsigned long long)(fw_rng_next(&rng) >> 12), i, i % 100, i);
    put(&d, "\"active\": %s, \"none\": null, \"score\": %.17g, \"weights\": [", i % 3 ? "true" : "false",
        fw_rng_normal(&rng));
    for (int k = 0; k < 8; k++) put(&d, "%s%.6f", k ? ", " : "", fw_rng_normal(&rng));
    put(&d, "], \"place\": {\"latitude\": %.5f, \"longitude\": %.5f, \"small\": %.3e}}", fw_rng_double(&rng) * 90,
        fw_rng_double(&rng) * 180, fw_rng_double(&rng) * 1e-20);
  }
  put(&d, "\n]\n");
  return d;
}

static document load(const char *path) {
  document d = {.name = path};
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  for (size_t n = 1; n > 0; d.size += n) {
    put(&d, "%s", "");
    n = fread(d.text + d.size, 1, d.capacity - d.size, file);
  }
  fclose(file);
  return d;
}

/* ---- The program ---- */

static void print_figure(const contest_options *o, const document *d, const contestant *us, const contestant *peer,
                         double memory) {
  const double mb = (double)d->size / 1e6;
  const char *form = o->json ? "{\"what\": \"read JSON\", \"data\": \"%s\", \"bytes\": %zu, \"mb_per_s\": %.0f, "
                               "\"peer\": \"%s\", \"peer_mb_per_s\": %.0f, \"ratio\": %.2f, \"peer_tree\": %.0f}\n"
                             : "%-22s %9zu bytes   Furrow %6.0f MB/s   %-8s %6.0f MB/s   %5.2f   tree %.0f bytes\n";
  printf(form, d->name, d->size, mb / us->seconds, peer->name, mb / peer->seconds, peer->ratio, memory);
  fflush(stdout);
}

static bool run_document(document *d, const contest_options *o) {
  contestant all[] = {
      {.name = "Furrow", .work = read_ours, .context = d},
#ifdef HAVE_JANSSON
      {.name = "jansson", .work = read_jansson, .context = d},
#endif
#ifdef HAVE_YYJSON
      {.name = "yyjson", .work = read_yyjson, .context = d},
#endif
  };
  const size_t count = sizeof all / sizeof *all;
  double memory[sizeof all / sizeof *all];
  if (o->only) {
    for (size_t i = 0; i < count; i++)
      if (strcmp(all[i].name, o->only) == 0) contest_time(&all[i], o->rounds);
    return true;
  }
  for (size_t i = 0; i < count; i++) {
    read_ours(d);
    const totals ours = d->found;
    d->memory = -((double)mallinfo2().uordblks + (double)mallinfo2().hblkhd);
    all[i].work(d);
    memory[i] = d->memory;
    d->memory = 0;
    if (memcmp(&ours, &d->found, sizeof ours) != 0) {
      fprintf(stderr, "bench_json_peers: %s: Furrow and %s do not find the same\n", d->name, all[i].name);
      return false;
    }
  }
  contest_run(all, count, o);
  for (size_t i = 1; i < count; i++) print_figure(o, d, &all[0], &all[i], memory[i]);
  return true;
}

int main(int argc, char **argv) {
  contest_options o = {.rounds = 21, .least = 0.01};
  int rest;
  if (!contest_parse(argc, argv, &o, &rest)) {
    fprintf(stderr, "usage: bench_json_peers [--quick] [--rounds N] [--json] [--only NAME] [FILE …]\n");
    return 2;
  }
#ifndef HAVE_JANSSON
  fprintf(stderr, "bench_json_peers: built without jansson (libjansson-dev)\n");
#endif
#ifndef HAVE_YYJSON
  fprintf(stderr, "bench_json_peers: built without yyjson (libyyjson-dev, or its folder: see bench/README.md)\n");
#endif
  bool good = true;
  document all[] = {make_meta(4000), make_graph(), make_mixed(o.least < 0.01 ? 4000 : 20000)};
  if (rest == argc)
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) good &= run_document(&all[i], &o);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i].text);
  for (; rest < argc; rest++) {
    document d = load(argv[rest]);
    good &= run_document(&d, &o);
    free(d.text);
  }
  return good ? 0 : 1;
}
