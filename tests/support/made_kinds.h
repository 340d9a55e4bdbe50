/* tests/support/made_kinds.h: an index file of every kind that is searched (kind_parts.h): those with lists of other
 * codes, those around others, and a table of all. */
#ifndef MADE_KINDS_H
#define MADE_KINDS_H

#include "support/kind_parts.h"

/* ---- Codes in blocks ---- */

/* In a block, 32 bytes for every two parts of 32 vectors: 16 of the one, 16 of the other; the first 16 vectors have the
 * low halves of bytes 0, 2, … 14, 1, 3, … 15, the others the high halves. */
static inline void put_block_list(made_kind *k, size_t list, size_t m, size_t bbs) {
  const size_t m2 = m + m % 2, size = kind_list_size(k, list), bytes = (size + bbs - 1) / bbs * (bbs * m2 / 2);
  uint8_t *blocks = calloc(bytes + 1, 1);
  size_t n = 0;
  if (!blocks) abort();
  for (size_t i = 0; i < KIND_N; i++) {
    if (k->known[i].list != list) continue;
    const size_t v = n % bbs % 32, block = n / bbs, group = n % bbs / 32;
    for (size_t part = 0; part < m; part++) {
      const unsigned number = k->known[i].code[part / 2] >> (part % 2 * 4) & 15U;
      const size_t byte = v % 16 < 8 ? 2 * (v % 16) : 2 * (v % 16) - 15;
      const size_t at = block * (bbs * m2 / 2) + (part / 2 * (bbs / 32) + group) * 32 + part % 2 * 16 + byte;
      blocks[at] |= (uint8_t)(v < 16 ? number : number << 4);
    }
    n++;
  }
  put_long(&k->file, (int64_t)size);
  put_list_ids(k, list);
  put_long(&k->file, (int64_t)bytes);
  put(&k->file, blocks, bytes);
  free(blocks);
}

/* option: vectors of a block */
static inline void make_fast(made_kind *k, const kind_case *c) {
  const size_t m2 = c->m + c->m % 2, bbs = (size_t)c->option;
  kind_pq pq;
  draw_ids(k, false);
  put_kind_ivf(k, "IwPf", c);
  put_byte(&k->file, c->residual);
  put_long(&k->file, (int64_t)(m2 / 2));
  put_word(&k->file, c->option);
  put_long(&k->file, (int64_t)m2);
  put_word(&k->file, 0);
  put_long(&k->file, 0);
  put_kind_pq(k, &pq, c->m, 4);
  draw_codes(k, &pq);
  put_fourcc(&k->file, "ilbl");
  put_long(&k->file, (int64_t)k->nlist);
  put_long(&k->file, -1);
  put_long(&k->file, (int64_t)bbs);
  put_long(&k->file, (int64_t)(bbs * m2 / 2));
  for (size_t list = 0; list < k->nlist; list++) put_block_list(k, list, c->m, bbs);
}

/* ---- Scalar quantizers ---- */

typedef struct kind_sq {
  const char *name;
  unsigned bits;
  size_t ranges; /* pairs of a lowest number and a width */
} kind_sq;

static const kind_sq kind_sqs[] = {{"8 bits", 8, KIND_D},       {"4 bits", 4, KIND_D}, {"8 bits, one range", 8, 1},
                                   {"4 bits, one range", 4, 1}, {"half", 16, 0},       {"bytes", 8, 0},
                                   {"6 bits", 6, KIND_D},       {"brain", 16, 0},      {"signed bytes", 8, 0}};

/* The number that a code of qtype stands for; low and width: of its range. */
static inline float kind_sq_number(int qtype, unsigned code, float low, float width) {
  switch (qtype) {
  case 4: return (code >> 15 ? -1.0F : 1.0F) * ldexpf(1 + (float)(code & 1023) / 1024, (int)(code >> 10 & 31) - 15);
  case 5: return (float)code;
  case 7: return (code >> 15 ? -1.0F : 1.0F) * ldexpf(1 + (float)(code & 127) / 128, (int)(code >> 7 & 255) - 127);
  case 8: return (float)code - 128;
  default: return low + width * ((float)code + 0.5F) / (float)((1U << kind_sqs[qtype].bits) - 1);
  }
}

