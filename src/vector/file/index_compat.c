/* vector/file/index_compat.c: the first release of Faiss that reads each layout, according to the sources of its
 * releases. Layouts that are not listed are as old as Faiss itself. */
#include "vector/file/index_write.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* ---- Releases ------------------------------------------------------------------------------------------- */

/* Releases 1.MINOR.FIRST to 1.MINOR.LAST. Before 1.2.1 Faiss had no version numbers: 1.0 is its state of January
 * 2018. */
static const struct {
  unsigned minor, first, last;
} releases[] = {{0, 0, 0}, {2, 1, 1},  {3, 0, 0},  {4, 0, 0},  {5, 0, 3},  {6, 0, 5},  {7, 0, 4}, {8, 0, 0},
                {9, 0, 0}, {10, 0, 0}, {11, 0, 0}, {12, 0, 0}, {13, 0, 2}, {14, 0, 3}, {15, 0, 0}};
enum { RELEASES = sizeof releases / sizeof *releases };

/* "1.6.2" */
typedef struct release_text {
  char text[24];
} release_text;

static release_text text_of(fw_compat release) {
  release_text t;
  unsigned minor = release / 100 % 100;
  if (minor == 0)
    snprintf(t.text, sizeof t.text, "1.0");
  else
    snprintf(t.text, sizeof t.text, "1.%u.%u", minor, release % 100);
  return t;
}

static furrow_status refuse_release(const char *text, furrow_error *err) {
  char known[200];
  size_t used = 0;
  for (size_t i = 0; i < RELEASES; i++) {
    release_text first = text_of(10000 + 100 * releases[i].minor + releases[i].first);
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", first.text);
    if (releases[i].last > releases[i].first)
      used += (size_t)snprintf(known + used, sizeof known - used, " to %u", releases[i].last);
  }
  fw_fail(err, FURROW_E_ARGUMENT, "there is no such release of Faiss; known are %s", known);
  if (err) fw_error_set_token(err, text, strlen(text));
  return FURROW_E_ARGUMENT;
}

/* "1.6" means the first release of that series. */
static bool is_called(fw_compat release, bool first, const char *text) {
  release_text whole = text_of(release);
  size_t size = strlen(text), cut = (size_t)(strrchr(whole.text, '.') - whole.text);
  return strcmp(whole.text, text) == 0 || (first && cut > 1 && size == cut && memcmp(whole.text, text, cut) == 0);
}

furrow_status fw_compat_parse(fw_compat *release, const char *text, furrow_error *err) {
  if (!text) {
    *release = FW_COMPAT_NEWEST;
    return FURROW_OK;
  }
  for (size_t i = 0; i < RELEASES; i++) {
    for (unsigned patch = releases[i].first; patch <= releases[i].last; patch++) {
      fw_compat tried = 10000 + 100 * releases[i].minor + patch;
      if (!is_called(tried, patch == releases[i].first, text)) continue;
      *release = tried;
      return FURROW_OK;
    }
  }
  return refuse_release(text, err);
}

/* ---- Parts of an index ---------------------------------------------------------------------------------- */

