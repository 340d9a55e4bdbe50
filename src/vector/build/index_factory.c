/* vector/build/index_factory.c: factory strings, as Faiss has them: "OPQ16,IVF1024,PQ16x4fs,RFlat" becomes an empty
 * index, and an index its string.
 *
 * A string has parts between commas. From the outside to the inside: an id map (first or last part), refinements (last
 * parts), transforms (first parts), lists or a graph, codes. An id map in front stands around everything after it, also
 * around refinements; in Faiss it stands inside of them, where vectors cannot be added to it. Parentheses, which Faiss
 * does not have here, group parts: "L2norm,(IVF1024,PQ16,RFlat)" refines by the scaled vectors. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "vector/build/build.h"
#include "vector/index/index.h"
#include "vector/quantizer/pq.h"
#include "vector/quantizer/sq.h"

#define PQR_K_FACTOR 4.F /* the defaults of Faiss */
#define REFINE_K_FACTOR 1.F
enum { DEPTH = 16, HNSW_M = 32, BBS = 32, NUMBERS = 4 };

typedef struct text_part {
  const char *text;
  size_t size;
} text_part;

typedef struct parsing {
  const char *text; /* the whole string */
  furrow_distance_metric metric;
  unsigned depth;
  furrow_error *err;
} parsing;

static furrow_status parse_index(parsing *p, text_part text, int32_t d, furrow_index **index);

/* ---- Parts of a string ---------------------------------------------------------------------------------- */

static furrow_status refuse_part(const parsing *p, furrow_status status, text_part part, const char *why) {
  fw_fail(p->err, status, "a part of the factory string '%s' %s", p->text, why);
  fw_error_set_token(p->err, part.text, part.size);
  return status;
}

static text_part trim_part(text_part part) {
  while (part.size > 0 && *part.text == ' ') part.text++, part.size--;
  while (part.size > 0 && part.text[part.size - 1] == ' ') part.size--;
  return part;
}

/* Splits at the first or the last comma that is not in parentheses. Returns false if there is none. */
static bool split_part(text_part text, bool last, text_part *before, text_part *after) {
  size_t at = text.size;
  int depth = 0;
  for (size_t i = 0; i < text.size && (last || at == text.size); i++) {
    depth += (text.text[i] == '(') - (text.text[i] == ')');
    if (text.text[i] == ',' && depth == 0) at = i;
  }
  if (at == text.size) return false;
  *before = trim_part((text_part){text.text, at});
  *after = trim_part((text_part){text.text + at + 1, text.size - at - 1});
  return true;
}

/* Whether a part has the form of a pattern, in which # is a number. */
static bool match_part(text_part part, const char *pattern, uint64_t *numbers) {
  size_t at = 0;
  for (; *pattern; pattern++) {
    if (*pattern != '#') {
      if (at == part.size || part.text[at++] != *pattern) return false;
      continue;
    }
    uint64_t value = 0;
    const size_t first = at;
    for (; at < part.size && part.text[at] >= '0' && part.text[at] <= '9'; at++) {
      value = 10 * value + (uint64_t)(part.text[at] - '0');
      if (value > UINT32_MAX) return false;
    }
    if (at == first) return false;
    *numbers++ = value;
  }
  return at == part.size;
}

static bool is_part(text_part part, const char *name) {
  return match_part(part, name, NULL);
}

