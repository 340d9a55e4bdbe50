/* serve/api/access_log.c: lines for requests: in the Common Log Format, or as JSON; and for slow ones. */
#include "api/access_log.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/documents.h"
#include "api/line_writer.h"
#include "base/error.h"
#include "core/fail.h"
#include "http/json_put.h"

struct access_log {
  access_format format;
  uint64_t slow_ns;   /* requests that take longer are slow; UINT64_MAX: none */
  line_writer *lines; /* NULL: ACCESS_OFF */
  line_writer *slow;  /* to standard error; NULL: none */
};

furrow_status access_log_create(access_log **log, const serve_values *values, furrow_error *err) {
  const char *path =
      values->access_log_file && strcmp(values->access_log_file, "-") != 0 ? values->access_log_file : NULL;
  if (values->access_log == ACCESS_OFF && values->slow == 0) return FURROW_OK;
  access_log *made = calloc(1, sizeof *made);
  if (!made) return fail_memory(err);
  made->format = values->access_log;
  made->slow_ns = values->slow > 0 ? (uint64_t)(values->slow * 1e9) : UINT64_MAX;
  furrow_status status = FURROW_OK;
  if (made->format != ACCESS_OFF) status = line_writer_create(&made->lines, path, STDOUT_FILENO, err);
  if (status == FURROW_OK && values->slow > 0) status = line_writer_create(&made->slow, NULL, STDERR_FILENO, err);
  if (status == FURROW_OK)
    *log = made;
  else
    access_log_end(made);
  return status;
}

void access_log_begin(access_log *log) {
  if (log && log->lines) line_writer_begin(log->lines);
  if (log && log->slow) line_writer_begin(log->slow);
}

void access_log_reopen(access_log *log) {
  if (log && log->lines) line_writer_reopen(log->lines);
}

uint64_t access_log_dropped(access_log *log) {
  if (!log) return 0;
  return (log->lines ? line_writer_dropped(log->lines) : 0) + (log->slow ? line_writer_dropped(log->slow) : 0);
}

void access_log_end(access_log *log) {
  if (!log) return;
  line_writer_end(log->lines);
  line_writer_end(log->slow);
  free(log);
}

/* ---- Parts of lines ---- */

/* Writes bytes of a request with escapes (\x0a), so that they end no line and control no terminal. */
static void put_escaped(fw_buffer *line, http_text text) {
  for (size_t i = 0; i < text.size; i++) {
    const char c = text.at[i];
    if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
      fw_buffer_byte(line, c);
    else
      fw_buffer_format(line, "\\x%02x", (unsigned char)c);
  }
}

static void put_request_line(fw_buffer *line, const http_head *head) {
  if (head->method_name.size == 0) { /* it could not be read */
    fw_buffer_byte(line, '-');
    return;
  }
  put_escaped(line, head->method_name);
  fw_buffer_byte(line, ' ');
  put_escaped(line, head->path);
  if (head->query.at) fw_buffer_byte(line, '?');
  put_escaped(line, head->query);
  fw_buffer_text(line, head->http_1_0 ? " HTTP/1.0" : " HTTP/1.1");
}

static void put_now(fw_buffer *line, const char *format, bool with_ms) {
  struct timespec now;
  struct tm parts;
  char text[64];
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &parts);
  if (strftime(text, sizeof text, format, &parts) > 0) fw_buffer_text(line, text);
  if (with_ms) fw_buffer_format(line, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

static double milliseconds_of(uint64_t ns) {
  return (double)(ns / 1000) / 1000;
}

/* ---- Lines ---- */

/* host ident user [date] "request" status bytes, and the id of the request. */
static void put_common(fw_buffer *line, const access_record *r) {
  char client[HTTP_CLIENT_TEXT];
  http_request_client(r->request, client, sizeof client);
  fw_buffer_format(line, "%s - - [", client);
  put_now(line, "%d/%b/%Y:%H:%M:%S +0000", false);
  fw_buffer_text(line, "] \"");
  put_request_line(line, &r->request->head);
  fw_buffer_format(line, "\" %d %zu ", r->status, r->bytes_out);
  put_escaped(line, r->request->id);
  fw_buffer_byte(line, '\n');
}

static void put_member(fw_buffer *line, const char *name, http_text text) {
  fw_buffer_format(line, ",\"%s\":", name);
  json_put_text(line, text.at ? text.at : "", text.size);
}

static void put_json(fw_buffer *line, const access_record *r) {
  const http_request *request = r->request;
  const http_text agent = http_header_value(&request->head, "User-Agent");
  char client[HTTP_CLIENT_TEXT];
  http_request_client(request, client, sizeof client);
  fw_buffer_text(line, "{\"time\":\"");
  put_now(line, "%Y-%m-%dT%H:%M:%S", true);
  fw_buffer_text(line, "\"");
  put_member(line, "id", request->id);
  put_text(line, "client", client);
  put_member(line, "method", request->head.method_name);
  put_member(line, "path", request->head.path);
  if (request->head.query.at) put_member(line, "query", request->head.query);
  put_count(line, "status", (uint64_t)r->status);
  put_text(line, "call", r->call);
  if (r->name) put_text(line, r->kind, r->name);
  put_count(line, "rows", r->rows);
  put_count(line, "bytes_in", r->bytes_in);
  put_count(line, "bytes_out", r->bytes_out);
  put_number(line, "ms", milliseconds_of(r->total_ns));
  put_number(line, "queued_ms", milliseconds_of(r->queued_ns));
  put_number(line, "worked_ms", milliseconds_of(r->worked_ns));
  if (agent.at) put_member(line, "user_agent", agent);
  fw_buffer_text(line, "}\n");
}

static void put_slow(fw_buffer *line, const access_record *r) {
  fw_buffer_text(line, "furrow: slow request ");
  put_escaped(line, r->request->id);
  fw_buffer_text(line, ": ");
  put_request_line(line, &r->request->head);
  fw_buffer_format(line, " was answered %d after %.3f s: %.3f s in a queue, %.3f s at work, the rest on the network\n",
                   r->status, (double)r->total_ns * 1e-9, (double)r->queued_ns * 1e-9, (double)r->worked_ns * 1e-9);
}

void access_log_add(access_log *log, const access_record *record) {
  fw_buffer line = {0};
  if (log->lines) {
    if (log->format == ACCESS_JSON)
      put_json(&line, record);
    else
      put_common(&line, record);
    line_writer_put(log->lines, &line);
  }
  if (record->total_ns > log->slow_ns) {
    fw_buffer_reset(&line);
    put_slow(&line, record);
    line_writer_put(log->slow, &line);
  }
  fw_buffer_clear(&line);
}
