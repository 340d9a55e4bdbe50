/* rows/text/sparse.c: libsvm, libfm and dummy, line by line: the definition of these formats (docs/formats/rows.md). */
#include "rows/text/sparse.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "rows/text/rowbuilder.h"

/* The state of parsing one line. */
typedef struct scan {
  const fw_sparse *format;
  const char *line, *p, *end;
  furrow_rowbuilder *row;
  furrow_error *err;
} scan;

/* Blanks are space, tab, vertical tab, form feed and UTF-8's no-break space. Returns the length of the one at p, or 0.
 */
static size_t blank_at(const char *p, const char *end) {
  if (fw_is_blank(*p) || *p == '\v' || *p == '\f') return 1;
  return end - p >= 2 && p[0] == '\xc2' && p[1] == '\xa0' ? 2 : 0;
}

static bool ends_token(const char *p, const char *end) {
  return p == end || *p == '#' || *p == 0 || blank_at(p, end) > 0;
}

static const char *token_end(const char *p, const char *end) {
  while (!ends_token(p, end)) p++;
  return p;
}

/* Whether the word has a byte that a number may contain; if not, it cannot be a damaged number. */
static bool holds_number_byte(const char *p, const char *end) {
  for (; p < end; p++)
    if (fw_is_digit(*p) || (*p && strchr("+-.eE", *p))) return true;
  return false;
}

static bool is_number(const char *p, const char *end) {
  float value;
  return fw_read_f32(p, end, &value) == end;
}

/* Moves to the next token that is not just a word. Words and stray NUL bytes are skipped and counted. Returns false
 * at the end of the line or at a comment. */
static bool next_token(scan *s) {
  while (s->p < s->end) {
    size_t blank = blank_at(s->p, s->end);
    if (blank) {
      s->p += blank;
    } else if (*s->p == 0) {
      fw_rowbuilder_ignore(s->row, s->p, s->p + 1, "a NUL byte was taken for a blank");
      s->p++;
    } else if (*s->p == '#') {
      return false;
    } else {
      const char *stop = token_end(s->p, s->end);
      if (holds_number_byte(s->p, stop) || is_number(s->p, stop)) return true;
      fw_rowbuilder_ignore(s->row, s->p, stop, "a word without a number was skipped");
      s->p = stop;
    }
  }
  return false;
}

static furrow_status fail_token(scan *s, furrow_status status, const char *at, const char *message) {
  return fw_fail_at(s->err, status, s->line, at, token_end(at, s->end), message);
}

static furrow_status read_label(scan *s) {
  const char *start = s->p;
  const furrow_value_type type = s->row->out->value_type;
  fw_number label;
  furrow_status status = fw_read_number(type, s->line, s->p, s->end, &label, &s->p, s->err);
  if (status == FURROW_E_PARSE) return fail_token(s, status, start, "the label is not a number");
  if (status != FURROW_OK) return status;
  if (!ends_token(s->p, s->end) && *s->p != ':')
    return fail_token(s, FURROW_E_PARSE, start,
                      type == FURROW_VALUE_F32 ? "the label is not a number" : "the label is not an integer");
  status = fw_rowbuilder_set_label(s->row, label, s->err);
  if (status != FURROW_OK || s->p == s->end || *s->p != ':') return status;
  if (s->format->kind == FW_SPARSE_DUMMY) return fail_token(s, FURROW_E_PARSE, start, "dummy data has no weights");
  fw_number weight;
  status = fw_read_number(FURROW_VALUE_F32, s->line, s->p + 1, s->end, &weight, &s->p, s->err);
  if (status != FURROW_OK || !ends_token(s->p, s->end)) {
    const bool feature = status == FURROW_OK && *s->p == ':';
    status = fail_token(s, FURROW_E_PARSE, start, "the weight is not a number");
    if (feature) fw_error_set_hint(s->err, "read FILE?has_label=no if rows have no label");
    return status;
  }
  return furrow_rowbuilder_weight(s->row, weight.f32, s->err);
}