/* The text in the parentheses of NAME(text). */
static bool match_nested(text_part part, const char *name, text_part *inner) {
  const size_t size = strlen(name);
  if (part.size < size + 2 || memcmp(part.text, name, size) != 0) return false;
  if (part.text[size] != '(' || part.text[part.size - 1] != ')') return false;
  *inner = trim_part((text_part){part.text + size + 1, part.size - size - 2});
  return true;
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

typedef enum code_kind { CODE_FLAT, CODE_PQ, CODE_PQR, CODE_SQ, CODE_FAST } code_kind;

typedef struct code_params {
  code_kind kind;
  uint64_t m, nbits, refine_m, refine_nbits;
  int32_t qtype, bbs;
  bool residual;
} code_params;

/* Kinds of indexes by the kind of their codes: without and with lists; without is -1 if no such kind exists. */
static const struct {
  int rows;
  furrow_index_kind lists;
} code_kinds[] = {[CODE_FLAT] = {FURROW_INDEX_FLAT, FURROW_INDEX_IVF_FLAT},
                  [CODE_PQ] = {FURROW_INDEX_PQ, FURROW_INDEX_IVF_PQ},
                  [CODE_PQR] = {-1, FURROW_INDEX_IVF_PQR},
                  [CODE_SQ] = {FURROW_INDEX_SQ, FURROW_INDEX_IVF_SQ},
                  [CODE_FAST] = {FURROW_INDEX_PQ_FAST, FURROW_INDEX_IVF_PQ_FAST}};

/* Faiss has no names for the uniform ones. */
static const struct {
  int32_t qtype;
  const char *name;
} sq_names[] = {
    {FW_SQ_8, "SQ8"},
    {FW_SQ_6, "SQ6"},
    {FW_SQ_4, "SQ4"},
    {FW_SQ_HALF, "SQfp16"},
    {FW_SQ_BRAIN, "SQbf16"},
    {FW_SQ_BYTES, "SQ8_direct"},
    {FW_SQ_SIGNED_BYTES, "SQ8_direct_signed"},
    {FW_SQ_8_UNIFORM, "SQ8_uniform"},
    {FW_SQ_4_UNIFORM, "SQ4_uniform"},
};
enum { SQ_NAMES = sizeof sq_names / sizeof *sq_names };

static bool match_fast(text_part part, code_params *code) {
  uint64_t number[NUMBERS] = {0, BBS};
  code->residual = match_part(part, "PQ#x4fsr", number) || match_part(part, "PQ#x4fsr_#", number);
  if (!code->residual && !match_part(part, "PQ#x4fs", number) && !match_part(part, "PQ#x4fs_#", number)) return false;
  code->kind = CODE_FAST;
  code->m = number[0];
  code->nbits = 4;
  code->bbs = number[1] <= INT32_MAX ? (int32_t)number[1] : 0;
  return true;
}

static bool match_pqr(text_part part, code_params *code) {
  uint64_t number[NUMBERS];
  if (match_part(part, "PQ#+#", number))
    *code = (code_params){.kind = CODE_PQR, .m = number[0], .nbits = 8, .refine_m = number[1], .refine_nbits = 8};
  else if (match_part(part, "PQ#x#+#x#", number)) /* Faiss has no such string */
    *code = (code_params){
        .kind = CODE_PQR, .m = number[0], .nbits = number[1], .refine_m = number[2], .refine_nbits = number[3]};
  else
    return false;
  code->residual = true;
  return true;
}

static bool match_code(text_part part, code_params *code) {
  uint64_t number[NUMBERS] = {0, 8};
  *code = (code_params){.residual = true};
  if (is_part(part, "Flat")) return true;
  for (size_t i = 0; i < SQ_NAMES; i++) {
    if (!is_part(part, sq_names[i].name)) continue;
    code->kind = CODE_SQ;
    code->qtype = sq_names[i].qtype;
    return true;
  }
  if (match_pqr(part, code) || match_fast(part, code)) return true;
  if (!match_part(part, "PQ#", number) && !match_part(part, "PQ#np", number) && !match_part(part, "PQ#x#", number) &&
      !match_part(part, "PQ#x#np", number))
    return false;
  *code = (code_params){.kind = CODE_PQ, .m = number[0], .nbits = number[1], .residual = true};
  return true;
}

static bool divides(uint64_t m, int32_t d) {
  return m > 0 && m <= (uint64_t)d && (uint64_t)d % m == 0;
}

static furrow_status check_code(const parsing *p, text_part part, const code_params *code, int32_t d, bool lists) {
  if (code->kind != CODE_FLAT && p->metric != FURROW_METRIC_L2 && p->metric != FURROW_METRIC_IP)
    return refuse_part(p, FURROW_E_ARGUMENT, part, "needs the metric L2 or inner product");
  if (!lists && code_kinds[code->kind].rows < 0) return refuse_part(p, FURROW_E_ARGUMENT, part, "needs lists (IVF)");
  if (code->kind == CODE_FLAT || code->kind == CODE_SQ) return FURROW_OK;
  if (!divides(code->m, d) || (code->kind == CODE_PQR && !divides(code->refine_m, d))) {
    refuse_part(p, FURROW_E_ARGUMENT, part, "has a number of sub-quantizers that does not divide the dimension");
    fw_error_set_hint(p->err, "the dimension is %d here", (int)d);
    return FURROW_E_ARGUMENT;
  }
  if (code->nbits < 1 || code->nbits > FW_PQ_MAX_NBITS ||
      (code->kind == CODE_PQR && (code->refine_nbits < 1 || code->refine_nbits > FW_PQ_MAX_NBITS)))
    return refuse_part(p, FURROW_E_ARGUMENT, part, "must have 1 to 16 bits for each sub-quantizer");
  if (code->kind == CODE_PQR && p->metric != FURROW_METRIC_L2)
    return refuse_part(p, FURROW_E_ARGUMENT, part, "needs the metric L2");
  if (code->kind == CODE_FAST && (code->bbs <= 0 || code->bbs % 32 != 0))
    return refuse_part(p, FURROW_E_ARGUMENT, part, "must have blocks of a multiple of 32 vectors");
  return FURROW_OK;
}

static fw_sq make_sq(int32_t qtype, int32_t d) {
  const size_t width = (size_t)d;
  return (fw_sq){.qtype = qtype, .d = width, .code_size = (width * fw_sq_bits(qtype) + 7) / 8};
}

static furrow_status fill_rows(furrow_index *index, const code_params *code, furrow_error *err) {
  fw_pq_index *own = &index->pq;
  index->trained = index->kind == FURROW_INDEX_FLAT;
  if (index->kind == FURROW_INDEX_SQ) {
    index->sq.sq = make_sq(code->qtype, index->d);
    index->trained = fw_sq_range_bits(&index->sq.sq) == 0;
  }
  if (!fw_index_pq(index)) return FURROW_OK;
  own->bbs = code->bbs;
  if (code->kind == CODE_PQ) own->polysemous_ht = (int32_t)(code->m * code->nbits + 1); /* as in Faiss: off */
  return fw_pq_create(&own->pq, (size_t)index->d, (size_t)code->m, (unsigned)code->nbits, err);
}

static furrow_status make_rows(const parsing *p, const code_params *code, int32_t d, furrow_index **index) {
  furrow_index *made = NULL;
  furrow_status status = fw_index_create(&made, (furrow_index_kind)code_kinds[code->kind].rows, d, p->metric, p->err);
  if (status == FURROW_OK) status = fill_rows(made, code, p->err);
  return FW_HAND_OVER(status, index, made, furrow_index_free);
}

/* ---- Lists ---------------------------------------------------------------------------------------------- */

typedef struct list_params {
  uint64_t nlist, hnsw_m; /* hnsw_m 0: flat centroids */
} list_params;

static bool match_lists(text_part part, list_params *lists) {
  static const char *const patterns[] = {"IVF#",       "IVF#(Flat)",  "IVF#_HNSW",       "IVF#_HNSW#",
                                         "IVF#(HNSW)", "IVF#(HNSW#)", "IVF#(HNSW#,Flat)"};
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    uint64_t number[NUMBERS] = {0, i < 2 ? 0 : HNSW_M};
    if (!match_part(part, patterns[i], number)) continue;
    *lists = (list_params){.nlist = number[0], .hnsw_m = number[1]};
    return true;
  }
  return false;
}