/* Floats of 16 bits are of usual size: 1/16 to 4. */
static inline unsigned draw_sq_code(made_kind *k, int qtype) {
  const unsigned code = (unsigned)fw_rng_below(&k->rng, UINT64_C(1) << kind_sqs[qtype].bits);
  const unsigned exponent = (unsigned)fw_rng_below(&k->rng, 6);
  if (qtype == 4) return (code & 0x83ffU) | (11 + exponent) << 10;
  if (qtype == 7) return (code & 0x807fU) | (123 + exponent) << 7;
  return code;
}

/* option: the type; like: IwSQ, which has always residuals */
static inline void make_ivfsq(made_kind *k, const kind_case *c) {
  const kind_sq *sq = &kind_sqs[c->option];
  const size_t code_size = (KIND_D * sq->bits + 7) / 8;
  float ranges[2 * KIND_D];
  draw_ids(k, false);
  put_kind_ivf(k, c->like ? c->like : "IwSq", c);
  put_word(&k->file, c->option);
  put_word(&k->file, 0);
  put_real(&k->file, 0);
  put_long(&k->file, KIND_D);
  put_long(&k->file, (int64_t)code_size);
  for (size_t i = 0; i < sq->ranges; i++) {
    ranges[i] = -1 - fabsf(kind_number(k));
    ranges[sq->ranges + i] = 2 + fabsf(kind_number(k));
  }
  put_numbers(&k->file, ranges, 2 * sq->ranges);
  put_long(&k->file, (int64_t)code_size);
  if (!c->like) put_byte(&k->file, c->residual);
  for (size_t i = 0; i < KIND_N; i++)
    for (size_t j = 0; j < KIND_D; j++) {
      const size_t range = sq->ranges > 1 ? j : 0;
      const unsigned code = draw_sq_code(k, c->option);
      put_bits(k->known[i].code, j * sq->bits, sq->bits, code);
      k->known[i].vector[j] += kind_sq_number(c->option, code, ranges[range], ranges[sq->ranges + range]);
    }
  put_kind_lists(k, code_size);
}

/* ---- Indexes around others ---- */

/* like: the fourcc of the map; around flat vectors, or lists if m is given. */
static inline void make_id_map(made_kind *k, const kind_case *c) {
  const kind_case inner = {.residual = true, .m = c->m, .nbits = c->nbits};
  put_header(&k->file, c->like, KIND_D, KIND_N, true, k->metric);
  draw_ids(k, true);
  if (c->m)
    put_kind_ivfpq(k, "IwPQ", &inner);
  else
    make_flat(k, &inner);
  put_long(&k->file, KIND_N);
  for (int64_t id = 0; id < KIND_N; id++) put_long(&k->file, 50000 - 3 * id);
  for (size_t i = 0; i < KIND_N; i++) k->known[i].id = 50000 - 3 * k->known[i].id;
}

static inline void make_refine(made_kind *k, const kind_case *c) {
  k->k_factor = 3;
  put_header(&k->file, "IxRF", KIND_D, KIND_N, true, k->metric);
  draw_ids(k, true);
  if (c->residual)
    put_kind_ivfpq(k, "IwPQ", c);
  else
    make_pq(k, c);
  for (size_t i = 0; i < KIND_N; i++) draw_numbers(k, k->known[i].better, KIND_D, 1);
  put_known(k, true);
  put_real(&k->file, k->k_factor);
}

/* ---- Transforms ---- */

static inline void put_kind_linear(index_file *f, const kind_step *s) {
  put_byte(f, 1);
  put_numbers(f, s->a, (size_t)(s->in * s->out));
  put_numbers(f, s->b, (size_t)s->out);
}

static inline void put_kind_pca(index_file *f, const kind_step *s) {
  put_real(f, 0);
  put_real(f, 0);
  put_byte(f, 0);
  put_word(f, 0);
  put_numbers(f, s->mean, (size_t)s->in); /* already in b */
  put_numbers(f, s->b, (size_t)s->in);    /* eigenvalues, which are not used any more; nor are eigenvectors */
  put_numbers(f, s->a, (size_t)(s->in * s->in));
  put_kind_linear(f, s);
}