/* Reads qid:n right after the label. -n means 2^64 - n and a fraction is cut off, both as in dmlc-core. */
static furrow_status read_qid(scan *s) {
  const char *start = s->p;
  const char *p = s->p + 4;
  bool negative = p < s->end && *p == '-';
  uint64_t qid = 0;
  bool overflow = false;
  const char *after = fw_read_u64(p + negative, s->end, &qid, &overflow);
  if (!after || (negative && p[1] == '+')) return fail_token(s, FURROW_E_PARSE, start, "the qid is not an integer");
  if (overflow) return fail_token(s, FURROW_E_RANGE, start, "the qid does not fit in 64 bits");
  s->p = after;
  if (!ends_token(after, s->end)) {
    const char *stop = token_end(after, s->end);
    if (*after != '.') return fail_token(s, FURROW_E_PARSE, start, "the qid is not an integer");
    for (const char *q = after + 1; q < stop; q++)
      if (!fw_is_digit(*q)) return fail_token(s, FURROW_E_PARSE, start, "the qid is not an integer");
    fw_rowbuilder_ignore(s->row, after, stop, "the fraction of a qid was cut off");
    s->p = stop;
  }
  return furrow_rowbuilder_qid(s->row, negative ? 0 - qid : qid, s->err);
}

/* Reads an index or a field and subtracts the base. `what` names it in messages. */
static furrow_status read_index(scan *s, const char *token, const char *what, uint64_t *index) {
  char message[96];
  bool overflow = false;
  const char *problem = NULL, *hint = NULL;
  furrow_status status = FURROW_E_PARSE;
  const char *after = fw_read_u64(s->p, s->end, index, &overflow);
  if (!after) {
    problem = s->p < s->end && *s->p == '-' ? "is negative" : "is not an integer";
  } else if (overflow) {
    status = FURROW_E_RANGE;
    problem = "does not fit in 64 bits";
  } else if (s->row->out->key_type == FURROW_KEY_U32 && *index - s->format->base > UINT32_MAX && *index > 0) {
    status = FURROW_E_RANGE;
    problem = "does not fit in 32 bits";
    hint = "keys of type u64 can hold it";
  } else if (*index < s->format->base) {
    status = FURROW_E_RANGE;
    problem = "is 0 in data that counts from 1";
    hint = "indexing_mode=0 reads data that counts from 0";
  } else if (!ends_token(after, s->end) && *after != ':') {
    problem = "is not an integer";
  }
  if (problem) {
    snprintf(message, sizeof message, "the %s %s", what, problem);
    status = fail_token(s, status, token, message);
    if (hint) fw_error_set_hint(s->err, "%s", hint);
    return status;
  }
  *index -= s->format->base;
  s->p = after;
  return FURROW_OK;
}

/* Reads [:value] after an index. *has: whether there is a value. */
static furrow_status read_value(scan *s, const char *token, bool *has, fw_number *value) {
  *has = s->p < s->end && *s->p == ':';
  if (!*has) return FURROW_OK;
  if (s->format->kind == FW_SPARSE_DUMMY) return fail_token(s, FURROW_E_PARSE, token, "dummy data has no values");
  const char *colon = s->p++;
  while (s->p < s->end && *s->p == ':') s->p++;
  if (s->p > colon + 1) fw_rowbuilder_ignore(s->row, colon + 1, s->p, "a second colon was skipped");
  if (ends_token(s->p, s->end)) return fail_token(s, FURROW_E_PARSE, token, "the value is empty");
  const furrow_value_type type = s->row->out->value_type;
  furrow_status status = fw_read_number(type, s->line, s->p, s->end, value, &s->p, s->err);
  if (status == FURROW_E_RANGE) return fail_token(s, status, token, s->err ? "the value does not fit its type" : "");
  if (status != FURROW_OK || !ends_token(s->p, s->end))
    return fail_token(s, FURROW_E_PARSE, token,
                      type == FURROW_VALUE_F32 ? "the value is not a number" : "the value is not an integer");
  return FURROW_OK;
}