static furrow_status check_lists(const parsing *p, text_part part, const list_params *lists) {
  if (lists->nlist < 1 || lists->nlist > UINT32_MAX - 1)
    return refuse_part(p, FURROW_E_ARGUMENT, part, "must have 1 to 2^32 - 2 lists");
  if (lists->hnsw_m != 0 && (lists->hnsw_m < FW_HNSW_MIN_M || lists->hnsw_m > FW_HNSW_MAX_M))
    return refuse_part(p, FURROW_E_ARGUMENT, part, "must have 2 to 1024 links");
  if (p->metric != FURROW_METRIC_L2 && p->metric != FURROW_METRIC_IP)
    return refuse_part(p, FURROW_E_ARGUMENT, part, "needs the metric L2 or inner product");
  return FURROW_OK;
}

static furrow_status make_quantizer(const parsing *p, const list_params *lists, int32_t d, furrow_index **made) {
  if (lists->hnsw_m == 0) return make_rows(p, &(code_params){.kind = CODE_FLAT}, d, made);
  return fw_hnsw_build(made, NULL, 0, d, p->metric, (size_t)lists->hnsw_m, 0, NULL, p->err);
}

static furrow_status fill_lists(furrow_index *index, const list_params *lists, const code_params *code,
                                furrow_error *err) {
  fw_ivf *ivf = &index->ivf;
  const size_t d = (size_t)index->d;
  ivf->nlist = (size_t)lists->nlist;
  ivf->nprobe = 1;
  ivf->by_residual = code->kind != CODE_FLAT && code->residual;
  ivf->code_size = d * sizeof(float);
  if (fw_index_pq(index)) {
    FW_TRY(fw_pq_create(&ivf->pq, d, (size_t)code->m, (unsigned)code->nbits, err));
    ivf->code_size = fw_pq_code_size(&ivf->pq);
  }
  if (code->kind == CODE_PQR) {
    FW_TRY(fw_pq_create(&ivf->refine_pq, d, (size_t)code->refine_m, (unsigned)code->refine_nbits, err));
    ivf->k_factor = PQR_K_FACTOR;
  }
  if (code->kind == CODE_SQ) {
    ivf->sq = make_sq(code->qtype, index->d);
    ivf->code_size = ivf->sq.code_size;
  }
  ivf->lists = (fw_lists){.kind = FURROW_LISTS_INLINE, .nlist = ivf->nlist, .code_size = ivf->code_size};
  if (code->kind != CODE_FAST) return FURROW_OK;
  ivf->bbs = code->bbs;
  ivf->m2 = (size_t)(code->m + code->m % 2);
  ivf->lists = (fw_lists){.kind = FURROW_LISTS_BLOCKS,
                          .nlist = ivf->nlist,
                          .block_vectors = (size_t)code->bbs,
                          .block_bytes = (size_t)code->bbs * ivf->m2 / 2};
  return FURROW_OK;
}