/* Centred, to length 1, then the linear transform; what it was made from is kept, too. */
static inline void put_kind_itq(index_file *f, const kind_step *s) {
  put_numbers(f, s->mean, (size_t)s->in);
  put_byte(f, 1);
  put_fourcc(f, "Viqm");
  put_word(f, 50);
  put_word(f, 123);
  put_linear(f, 2, 2, false);
  put_transform_end(f, 2, 2);
  put_fourcc(f, "LTra");
  put_kind_linear(f, s);
  put_transform_end(f, s->in, s->out);
}

static inline void put_step(index_file *f, const kind_step *s) {
  put_fourcc(f, s->fourcc);
  if (strcmp(s->fourcc, "VNrm") == 0) {
    put_real(f, 2);
  } else if (strcmp(s->fourcc, "VCnt") == 0) {
    put_numbers(f, s->mean, (size_t)s->in);
  } else if (strcmp(s->fourcc, "RmDT") == 0) {
    put_long(f, s->out);
    for (int i = 0; i < s->out; i++) put_word(f, s->map[i]);
  } else if (strcmp(s->fourcc, "Pcam") == 0) {
    put_kind_pca(f, s);
  } else if (strcmp(s->fourcc, "Viqt") == 0) {
    put_kind_itq(f, s);
  } else {
    put_kind_linear(f, s);
  }
  put_transform_end(f, s->in, s->out);
}

static const struct {
  char fourcc[5];
  int in, out;
} kind_chain[KIND_STEPS] = {{"VCnt", KIND_D, KIND_D}, {"RmDT", KIND_D, 14},     {"Pcam", 14, 6},         {"VNrm", 6, 6},
                            {"LTra", 6, KIND_D},      {"rrot", KIND_D, KIND_D}, {"Viqt", KIND_D, KIND_D}};

static inline void draw_step(made_kind *k, const char *fourcc, int in, int out) {
  kind_step *s = &k->steps[k->step_count++];
  *s = (kind_step){.in = in, .out = out};
  memcpy(s->fourcc, fourcc, sizeof s->fourcc);
  draw_numbers(k, s->a, KIND_WIDTH * KIND_WIDTH, 0.5F);
  draw_numbers(k, s->b, KIND_WIDTH, 1);
  draw_numbers(k, s->mean, KIND_WIDTH, 1);
  for (int i = 0; i < out; i++) s->map[i] = (5 * i + 2) % (in + 1) - 1;
  put_step(&k->file, s);
}

/* like: one transform that keeps the dimension; NULL: all of them, one behind the other. */
static inline void make_transforms(made_kind *k, const kind_case *c) {
  put_header(&k->file, "IxPT", KIND_D, KIND_N, true, k->metric);
  put_word(&k->file, c->like ? 1 : KIND_STEPS);
  if (c->like) draw_step(k, c->like, KIND_D, KIND_D);
  for (size_t i = 0; !c->like && i < KIND_STEPS; i++)
    draw_step(k, kind_chain[i].fourcc, kind_chain[i].in, kind_chain[i].out);
  make_flat(k, c);
}

/* ---- All of them ---- */