static furrow_status read_feature(scan *s) {
  static const char *const qid_problem[] = {[FW_SPARSE_LIBSVM] = "qid must follow the label",
                                            [FW_SPARSE_LIBFM] = "libfm data has no qid",
                                            [FW_SPARSE_DUMMY] = "dummy data has no qid"};
  const char *token = s->p;
  uint64_t field = 0;
  uint64_t index = 0;
  const bool fields = s->format->kind == FW_SPARSE_LIBFM;
  furrow_status status = FURROW_OK;
  if (token_end(token, s->end) - token >= 4 && memcmp(token, "qid:", 4) == 0)
    return fail_token(s, FURROW_E_PARSE, token, qid_problem[s->format->kind]);
  if (fields) {
    status = read_index(s, token, "field", &field);
    if (status != FURROW_OK) return status;
    if (s->p == s->end || *s->p != ':') return fail_token(s, FURROW_E_PARSE, token, "a feature is field:index[:value]");
    s->p++;
  }
  status = read_index(s, token, "index", &index);
  bool has_value = false;
  fw_number value;
  if (status == FURROW_OK) status = read_value(s, token, &has_value, &value);
  if (status != FURROW_OK) return status;
  return fw_rowbuilder_add(s->row, fields ? &field : NULL, index, has_value ? &value : NULL, s->err);
}

static furrow_status parse_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                furrow_error *err) {
  scan s = {.format = state, .line = line, .p = line, .end = line + length, .row = row, .err = err};
  if (!next_token(&s)) return FURROW_OK;
  furrow_status status = s.format->unlabelled ? FURROW_OK : read_label(&s);
  if (status == FURROW_OK && !s.format->unlabelled && s.format->kind == FW_SPARSE_LIBSVM) {
    while (s.p < s.end && blank_at(s.p, s.end)) s.p += blank_at(s.p, s.end);
    if (s.end - s.p >= 4 && memcmp(s.p, "qid:", 4) == 0) status = read_qid(&s);
  }
  while (status == FURROW_OK && next_token(&s)) status = read_feature(&s);
  return status;
}

/* ---- The formats ---------------------------------------------------------------------------------------- */

static const furrow_arg sparse_args[] = {
    {"indexing_mode", FURROW_ARG_INT, "0", NULL,
     "above 0: indices count from 1 and are stored from 0; 0: stored as they are; below 0: from 1 if the smallest is "
     "not 0"},
    {"has_label", FURROW_ARG_ONE_OF, "auto", "auto|yes|no",
     "whether lines begin with a label; auto: they do, and lines that seem to begin with a feature are refused"},
};
#define SPARSE_ARGS (sizeof sparse_args / sizeof sparse_args[0])

static furrow_status open_sparse(fw_sparse_kind kind, const furrow_args *args, void **state, furrow_error *err) {
  FW_TRY(fw_alloc_zero(state, 1, sizeof(fw_sparse), err));
  const char *has_label = furrow_args_text(args, "has_label");
  *(fw_sparse *)*state = (fw_sparse){.kind = kind, .unlabelled = *has_label == 'n', .unchecked = *has_label != 'a'};
  return FURROW_OK;
}

static furrow_status open_libsvm(const furrow_args *args, void **state, furrow_error *err) {
  return open_sparse(FW_SPARSE_LIBSVM, args, state, err);
}

static furrow_status open_libfm(const furrow_args *args, void **state, furrow_error *err) {
  return open_sparse(FW_SPARSE_LIBFM, args, state, err);
}

static furrow_status open_dummy(const furrow_args *args, void **state, furrow_error *err) {
  return open_sparse(FW_SPARSE_DUMMY, args, state, err);
}

/* Rejects text that would be misread without an error. dummy has neither weights nor values that could be mistaken,
 * and a caller that names it says that the numbers are indices. */