static furrow_status make_ivf(const parsing *p, const list_params *lists, const code_params *code, int32_t d,
                              furrow_index **index) {
  furrow_index *made = NULL;
  furrow_status status = fw_index_create(&made, code_kinds[code->kind].lists, d, p->metric, p->err);
  if (status == FURROW_OK) status = make_quantizer(p, lists, d, &made->child[0]);
  if (status == FURROW_OK) status = fill_lists(made, lists, code, p->err);
  return FW_HAND_OVER(status, index, made, furrow_index_free);
}

static furrow_status refuse_unknown(const parsing *p, text_part part) {
  refuse_part(p, FURROW_E_UNSUPPORTED, part, part.size > 0 ? "is not something that Furrow can build" : "is empty");
  fw_error_set_hint(p->err,
                    "Furrow builds Flat, PQ, SQ and 4-bit codes, with and without IVF or HNSW, after PCA, OPQ, RR "
                    "and L2norm, with RFlat, Refine(...) and IDMap");
  return FURROW_E_UNSUPPORTED;
}

/* ---- Graphs --------------------------------------------------------------------------------------------- */

/* HNSW32 alone stands for HNSW32,Flat; HNSW32_PQ16 is the same as HNSW32,PQ16. *codes: the rest of the text. */
static bool match_graph(text_part text, uint64_t *m, text_part *codes) {
  static const char *const patterns[] = {"HNSW", "HNSW#"};
  text_part first = text;
  *codes = (text_part){"Flat", 4};
  *m = HNSW_M;
  const char *bar = memchr(text.text, '_', text.size);
  if (bar && memchr(text.text, ',', (size_t)(bar - text.text)) == NULL) {
    const size_t size = (size_t)(bar - text.text);
    first = trim_part((text_part){text.text, size});
    *codes = trim_part((text_part){bar + 1, text.size - size - 1});
  } else {
    (void)split_part(text, false, &first, codes);
  }
  return match_part(first, patterns[0], m) || match_part(first, patterns[1], m);
}

