/* learn/data/side_files.c: weights and groups of rows, in files next to the data, as LightGBM reads them. */
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "io/file_system.h"
#include "io/input.h"
#include "learn/data/samples.h"

/* Takes the number on a line. Returns NULL, or the reason why the number is not valid. */
typedef const char *take_line(fw_side_files *files, const char *line, const char *end, furrow_status *status,
                              furrow_error *err);

static const char *take_weight(fw_side_files *files, const char *line, const char *end, furrow_status *status,
                               furrow_error *err) {
  float weight;
  if (fw_read_f32(line, end, &weight) != end || !isfinite(weight)) return "a weight is not a number";
  if (weight < 0) return "a weight is negative";
  *status = FW_GROW(&files->weight, &files->weight_capacity, files->weights + 1, err);
  if (*status == FURROW_OK) files->weight[files->weights++] = weight;
  return NULL;
}

static const char *take_group(fw_side_files *files, const char *line, const char *end, furrow_status *status,
                              furrow_error *err) {
  uint64_t rows;
  bool overflow = false;
  if (fw_read_u64(line, end, &rows, &overflow) != end || overflow) return "the size of a group is not an integer";
  if (rows > SIZE_MAX - files->group_rows) return "the groups have too many rows";
  *status = FW_GROW(&files->group_end, &files->group_capacity, files->groups + 1, err);
  if (*status == FURROW_OK) files->group_end[files->groups++] = files->group_rows += (size_t)rows;
  return NULL;
}

static furrow_status read_lines(fw_side_files *files, const char *path, const char *text, size_t size, take_line *take,
                                furrow_error *err) {
  const char *end = text + size;
  uint64_t number = 1;
  for (const char *line = text, *next; line < end; line = next, number++) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    furrow_status status = FURROW_OK;
    next = stop ? stop + 1 : end;
    if (!stop) stop = end;
    while (stop > line && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t')) stop--;
    while (line < stop && (*line == ' ' || *line == '\t')) line++;
    if (line == stop) continue;
    const char *wrong = take(files, line, stop, &status, err);
    FW_TRY(status);
    if (!wrong) continue;
    fw_fail(err, FURROW_E_PARSE, "%s", wrong);
    fw_error_set_token(err, line, (size_t)(stop - line));
    fw_error_set_file(err, path);
    if (err) err->line = number;
    return FURROW_E_PARSE;
  }
  return FURROW_OK;
}

static furrow_status read_text(const char *path, fw_buffer *text, furrow_error *err) {
  fw_input *input = NULL;
  char bytes[1 << 14];
  size_t got = 1;
  furrow_status status = fw_input_open_regular(&input, path, err);
  while (status == FURROW_OK && got > 0) {
    status = fw_input_read_at(input, bytes, sizeof bytes, text->size, &got, err);
    if (status == FURROW_OK) fw_buffer_append(text, bytes, got);
    if (status == FURROW_OK) status = fw_buffer_status(text, err);
  }
  fw_input_close(input);
  return status;
}

/* Reads DATA.ending, if it is there. */
static furrow_status read_file(fw_side_files *files, const char *data, const char *ending, take_line *take, bool *found,
                               furrow_error *err) {
  fw_buffer path = {0}, text = {0};
  fw_buffer_format(&path, "%s%s", data, ending);
  fw_buffer_byte(&path, 0);
  furrow_status status = fw_buffer_status(&path, err);
  *found = status == FURROW_OK && !fw_path_is_guessed(data) && fw_path_exists(path.bytes);
  if (*found) status = read_text(path.bytes, &text, err);
  if (*found && status == FURROW_OK) status = read_lines(files, path.bytes, text.bytes, text.size, take, err);
  fw_buffer_clear(&path);
  fw_buffer_clear(&text);
  return status;
}

furrow_status fw_side_files_read(fw_side_files *files, const char *data, furrow_error *err) {
  files->data = data;
  FW_TRY(read_file(files, data, ".weight", take_weight, &files->has_weights, err));
  return read_file(files, data, ".query", take_group, &files->has_groups, err);
}

void fw_side_files_clear(fw_side_files *files) {
  fw_free(files->weight);
  fw_free(files->group_end);
  fw_free(files->qid);
  *files = (fw_side_files){0};
}

static furrow_status refuse_twice(const fw_side_files *files, const char *what, const char *ending, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "the rows have %s, and so has %s%s: rename the file, or leave them out of the rows",
          what, files->data, ending);
  return FURROW_E_ARGUMENT;
}

static furrow_status refuse_count(const fw_side_files *files, const char *ending, size_t counted, const char *what,
                                  uint64_t rows, bool more, furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "%s%s has %s for %zu rows, but the data has %s%llu", files->data, ending, what,
                 counted, more ? "at least " : "", (unsigned long long)rows);
}

static furrow_status check_count(const fw_side_files *files, uint64_t rows, bool more, furrow_error *err) {
  if (files->has_weights && (more ? rows > files->weights : rows != files->weights))
    return refuse_count(files, ".weight", files->weights, "weights", rows, more, err);
  if (files->has_groups && (more ? rows > files->group_rows : rows != files->group_rows))
    return refuse_count(files, ".query", files->group_rows, "groups", rows, more, err);
  return FURROW_OK;
}

/* Groups have the qids 1, 2, 3 …; 0 stands for none. */
static furrow_status fill_qids(fw_side_files *files, uint64_t first, size_t count, furrow_error *err) {
  FW_TRY(FW_GROW(&files->qid, &files->qid_capacity, count, err));
  size_t low = 0, high = files->groups; /* the group of the first row is the first one that ends after it */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (files->group_end[middle] > first)
      high = middle;
    else
      low = middle + 1;
  }
  for (size_t i = 0; i < count; i++) {
    while (files->group_end[low] <= first + i) low++;
    files->qid[i] = low + 1;
  }
  return FURROW_OK;
}

furrow_status fw_side_files_add(fw_side_files *files, uint64_t first, furrow_rowblock *block, furrow_error *err) {
  FW_TRY(check_count(files, first + block->size, true, err));
  if (files->has_weights) {
    if (block->weight) return refuse_twice(files, "weights", ".weight", err);
    block->weight = files->weight + first;
  }
  if (!files->has_groups) return FURROW_OK;
  if (block->qid) return refuse_twice(files, "groups", ".query", err);
  FW_TRY(fill_qids(files, first, block->size, err));
  block->qid = files->qid;
  return FURROW_OK;
}

furrow_status fw_side_files_end(const fw_side_files *files, uint64_t rows, furrow_error *err) {
  return check_count(files, rows, false, err);
}