static furrow_status look(void *state, const char *head, size_t size, bool whole, furrow_error *err) {
  const fw_sparse *sparse = state;
  if (sparse->kind == FW_SPARSE_DUMMY || (sparse->unchecked && !sparse->unlabelled)) return FURROW_OK;
  furrow_status status = FURROW_OK;
  switch (fw_sniff_misreading(head, size, whole, sparse->kind == FW_SPARSE_LIBFM, sparse->unlabelled)) {
  case FW_MISREAD_UNLABELLED:
    status = fw_fail(err, FURROW_E_FORMAT, "lines begin with a feature, it seems, and not with a label");
    fw_error_set_hint(
        err, "read FILE?has_label=no if rows have no label, FILE?has_label=yes if they begin with label:weight");
    break;
  case FW_MISREAD_LABELLED:
    status =
        fw_fail(err, FURROW_E_FORMAT, "lines begin with a label, it seems, and has_label=no says that they do not");
    break;
  case FW_MISREAD_LIBSVM:
    status = fw_fail(err, FURROW_E_FORMAT, "features are index:value, it seems, and not field:index");
    fw_error_set_hint(err,
                      "format libsvm reads index:value; FILE?has_label=yes or no reads field:index without values");
    break;
  case FW_MISREAD_TABLE:
    status = fw_fail(err, FURROW_E_FORMAT, "this is a table of numbers, it seems, and not indices");
    fw_error_set_hint(err, "format csv or dense reads a table, format dummy reads indices");
    break;
  case FW_MISREAD_NOTHING: break;
  }
  return status;
}

static void set_base(void *state, uint32_t base) {
  ((fw_sparse *)state)->base = base;
}

#define ROW_COLUMNS (FW_COLUMN_LABEL | FW_COLUMN_WEIGHT | FW_COLUMN_QID | FW_COLUMN_VALUE)

const fw_format fw_format_libsvm = {
    .public = {.size = sizeof(furrow_rows_format),
               .name = "libsvm",
               .description = "label[:weight] [qid:n] index[:value] … # comment",
               .args = sparse_args,
               .nargs = SPARSE_ARGS,
               .open = open_libsvm,
               .parse_line = parse_line,
               .close = fw_free},
    .parse_chunk = fw_libsvm_chunk,
    .look = look,
    .set_base = set_base,
    .columns = ROW_COLUMNS,
};

const fw_format fw_format_libfm = {
    .public = {.size = sizeof(furrow_rows_format),
               .name = "libfm",
               .description = "label[:weight] field:index[:value] … # comment",
               .args = sparse_args,
               .nargs = SPARSE_ARGS,
               .open = open_libfm,
               .parse_line = parse_line,
               .close = fw_free},
    .parse_chunk = fw_libfm_chunk,
    .look = look,
    .set_base = set_base,
    .columns = ROW_COLUMNS | FW_COLUMN_FIELD,
};

const fw_format fw_format_libffm = {
    .public = {.size = sizeof(furrow_rows_format),
               .name = "libffm",
               .description = "another name of libfm",
               .args = sparse_args,
               .nargs = SPARSE_ARGS,
               .open = open_libfm,
               .parse_line = parse_line,
               .close = fw_free},
    .parse_chunk = fw_libfm_chunk,
    .look = look,
    .set_base = set_base,
    .columns = ROW_COLUMNS | FW_COLUMN_FIELD,
};

const fw_format fw_format_dummy = {
    .public = {.size = sizeof(furrow_rows_format),
               .name = "dummy",
               .description = "label index … # comment (Angel's one-hot text)",
               .args = sparse_args,
               .nargs = SPARSE_ARGS,
               .open = open_dummy,
               .parse_line = parse_line,
               .close = fw_free},
    .parse_chunk = fw_dummy_chunk,
    .look = look,
    .set_base = set_base,
    .columns = ROW_COLUMNS,
};