static furrow_status make_graph(const parsing *p, text_part text, uint64_t m, text_part codes, int32_t d,
                                furrow_index **index) {
  furrow_index *storage = NULL;
  code_params code;
  if (!match_code(codes, &code)) return refuse_unknown(p, codes);
  if (m < FW_HNSW_MIN_M || m > FW_HNSW_MAX_M)
    return refuse_part(p, FURROW_E_ARGUMENT, text, "must have 2 to 1024 links");
  if (p->metric != FURROW_METRIC_L2 && p->metric != FURROW_METRIC_IP)
    return refuse_part(p, FURROW_E_ARGUMENT, text, "needs the metric L2 or inner product");
  if (code.kind != CODE_FLAT && code.kind != CODE_SQ && code.kind != CODE_PQ)
    return refuse_part(p, FURROW_E_UNSUPPORTED, codes, "cannot be in a graph: that is Flat, SQ or PQ");
  FW_TRY(check_code(p, codes, &code, d, false));
  FW_TRY(make_rows(p, &code, d, &storage));
  const furrow_status status = fw_hnsw_create(index, storage, (size_t)m, p->err);
  if (status != FURROW_OK) furrow_index_free(storage);
  return status;
}

/* ---- Lists, graphs or codes alone ----------------------------------------------------------------------- */

static furrow_status parse_codes(const parsing *p, text_part text, int32_t d, furrow_index **index) {
  text_part first = text, rest = {0};
  list_params lists = {0};
  code_params code;
  uint64_t m;
  if (match_graph(text, &m, &rest)) return make_graph(p, text, m, rest, d, index);
  bool more = split_part(text, false, &first, &rest);
  const bool has_lists = match_lists(first, &lists);
  if (has_lists) {
    FW_TRY(check_lists(p, first, &lists));
    if (!more) return refuse_part(p, FURROW_E_ARGUMENT, first, "needs codes after it, as in IVF1024,Flat");
    text = first = rest;
    more = split_part(text, false, &first, &rest);
  }
  if (more) return refuse_unknown(p, match_code(first, &code) ? rest : first);
  if (!match_code(first, &code)) return refuse_unknown(p, first);
  FW_TRY(check_code(p, first, &code, d, has_lists));
  return has_lists ? make_ivf(p, &lists, &code, d, index) : make_rows(p, &code, d, index);
}

/* ---- Transforms ----------------------------------------------------------------------------------------- */

/* The names of a transform. d_at: the number of the dimension after it among the numbers; -1: it stays. */
static const struct {
  const char *pattern, *fourcc;
  int d_at;
  float eigen_power;
  bool rotates;
} transform_names[] = {
    {"L2norm", "VNrm", -1, 0, false},   {"PCA#", "Pcam", 0, 0, false},      {"PCAR#", "Pcam", 0, 0, true},
    {"PCAW#", "Pcam", 0, -0.5F, false}, {"PCAWR#", "Pcam", 0, -0.5F, true}, {"RR", "rrot", -1, 0, false},
    {"RR#", "rrot", 0, 0, false},       {"OPQ#_#", "LTra", 1, 0, false},    {"OPQ#", "LTra", -1, 0, false}};
enum { TRANSFORM_NAMES = sizeof transform_names / sizeof *transform_names };

static furrow_status check_transform(const parsing *p, text_part part, const fw_transform *t) {
  const bool opq = memcmp(t->fourcc, "LTra", 4) == 0, grows = memcmp(t->fourcc, "rrot", 4) == 0;
  if (t->d_out < 1 || t->d_out > FW_INDEX_MAX_D || (t->d_out > t->d_in && !grows)) {
    refuse_part(p, FURROW_E_ARGUMENT, part, "has a dimension that is not possible");
    fw_error_set_hint(p->err, "it is 1 to %d here", (int)t->d_in);
    return FURROW_E_ARGUMENT;
  }
  if (opq && !divides(t->opq_m, t->d_out))
    return refuse_part(p, FURROW_E_ARGUMENT, part, "has a number of parts that does not divide the dimension");
  return FURROW_OK;
}

static bool match_transform(text_part part, int32_t d, fw_transform *t) {
  for (size_t i = 0; i < TRANSFORM_NAMES; i++) {
    uint64_t number[NUMBERS] = {0};
    if (!match_part(part, transform_names[i].pattern, number)) continue;
    const uint64_t d_out = transform_names[i].d_at < 0 ? (uint64_t)d : number[transform_names[i].d_at];
    *t = (fw_transform){.d_in = d,
                        .d_out = d_out <= INT32_MAX ? (int32_t)d_out : 0,
                        .eigen_power = transform_names[i].eigen_power,
                        .random_rotation = transform_names[i].rotates};
    memcpy(t->fourcc, transform_names[i].fourcc, 4);
    t->have_bias = memcmp(t->fourcc, "Pcam", 4) == 0;
    if (memcmp(t->fourcc, "LTra", 4) == 0) t->opq_m = (size_t)number[0];
    if (memcmp(t->fourcc, "VNrm", 4) == 0) {
      t->norm = 2;
      t->trained = true;
    }
    return true;
  }
  return false;
}