static bool is_on_disk(const furrow_index *index) {
  return fw_index_is_ivf(index) && index->ivf.lists.kind == FURROW_LISTS_ON_DISK;
}
static bool has_no_lists(const furrow_index *index) {
  return fw_index_is_ivf(index) && index->ivf.lists.kind == FURROW_LISTS_NONE;
}
static bool has_null(const furrow_index *index) {
  return furrow_index_child_name(index, 0) && !index->child[0];
}
static bool has_hashtable(const furrow_index *index) {
  return fw_index_is_ivf(index) && index->ivf.direct_map.type == FURROW_DIRECT_MAP_HASHTABLE;
}
static bool has_other_metric(const furrow_index *index) {
  return index->metric > FURROW_METRIC_L2;
}
static bool is_jaccard(const furrow_index *index) {
  return index->metric == FURROW_METRIC_JACCARD;
}
static bool is_nan_euclidean(const furrow_index *index) {
  return index->metric == FURROW_METRIC_NAN_EUCLIDEAN;
}
static bool is_gower(const furrow_index *index) {
  return index->metric == FURROW_METRIC_GOWER;
}
/* Older graphs treat any metric as L2. */
static bool is_graph_of_other_metric(const furrow_index *index) {
  return index->kind == FURROW_INDEX_HNSW && index->metric != FURROW_METRIC_L2;
}
static bool is_fast(const furrow_index *index) {
  return index->kind == FURROW_INDEX_IVF_PQ_FAST || index->kind == FURROW_INDEX_PQ_FAST;
}
static bool refines_with_codes(const furrow_index *index) {
  return index->kind == FURROW_INDEX_REFINE && index->child[1] && index->child[1]->kind != FURROW_INDEX_FLAT;
}
/* Older releases stored each number of a code in whole bytes; later ones still scanned lists byte by byte. */
static bool scans_other_bits(const furrow_index *index) {
  return (index->kind == FURROW_INDEX_IVF_PQ || index->kind == FURROW_INDEX_IVF_PQR) && index->ivf.pq.nbits != 8;
}
static bool packs_bits(const furrow_index *index) {
  unsigned nbits = index->kind == FURROW_INDEX_PQ        ? index->pq.pq.nbits
                   : index->kind == FURROW_INDEX_IVF_PQR ? index->ivf.refine_pq.nbits
                                                         : 8;
  return nbits != 8 && nbits != 16;
}
static bool is_sq(const furrow_index *index, int32_t first, int32_t last) {
  const fw_sq *sq = fw_index_sq(index);
  return sq && sq->qtype >= first && sq->qtype <= last;
}
static bool is_fp16(const furrow_index *index) {
  return is_sq(index, 4, 4);
}
static bool is_direct(const furrow_index *index) {
  return is_sq(index, 5, 5);
}
static bool is_6_bits(const furrow_index *index) {
  return is_sq(index, 6, 6);
}
static bool is_bf16_or_signed(const furrow_index *index) {
  return is_sq(index, 7, 8);
}
static bool is_sq_without_residuals(const furrow_index *index) {
  return index->kind == FURROW_INDEX_IVF_SQ && !index->ivf.by_residual;
}
/* Older readers compute tables from centroids that are missing here. */
static bool is_untrained(const furrow_index *index) {
  return (index->kind == FURROW_INDEX_IVF_PQ || index->kind == FURROW_INDEX_IVF_PQR) && !index->trained &&
         index->ivf.by_residual;
}

typedef struct part {
  bool (*has)(const furrow_index *index);
  fw_compat first; /* first release that reads it */
  const char *what;
  const char *instead; /* what to do instead; NULL: nothing helps */
} part;

static const part parts[] = {
    {is_fast, 10700, "4-bit codes in blocks", NULL},
    {has_hashtable, 10602, "a direct map that is a hashtable",
     "set it to none or array; it can be rebuilt from the lists"},
    {has_null, 10900, "an index inside that is missing", NULL},
    {has_no_lists, 10300, "lists that are somewhere else (il00)", NULL},
    {is_gower, 11300, "the metric Gower", NULL},
    {is_nan_euclidean, 10900, "the metric L2 that skips NaN", NULL},
    {is_jaccard, 10704, "the metric Jaccard", NULL},
    {has_other_metric, 10602, "a metric other than L2 and inner product", NULL},
    {is_graph_of_other_metric, 10602, "a graph of another metric than L2", NULL},
    {refines_with_codes, 10700, "a refinement that is not flat", NULL},
    {scans_other_bits, 10602, "lists of codes of other than 8 bits", NULL},
    {packs_bits, 10502, "codes of other than 8 or 16 bits", NULL},
    {is_bf16_or_signed, 10900, "scalar quantizer codes of bf16 or signed bytes", NULL},
    {is_6_bits, 10502, "scalar quantizer codes of 6 bits", NULL},
    {is_direct, 10501, "scalar quantizer codes that are bytes", NULL},
    {is_sq_without_residuals, FW_COMPAT_SQ_PLAIN, "scalar quantizer codes without residuals", NULL},
    {is_fp16, 10300, "scalar quantizer codes of fp16", NULL},
};

/* Lists on disk, unless they are written into the index file. */
static const part disk_part = {is_on_disk, FW_COMPAT_LISTS, "lists on disk", "make them part of the file"};
/* Parts that change with training come last. */
static const part training_part = {is_untrained, 10502, "product quantizer codes that are not trained", "train first"};

/* ---- Transforms ----------------------------------------------------------------------------------------- */

/* A trained PCA has already applied epsilon to its matrix. */
static bool needs_epsilon(const fw_transform *t) {
  return memcmp(t->fourcc, "Pcam", 4) == 0 && !t->trained && t->epsilon != 0;
}

