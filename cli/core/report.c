/* cli/core/report.c: named values, printed as an aligned table or as JSON. */
#include "core/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/shown_text.h"

enum { NAME_WIDTH = 20 };

/* ---- Text ----------------------------------------------------------------------------------------------- */

void output_json_text(output *out, const char *text) {
  const char *end = text + strlen(text);
  output_bytes(out, "\"", 1);
  while (text < end) {
    uint32_t code;
    const char *next = fw_utf8_read(text, end, &code);
    if (!next)
      output_text(out, "\\ufffd");
    else if (code == '"' || code == '\\')
      output_format(out, "\\%c", *text);
    else if (is_control(code))
      output_format(out, "\\u%04x", (unsigned)code);
    else
      output_bytes(out, text, (size_t)(next - text));
    text = next ? next : text + 1;
  }
  output_bytes(out, "\"", 1);
}

/* A value is one line. */
static void plain_text(output *out, const char *text) {
  for (size_t n; *text; text += n + (text[n] != 0)) {
    n = strcspn(text, "\n\t");
    output_shown(out, text, n);
    if (text[n]) output_format(out, "\\x%02x", (unsigned)text[n]);
  }
}

/* Writes the fewest digits that read back to the same number, at most most_digits. */
static void real_text(char *text, size_t size, double value, int most_digits) {
  for (int digits = 6; digits <= most_digits; digits++) {
    snprintf(text, size, "%.*g", digits, value);
    if (strtod(text, NULL) == value) return;
  }
}

/* ---- Places --------------------------------------------------------------------------------------------- */

static void json_indent(report *r) {
  output_format(r->out, "\n%*s", (int)(2 * r->depth), "");
}

static void json_name(report *r, const char *name) {
  char key[64];
  size_t n = 0;
  for (; name[n] && n < sizeof key - 1; n++) key[n] = name[n] == ' ' ? '_' : (char)tolower((unsigned char)name[n]);
  key[n] = 0;
  output_json_text(r->out, key);
  output_text(r->out, ": ");
}

/* Prints what comes before an item: comma, indent, name. */
static void begin_item(report *r, const char *name) {
  if (r->json) {
    if (!r->empty) output_text(r->out, ",");
    json_indent(r);
    if (name) json_name(r, name);
  } else if (r->in_list[r->depth]) {
    output_text(r->out, r->empty ? "" : ", ");
  } else {
    size_t indent = r->depth > 1 ? 2 * (r->depth - 1) : 0;
    output_format(r->out, "%*s%-*s ", (int)indent, "", (int)(NAME_WIDTH - indent), name);
  }
  r->empty = false;
}

static void end_item(report *r) {
  if (!r->json && !r->in_list[r->depth]) output_text(r->out, "\n");
}

static void open_group(report *r, const char *name, bool list) {
  if (r->json || list)
    begin_item(r, name);
  else
    output_format(r->out, "%*s%s\n", (int)(2 * (r->depth - 1)), "", name);
  if (r->json) output_text(r->out, list ? "[" : "{");
  r->in_list[++r->depth] = list;
  r->empty = true;
}

/* ---- Interface ------------------------------------------------------------------------------------------ */

void report_start(report *r, output *out, bool json) {
  *r = (report){.out = out, .json = json, .empty = true, .depth = 1};
  if (json) output_text(out, "{");
}

void report_finish(report *r) {
  if (r->json) output_text(r->out, "\n}\n");
}

void report_section(report *r, const char *name) {
  open_group(r, name, false);
}

void report_list(report *r, const char *name) {
  open_group(r, name, true);
}

void report_end(report *r) {
  bool list = r->in_list[r->depth--];
  if (r->json) {
    if (!r->empty) json_indent(r);
    output_text(r->out, list ? "]" : "}");
  } else if (list) {
    output_text(r->out, "\n");
  }
  r->empty = false;
}

void report_text(report *r, const char *name, const char *text) {
  begin_item(r, name);
  if (r->json)
    output_json_text(r->out, text);
  else
    plain_text(r->out, text);
  end_item(r);
}

void report_written(report *r, const char *path) {
  report_text(r, "written", path);
  r->out->stored = strcmp(path, "-") != 0;
}

void report_u64(report *r, const char *name, uint64_t value) {
  begin_item(r, name);
  output_format(r->out, "%" PRIu64, value);
  end_item(r);
}

void report_i64(report *r, const char *name, int64_t value) {
  begin_item(r, name);
  output_format(r->out, "%" PRId64, value);
  end_item(r);
}

void report_f64(report *r, const char *name, double value) {
  char text[40];
  begin_item(r, name);
  if (isfinite(value))
    real_text(text, sizeof text, value, r->json ? 17 : 9);
  else
    snprintf(text, sizeof text, "%s", r->json ? "null" : isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  output_text(r->out, text);
  end_item(r);
}

void report_bool(report *r, const char *name, bool value) {
  begin_item(r, name);
  output_text(r->out, r->json ? (value ? "true" : "false") : (value ? "yes" : "no"));
  end_item(r);
}

void report_none(report *r, const char *name) {
  begin_item(r, name);
  output_text(r->out, r->json ? "null" : "none");
  end_item(r);
}

void report_line(report *r, const char *name, const char *format, ...) {
  if (r->json) return;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  report_text(r, name, text);
}