/* Appends the transforms at the beginning of `text`, which then begins after them. */
static furrow_status parse_transforms(const parsing *p, text_part *text, int32_t d, fw_transforms *found) {
  text_part part, rest;
  fw_transform t;
  size_t capacity = 0;
  while (split_part(*text, false, &part, &rest) && match_transform(part, d, &t)) {
    FW_TRY(check_transform(p, part, &t));
    FW_TRY(FW_GROW(&found->list, &capacity, found->count + 1, p->err));
    found->list[found->count++] = t;
    d = t.d_out;
    *text = rest;
  }
  return FURROW_OK;
}

/* ---- The whole string ----------------------------------------------------------------------------------- */

/* Wraps *inner in an index of this kind, which takes ownership; on failure *inner stays unchanged. */
static furrow_status wrap_index(furrow_index **inner, furrow_index_kind kind, int32_t d, furrow_error *err) {
  furrow_index *outer = NULL;
  FW_TRY(fw_index_create(&outer, kind, d, (*inner)->metric, err));
  outer->child[0] = *inner;
  outer->trained = (*inner)->trained;
  *inner = outer;
  return FURROW_OK;
}

furrow_status fw_index_wrap_ids(furrow_index **index, furrow_error *err) {
  return wrap_index(index, FURROW_INDEX_ID_MAP, (*index)->d, err);
}

static bool is_id_map(text_part part) {
  return is_part(part, "IDMap") || is_part(part, "IDMap2");
}

static furrow_status parse_id_map(parsing *p, text_part part, text_part inner, int32_t d, furrow_index **index) {
  FW_TRY(parse_index(p, inner, d, index));
  FW_TRY(fw_index_wrap_ids(index, p->err));
  if (!is_part(part, "IDMap2")) return FURROW_OK;
  memcpy((*index)->fourcc, "IxM2", 4);
  memcpy((*index)->read_as, "IxM2", 4);
  return FURROW_OK;
}

static furrow_status parse_refine(parsing *p, text_part part, text_part base, int32_t d, furrow_index **index) {
  text_part inner = {"Flat", 4};
  if (!is_part(part, "RFlat")) (void)match_nested(part, "Refine", &inner);
  FW_TRY(parse_index(p, base, d, index));
  FW_TRY(wrap_index(index, FURROW_INDEX_REFINE, d, p->err));
  FW_TRY(parse_index(p, inner, d, &(*index)->child[1]));
  if (fw_index_row_size((*index)->child[1]) == 0)
    return refuse_part(p, FURROW_E_UNSUPPORTED, inner, "cannot be a refinement: that is Flat, SQ or PQ");
  (*index)->trained = (*index)->trained && (*index)->child[1]->trained;
  (*index)->k_factor = REFINE_K_FACTOR;
  return FURROW_OK;
}

static furrow_status parse_transformed(parsing *p, text_part text, int32_t d, furrow_index **index) {
  fw_transforms found = {0};
  furrow_status status = parse_transforms(p, &text, d, &found);
  const int32_t inner_d = found.count > 0 ? found.list[found.count - 1].d_out : d;
  if (status == FURROW_OK)
    status = found.count > 0 ? parse_index(p, text, inner_d, index) : parse_codes(p, text, d, index);
  if (status == FURROW_OK && found.count > 0) status = wrap_index(index, FURROW_INDEX_TRANSFORM, d, p->err);
  if (status == FURROW_OK && found.count > 0) {
    for (size_t i = 0; i < found.count; i++) (*index)->trained = (*index)->trained && found.list[i].trained;
    (*index)->transforms = found;
  } else {
    fw_transforms_clear(&found);
  }
  return status;
}