static fw_compat first_of_transform(const fw_transform *t) {
  static const struct {
    char fourcc[5];
    fw_compat first;
  } later[] = {{"VCnt", 10501}, {"Viqm", 10600}, {"Viqt", 10600}, {"HRot", 11500}};
  if (needs_epsilon(t)) return FW_COMPAT_PCA;
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (memcmp(later[i].fourcc, t->fourcc, 4) == 0) return later[i].first;
  return FW_COMPAT_NEWEST;
}

/* ---- The whole check ------------------------------------------------------------------------------------ */

typedef struct checking {
  fw_compat release;
  bool inline_lists;
  bool training; /* check only parts that need training */
  furrow_error *err;
} checking;

static furrow_status refuse_part(const checking *c, const part *p, const char *where, const char *fourcc) {
  furrow_status status = p == &training_part ? FURROW_E_STATE : FURROW_E_UNSUPPORTED;
  fw_fail(c->err, status, "%s has %s, which Faiss reads since %s, not in %s", *where ? where : "the index", p->what,
          text_of(p->first).text, text_of(c->release).text);
  if (c->err) fw_error_set_token(c->err, fourcc, 4);
  if (p->instead) fw_error_set_hint(c->err, "%s", p->instead);
  return status;
}

static furrow_status check_part(const checking *c, const part *p, const furrow_index *index, const char *where) {
  if (fw_compat_reads(c->release, p->first) || !p->has(index)) return FURROW_OK;
  return refuse_part(c, p, where, index->fourcc);
}

static furrow_status check_transforms(const checking *c, const furrow_index *index, const char *where) {
  for (size_t i = 0; i < index->transforms.count; i++) {
    const fw_transform *t = &index->transforms.list[i];
    fw_compat first = first_of_transform(t);
    if (first == FW_COMPAT_NEWEST || fw_compat_reads(c->release, first)) continue;
    char what[64];
    snprintf(what, sizeof what, "a transform %.4s%s", t->fourcc, needs_epsilon(t) ? " to be trained with epsilon" : "");
    return refuse_part(c, &(part){.first = first, .what = what}, where, t->fourcc);
  }
  return FURROW_OK;
}

static furrow_status check_own(const checking *c, const furrow_index *index, const char *where) {
  if (c->training) return check_part(c, &training_part, index, where);
  furrow_status status = c->inline_lists ? FURROW_OK : check_part(c, &disk_part, index, where);
  for (size_t i = 0; status == FURROW_OK && i < sizeof parts / sizeof *parts; i++)
    status = check_part(c, &parts[i], index, where);
  if (status == FURROW_OK && index->kind == FURROW_INDEX_TRANSFORM) status = check_transforms(c, index, where);
  return status;
}

/* `where` is the path of the index in its file. Files nest at most FW_CURSOR_DEPTH deep, so it is short. */
static furrow_status check_parts(const checking *c, const furrow_index *index, const char *where) {
  furrow_status status = check_own(c, index, where);
  for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN; i++) {
    char path[256];
    if (!index->child[i]) continue;
    snprintf(path, sizeof path, "%s%s%s", where, *where ? "/" : "", furrow_index_child_name(index, i));
    status = check_parts(c, index->child[i], path);
  }
  return status;
}

furrow_status fw_compat_check(const furrow_index *index, fw_compat release, bool inline_lists, furrow_error *err) {
  checking c = {.release = release, .inline_lists = inline_lists, .err = err};
  if (release == FW_COMPAT_NEWEST) return FURROW_OK;
  furrow_status status = check_parts(&c, index, "");
  c.training = true;
  return status == FURROW_OK ? check_parts(&c, index, "") : status;
}

const char *fw_compat_fourcc(const furrow_index *index, fw_compat release) {
  static const char *const older[][2] = {{"IwPQ", "IvPQ"}, {"IwQR", "IvQR"}, {"IwFl", "IvFL"}, {"IwSq", "IvSQ"}};
  if (!fw_compat_reads(release, FW_COMPAT_LISTS))
    for (size_t i = 0; i < sizeof older / sizeof *older; i++)
      if (memcmp(index->fourcc, older[i][0], 4) == 0) return older[i][1];
  if (index->kind == FURROW_INDEX_IVF_SQ && !fw_compat_reads(release, FW_COMPAT_SQ_PLAIN)) return "IwSQ";
  return index->fourcc;
}