static const kind_case kind_cases[] = {
    {.name = "flat", .make = make_flat, .metric = FURROW_METRIC_L2},
    {.name = "flat, IP", .make = make_flat, .metric = FURROW_METRIC_IP},
    {.name = "flat, L1", .make = make_flat, .metric = FURROW_METRIC_L1},
    {.name = "flat, Linf", .make = make_flat, .metric = FURROW_METRIC_LINF},
    {.name = "flat, Lp", .make = make_flat, .metric = FURROW_METRIC_LP},
    {.name = "flat, Canberra", .make = make_flat, .metric = FURROW_METRIC_CANBERRA},
    {.name = "flat, Bray-Curtis", .make = make_flat, .metric = FURROW_METRIC_BRAY_CURTIS},
    {.name = "flat, Jensen-Shannon", .make = make_flat, .metric = FURROW_METRIC_JENSEN_SHANNON},
    {.name = "flat, Jaccard", .make = make_flat, .metric = FURROW_METRIC_JACCARD},
    {.name = "flat, NaN Euclidean", .make = make_flat, .metric = FURROW_METRIC_NAN_EUCLIDEAN},
    {.name = "graph", .make = make_hnsw, .metric = 1},
    {.name = "graph, IP", .make = make_hnsw, .metric = 0},
    {.name = "PQ", .make = make_pq, .metric = 1, .m = 4, .nbits = 8},
    {.name = "PQ, IP", .make = make_pq, .metric = 0, .m = 12, .nbits = 4},
    {.name = "PQ of 6 bits", .make = make_pq, .metric = 1, .m = 3, .nbits = 6},
    {.name = "IVF flat", .make = make_ivfflat, .metric = 1},
    {.name = "IVF flat, IP", .make = make_ivfflat, .metric = 0},
    {.name = "IVF PQ", .make = make_ivfpq, .metric = 1, .m = 4, .nbits = 8, .residual = true},
    {.name = "IVF PQ, IP", .make = make_ivfpq, .metric = 0, .m = 4, .nbits = 5, .residual = true},
    {.name = "IVF PQ, whole vectors", .make = make_ivfpq, .metric = 1, .m = 2, .nbits = 8},
    {.name = "graph of lists", .make = make_ivfpq, .metric = 1, .m = 4, .nbits = 8, .residual = true, .like = "IHNf"},
    {.name = "multi-index", .make = make_ivfpq, .metric = 1, .m = 4, .nbits = 8, .residual = true, .like = "Imiq"},
    {.name = "multi-index, flat", .make = make_ivfflat, .metric = 1, .like = "Imiq"},
    {.name = "PQR", .make = make_pqr, .metric = 1, .m = 3, .nbits = 4, .residual = true},
    {.name = "FastScan", .make = make_fast, .metric = 1, .m = 12, .option = 32, .residual = true},
    {.name = "FastScan, IP, 64", .make = make_fast, .metric = 0, .m = 4, .option = 64, .residual = true},
    {.name = "FastScan, 3 parts", .make = make_fast, .metric = 1, .m = 3, .option = 32},
    {.name = "SQ, 8 bits", .make = make_ivfsq, .metric = 1, .residual = true, .option = 0},
    {.name = "SQ, 4 bits", .make = make_ivfsq, .metric = 0, .residual = true, .option = 1},
    {.name = "SQ, 8 bits, one range", .make = make_ivfsq, .metric = 1, .option = 2},
    {.name = "SQ, 4 bits, one range", .make = make_ivfsq, .metric = 0, .option = 3},
    {.name = "SQ, half floats", .make = make_ivfsq, .metric = 1, .residual = true, .option = 4},
    {.name = "SQ, bytes", .make = make_ivfsq, .metric = 1, .option = 5},
    {.name = "SQ, 6 bits", .make = make_ivfsq, .metric = 1, .option = 6},
    {.name = "SQ, brain floats", .make = make_ivfsq, .metric = 0, .option = 7},
    {.name = "SQ, signed bytes", .make = make_ivfsq, .metric = 0, .option = 8},
    {.name = "SQ, legacy", .make = make_ivfsq, .metric = 1, .residual = true, .option = 0, .like = "IwSQ"},
    {.name = "ids, flat", .make = make_id_map, .metric = 0, .like = "IxM2"},
    {.name = "ids, lists", .make = make_id_map, .metric = 1, .m = 4, .nbits = 8, .like = "IxMp"},
    {.name = "refined lists", .make = make_refine, .metric = 1, .m = 4, .nbits = 4, .residual = true},
    {.name = "refined codes, IP", .make = make_refine, .metric = 0, .m = 4, .nbits = 8},
    {.name = "normalised", .make = make_transforms, .metric = 0, .like = "VNrm"},
    {.name = "centred", .make = make_transforms, .metric = 1, .like = "VCnt"},
    {.name = "reordered", .make = make_transforms, .metric = 1, .like = "RmDT"},
    {.name = "PCA", .make = make_transforms, .metric = 1, .like = "Pcam"},
    {.name = "linear", .make = make_transforms, .metric = 1, .like = "LTra"},
    {.name = "rotated", .make = make_transforms, .metric = 1, .like = "rrot"},
    {.name = "ITQ", .make = make_transforms, .metric = 1, .like = "Viqt"},
    {.name = "all transforms", .make = make_transforms, .metric = 1},
};

enum { KIND_CASES = sizeof kind_cases / sizeof *kind_cases };

static inline void make_kind(made_kind *k, const kind_case *c) {
  *k = (made_kind){.metric = c->metric};
  fw_rng_init(&k->rng, 1 + (uint64_t)(c - kind_cases));
  c->make(k, c);
}

#endif