/* *index may be something to free after a failure. */
static furrow_status parse_index(parsing *p, text_part text, int32_t d, furrow_index **index) {
  text_part first, rest, before, last, inner;
  if (p->depth == DEPTH) return refuse_part(p, FURROW_E_ARGUMENT, text, "is nested too deep");
  p->depth++;
  furrow_status status = FURROW_OK;
  if (match_nested(text, "", &inner))
    status = parse_index(p, inner, d, index);
  else if (split_part(text, false, &first, &rest) && is_id_map(first))
    status = parse_id_map(p, first, rest, d, index);
  else if (split_part(text, true, &before, &last) && is_id_map(last))
    status = parse_id_map(p, last, before, d, index);
  else if (split_part(text, true, &before, &last) && (is_part(last, "RFlat") || match_nested(last, "Refine", &inner)))
    status = parse_refine(p, last, before, d, index);
  else
    status = parse_transformed(p, text, d, index);
  p->depth--;
  return status;
}

furrow_status fw_index_from_factory(furrow_index **index, const char *factory, int32_t d, furrow_distance_metric metric,
                                    furrow_error *err) {
  parsing p = {.text = factory, .metric = metric, .err = err};
  furrow_index *made = NULL;
  const furrow_status status = parse_index(&p, trim_part((text_part){factory, strlen(factory)}), d, &made);
  return FW_HAND_OVER(status, index, made, furrow_index_free);
}

/* ---- From an index to its string ------------------------------------------------------------------------ */

static void write_index(fw_buffer *out, const furrow_index *index, bool inside);

static void write_pq(fw_buffer *out, const fw_pq *pq) {
  fw_buffer_format(out, "PQ%zu", pq->m);
  if (pq->nbits != 8) fw_buffer_format(out, "x%u", pq->nbits);
}

static void write_sq(fw_buffer *out, int32_t qtype) {
  for (size_t i = 0; i < SQ_NAMES; i++)
    if (sq_names[i].qtype == qtype) fw_buffer_text(out, sq_names[i].name);
}

static void write_pqr(fw_buffer *out, const fw_pq *pq, const fw_pq *refine) {
  if (pq->nbits == 8 && refine->nbits == 8)
    fw_buffer_format(out, "PQ%zu+%zu", pq->m, refine->m);
  else
    fw_buffer_format(out, "PQ%zux%u+%zux%u", pq->m, pq->nbits, refine->m, refine->nbits);
}

static void write_fast(fw_buffer *out, const fw_pq *pq, bool residual, int32_t bbs) {
  fw_buffer_format(out, "PQ%zux4fs%s", pq->m, residual ? "r" : "");
  if (bbs != BBS) fw_buffer_format(out, "_%d", (int)bbs);
}

static void write_ivf(fw_buffer *out, const furrow_index *index) {
  const furrow_index *quantizer = index->child[0];
  const fw_ivf *ivf = &index->ivf;
  if (quantizer && quantizer->kind == FURROW_INDEX_MULTI)
    fw_buffer_format(out, "IMI%zux%u", quantizer->pq.pq.m, quantizer->pq.pq.nbits);
  else
    fw_buffer_format(out, "IVF%zu", ivf->nlist);
  if (quantizer && quantizer->kind == FURROW_INDEX_HNSW) {
    fw_buffer_format(out, "_HNSW%zu", fw_hnsw_links(&quantizer->hnsw));
  } else if (quantizer && quantizer->kind != FURROW_INDEX_FLAT && quantizer->kind != FURROW_INDEX_MULTI) {
    fw_buffer_byte(out, '(');
    write_index(out, quantizer, false);
    fw_buffer_byte(out, ')');
  }
  fw_buffer_byte(out, ',');
  switch (index->kind) {
  case FURROW_INDEX_IVF_PQ: write_pq(out, &ivf->pq); break;
  case FURROW_INDEX_IVF_PQR: write_pqr(out, &ivf->pq, &ivf->refine_pq); break;
  case FURROW_INDEX_IVF_SQ: write_sq(out, ivf->sq.qtype); break;
  case FURROW_INDEX_IVF_PQ_FAST: write_fast(out, &ivf->pq, ivf->by_residual, ivf->bbs); break;
  default: fw_buffer_text(out, "Flat"); break;
  }
}

