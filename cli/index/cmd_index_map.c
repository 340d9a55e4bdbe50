/* cli/index/cmd_index_map.c: furrow index map: lists every field of an index file in order. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "core/commands.h"
#include "core/report.h"
#include "index/index_source.h"

typedef struct map_values {
  const char *path;
  bool json;
} map_values;

static const option map_operands[] = {{.name = "FILE",
                                       .kind = OPTION_TEXT,
                                       .help = "the index file",
                                       .offset = offsetof(map_values, path),
                                       .required = true},
                                      {0}};

static const option map_options[] = {JSON_OPTION(offsetof(map_values, json)), {0}};

static const option_group map_groups[] = {{.title = "Options", .options = map_options}, {0}};

typedef struct walk {
  report r;
  furrow_error *err;
} walk;

static void print_field(output *out, const furrow_index_field *field) {
  output_format(out, "%12" PRIu64 "  %12" PRIu64 "  %-32s  %-36s  %s", field->offset, field->size, field->path,
                field->value, field->type);
  if (field->count != 1) output_format(out, "[%" PRIu64 "]", field->count);
  output_format(out, ", %s\n", field->meaning);
}

static void report_field(report *r, const furrow_index_field *field) {
  report_section(r, NULL);
  report_u64(r, "offset", field->offset);
  report_u64(r, "size", field->size);
  report_text(r, "name", field->path);
  report_text(r, "value", field->value);
  report_text(r, "meaning", field->meaning);
  report_text(r, "type", field->type);
  report_u64(r, "count", field->count);
  report_end(r);
}

static furrow_status put_field(void *user, const furrow_index_field *field) {
  walk *w = user;
  if (w->r.json)
    report_field(&w->r, field);
  else
    print_field(w->r.out, field);
  return w->r.out->errnum ? output_flush(w->r.out, w->err) : FURROW_OK;
}

static furrow_status map_run(const void *values, output *out, furrow_error *err) {
  const map_values *map = values;
  furrow_index_load_params params;
  walk w = {.err = err};
  furrow_status status = index_source_check(map->path, err);
  if (status != FURROW_OK) return status;
  furrow_index_load_params_init(&params);
  params.allow_trailing = true;
  report_start(&w.r, out, map->json);
  if (map->json) {
    report_text(&w.r, "file", map->path);
    report_list(&w.r, "fields");
  } else {
    output_format(out, "%12s  %12s  %-32s  %-36s  %s\n", "offset", "size", "name", "value", "meaning");
  }
  status = furrow_index_for_each_field(map->path, &params, put_field, &w, err);
  if (map->json) report_end(&w.r);
  report_finish(&w.r);
  return status;
}

const command index_map_command = {
    .name = "map",
    .summary = "list every field of an index file: offset, size, name, value, meaning",
    .example = "furrow index map items.index\nfurrow index map --json items.index",
    .about = "Lists the fields in the order of the file, without gaps; of an array it shows the first few elements. "
             "For a damaged file it lists the fields before the damage, and the error says where and why. Bytes after "
             "the end of the index are a field named trailing.",
    .operands = map_operands,
    .groups = map_groups,
    .size = sizeof(map_values),
    .run = map_run,
};