/* A rotation is written as OPQ for the quantizer inside: a file does not say which quantizer it was trained for. */
static void write_transform(fw_buffer *out, const fw_transform *t, const furrow_index *inner) {
  const furrow_index *codes = inner;
  while (codes->kind == FURROW_INDEX_TRANSFORM || codes->kind == FURROW_INDEX_ID_MAP ||
         codes->kind == FURROW_INDEX_HNSW)
    codes = codes->child[0];
  const size_t m = t->opq_m ? t->opq_m : fw_index_pq(codes) ? fw_index_pq(codes)->m : 0;
  const bool opq = memcmp(t->fourcc, "LTra", 4) == 0 && m > 0;
  if (opq && t->d_in == t->d_out)
    fw_buffer_format(out, "OPQ%zu", m);
  else if (opq)
    fw_buffer_format(out, "OPQ%zu_%d", m, (int)t->d_out);
  else if (memcmp(t->fourcc, "VNrm", 4) == 0)
    fw_buffer_text(out, "L2norm");
  else if (memcmp(t->fourcc, "Pcam", 4) == 0)
    fw_buffer_format(out, "PCA%s%s%d", t->eigen_power != 0 ? "W" : "", t->random_rotation ? "R" : "", (int)t->d_out);
  else if (memcmp(t->fourcc, "rrot", 4) == 0)
    fw_buffer_format(out, "RR%d", (int)t->d_out);
  else if (memcmp(t->fourcc, "RmDT", 4) == 0)
    fw_buffer_format(out, "Pad%d", (int)t->d_out);
  else if (memcmp(t->fourcc, "Viqt", 4) == 0)
    fw_buffer_format(out, "ITQ%d", (int)t->d_out);
  else
    fw_buffer_format(out, "%.4s%d", t->fourcc, (int)t->d_out);
  fw_buffer_byte(out, ',');
}

static void write_refine(fw_buffer *out, const furrow_index *index) {
  write_index(out, index->child[0], true);
  if (index->child[1]->kind == FURROW_INDEX_FLAT) {
    fw_buffer_text(out, ",RFlat");
    return;
  }
  fw_buffer_text(out, ",Refine(");
  write_index(out, index->child[1], false);
  fw_buffer_byte(out, ')');
}

/* inside: a refinement follows, so that an id map has to be the last part. */
static void write_index(fw_buffer *out, const furrow_index *index, bool inside) {
  const char *map = memcmp(index->fourcc, "IxM2", 4) == 0 ? "IDMap2" : "IDMap";
  bool grouped = false;
  switch (index->kind) {
  case FURROW_INDEX_FLAT: fw_buffer_text(out, "Flat"); break;
  case FURROW_INDEX_SQ: write_sq(out, index->sq.sq.qtype); break;
  case FURROW_INDEX_PQ: write_pq(out, &index->pq.pq); break;
  case FURROW_INDEX_PQ_FAST: write_fast(out, &index->pq.pq, false, index->pq.bbs); break;
  case FURROW_INDEX_MULTI: fw_buffer_format(out, "IMI%zux%u", index->pq.pq.m, index->pq.pq.nbits); break;
  case FURROW_INDEX_HNSW:
    fw_buffer_format(out, "HNSW%zu,", fw_hnsw_links(&index->hnsw));
    write_index(out, index->child[0], false);
    break;
  case FURROW_INDEX_ID_MAP:
    if (!inside) fw_buffer_format(out, "%s,", map);
    write_index(out, index->child[0], inside);
    if (inside) fw_buffer_format(out, ",%s", map);
    break;
  case FURROW_INDEX_TRANSFORM:
    for (size_t i = 0; i < index->transforms.count; i++)
      write_transform(out, &index->transforms.list[i], index->child[0]);
    grouped = index->child[0]->kind == FURROW_INDEX_REFINE;
    if (grouped) fw_buffer_byte(out, '(');
    write_index(out, index->child[0], inside && !grouped);
    if (grouped) fw_buffer_byte(out, ')');
    break;
  case FURROW_INDEX_REFINE: write_refine(out, index); break;
  default: write_ivf(out, index); break;
  }
}

furrow_status furrow_index_factory(const furrow_index *index, char **text, furrow_error *err) {
  fw_buffer out = {0};
  write_index(&out, index, false);
  const furrow_status status = fw_buffer_take(&out, text, NULL, err);
  fw_buffer_clear(&out);
  return status;
}
