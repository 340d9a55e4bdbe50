/* cli/demo/demo_figures.c: the charts of the demo's report. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text_file.h"
#include "demo/demo_results.h"
#include "draw/html_page.h"

enum { WIDTH = 460, HEIGHT = 300, BINS = 32 };

/* ---- Training ---- */

typedef enum figure { LOSS, AUC } figure;

typedef struct epochs {
  size_t count;
  double x[DEMO_EPOCHS], train[DEMO_EPOCHS], valid[DEMO_EPOCHS];
} epochs;

static void take_epochs(epochs *e, const demo_model *model, figure what) {
  e->count = model->epoch_count;
  for (size_t i = 0; i < e->count; i++) {
    const demo_epoch *epoch = &model->epochs[i];
    e->x[i] = epoch->number;
    e->train[i] = what == LOSS ? epoch->train_loss : epoch->train_auc;
    e->valid[i] = what == LOSS ? epoch->valid_loss : epoch->valid_auc;
  }
}

static void draw_training(FILE *out, const demo_results *all, figure what, chart *c, double optimum,
                          const char *caption) {
  static const char *const names[DEMO_MODELS][2] = {{"FM, training", "FM, validation"},
                                                    {"DeepFM, training", "DeepFM, validation"}};
  epochs e[DEMO_MODELS];
  chart_curve curves[2 * DEMO_MODELS + 1];
  double last = 1;
  for (size_t i = 0; i < DEMO_MODELS; i++) {
    take_epochs(&e[i], &all->models[i], what);
    last = fmax(last, (double)e[i].count);
    curves[2 * i] = (chart_curve){.name = names[i][0],
                                  .x = e[i].x,
                                  .y = e[i].train,
                                  .count = e[i].count,
                                  .dashed = true,
                                  .colour = (unsigned)i + 1};
    curves[2 * i + 1] = (chart_curve){.name = names[i][1],
                                      .x = e[i].x,
                                      .y = e[i].valid,
                                      .count = e[i].count,
                                      .marks = true,
                                      .colour = (unsigned)i + 1};
  }
  const double ends[2] = {1, last}, level[2] = {optimum, optimum};
  curves[2 * DEMO_MODELS] = (chart_curve){.name = "the truth", .x = ends, .y = level, .count = 2, .colour = 6};
  c->curves = curves;
  c->count = 2 * DEMO_MODELS + 1;
  c->width = WIDTH;
  c->height = HEIGHT;
  page_chart(out, c, caption);
}

void figure_training(FILE *out, const demo_results *all) {
  chart loss = {.title = "Loss over the epochs", .x_axis = "epoch", .y_axis = "logloss"};
  chart auc = {.title = "AUC over the epochs", .x_axis = "epoch", .y_axis = "AUC"};
  draw_training(out, all, LOSS, &loss, all->truth.logloss,
                "Lower is better. The loss of training rows is measured while the model is still learning from them. "
                "The grey line is the loss of the true probabilities on the test rows, which is the best that a model "
                "can reach on new rows.");
  draw_training(out, all, AUC, &auc, all->truth.auc,
                "Higher is better: the probability that a clicked row gets a higher score than one that was not "
                "clicked. Where training keeps rising and validation does not, the model overfits.");
}

/* ---- Quality ---- */

/* A dot for each predictor on its own line, the best on top. */
static void draw_quality(FILE *out, const demo_results *all, chart *c, figure what, double nothing, double truth,
                         const char *caption) {
  static const char *const names[] = {"click rate", "FM", "DeepFM", "the truth"};
  const double y[] = {0, 1, 2, 3};
  double x[4] = {nothing, 0, 0, truth};
  char texts[4][PAGE_NUMBER];
  const char *labels[4];
  for (size_t i = 0; i < DEMO_MODELS; i++) x[1 + i] = what == LOSS ? all->models[i].logloss : all->models[i].auc;
  for (size_t i = 0; i < 4; i++) {
    snprintf(texts[i], sizeof texts[i], "%.4f", x[i]);
    labels[i] = texts[i];
  }
  chart_curve curves[4];
  static const unsigned colours[] = {6, 1, 2, 3};
  for (size_t i = 0; i < 4; i++)
    curves[i] = (chart_curve){.x = &x[i],
                              .y = &y[i],
                              .count = 1,
                              .marks = true,
                              .colour = colours[i],
                              .labels = &labels[i],
                              .shape = CHART_LINE};
  c->curves = curves;
  c->count = 4;
  c->width = WIDTH;
  c->height = 210;
  c->y_names = names;
  c->y_name_count = 4;
  page_chart(out, c, caption);
}

void figure_quality(FILE *out, const demo_results *all) {
  chart loss = {.title = "Logloss of the test rows", .x_axis = "logloss (lower is better)"};
  chart auc = {.title = "AUC of the test rows", .x_axis = "AUC (higher is better)"};
  draw_quality(out, all, &loss, LOSS, all->truth.rate_logloss, all->truth.logloss,
               "“Click rate” predicts the same for every row; “the truth” predicts the probability with which the "
               "click was drawn. Models lie between the two.");
  draw_quality(out, all, &auc, AUC, 0.5, all->truth.auc,
               "The same rows. Even the true probabilities do not reach 1, because clicks are random.");
}

void figure_ranking(FILE *out, const demo_results *all) {
  static const char *const names[] = {"most popular", "FM", "DeepFM", "recommender"};
  enum { RANKINGS = DEMO_MODELS + 2 };
  static const double y[RANKINGS] = {0, 1, 2, 3};
  static const unsigned colours[RANKINGS] = {6, 1, 2, 3};
  const double x[RANKINGS] = {all->popular, all->models[0].ranking.ndcg, all->models[1].ranking.ndcg,
                              all->recommender.ndcg};
  char texts[RANKINGS][PAGE_NUMBER];
  const char *labels[RANKINGS];
  chart_curve curves[RANKINGS];
  for (size_t i = 0; i < RANKINGS; i++) {
    snprintf(texts[i], sizeof texts[i], "%.4f", x[i]);
    labels[i] = texts[i];
    curves[i] = (chart_curve){.x = &x[i],
                              .y = &y[i],
                              .count = 1,
                              .marks = true,
                              .colour = colours[i],
                              .labels = &labels[i],
                              .shape = CHART_LINE};
  }
  const chart c = {.title = "Recommendations: NDCG@10",
                   .x_axis = "NDCG@10 (higher is better)",
                   .curves = curves,
                   .count = RANKINGS,
                   .y_names = names,
                   .y_name_count = RANKINGS,
                   .width = WIDTH,
                   .height = 210};
  page_chart(out, &c,
             "Each user gets ten items out of all that they were not shown before; those that they clicked on in the "
             "test rows count, the more the further up they stand. “Most popular” gives everyone the items with the "
             "most clicks. FM and DeepFM sort all items by the probability of a click, which they were trained for.");
}

void figure_calibration(FILE *out, const demo_results *all) {
  static const double ends[2] = {0, 1};
  double x[DEMO_MODELS][DEMO_BINS], y[DEMO_MODELS][DEMO_BINS];
  chart_curve curves[DEMO_MODELS + 1];
  for (size_t i = 0; i < DEMO_MODELS; i++) {
    size_t count = 0;
    for (size_t b = 0; b < DEMO_BINS; b++) {
      const demo_bin *bin = &all->models[i].bins[b];
      if (!(bin->rows >= 20)) continue; /* the mean of a handful of rows is mostly noise */
      x[i][count] = bin->mean_prediction;
      y[i][count++] = bin->mean_label;
    }
    curves[i] = (chart_curve){.name = all->models[i].title, .x = x[i], .y = y[i], .count = count, .marks = true};
  }
  curves[DEMO_MODELS] =
      (chart_curve){.name = "perfect calibration", .x = ends, .y = ends, .count = 2, .dashed = true, .colour = 6};
  const chart c = {.title = "Calibration",
                   .x_axis = "predicted probability of a click",
                   .y_axis = "share of clicked rows",
                   .curves = curves,
                   .count = DEMO_MODELS + 1,
                   .unit = true,
                   .width = WIDTH,
                   .height = HEIGHT};
  page_chart(out, &c,
             "Test rows in ten bins of the predicted probability. On the dashed line, 30 % of the rows with a "
             "prediction of 30 % were clicked.");
}

/* ---- Embeddings ---- */

/* Items ordered by category; the names are drawn at the centres. */
typedef struct sorted_plane {
  double *x, *y;
  size_t first[DEMO_CATEGORIES + 1];
  double middle_x[DEMO_CATEGORIES], middle_y[DEMO_CATEGORIES];
  const char *names[DEMO_CATEGORIES];
} sorted_plane;

static void sort_plane(sorted_plane *s, const demo_results *all, size_t axis) {
  size_t place = 0;
  for (unsigned t = 0; t < DEMO_CATEGORIES; t++) {
    s->first[t] = place;
    s->names[t] = demo_category(t);
    s->middle_x[t] = s->middle_y[t] = 0;
    for (size_t i = 0; i < all->plane.count; i++) {
      if (all->world.items[all->plane.items[i]].category != t) continue;
      s->middle_x[t] += s->x[place] = all->plane.axes[axis][i];
      s->middle_y[t] += s->y[place++] = all->plane.axes[axis + 1][i];
    }
    const double n = fmax((double)(place - s->first[t]), 1);
    s->middle_x[t] /= n;
    s->middle_y[t] /= n;
  }
  s->first[DEMO_CATEGORIES] = place;
}

static void draw_plane(FILE *out, const demo_results *all, const sorted_plane *s, size_t axis) {
  static const char *const names[DEMO_AXES] = {"first", "second", "third", "fourth"};
  chart_curve curves[DEMO_CATEGORIES + 1];
  char x_axis[64], y_axis[64];
  for (unsigned t = 0; t < DEMO_CATEGORIES; t++)
    curves[t] = (chart_curve){.name = s->names[t],
                              .x = s->x + s->first[t],
                              .y = s->y + s->first[t],
                              .count = s->first[t + 1] - s->first[t],
                              .shape = CHART_POINTS,
                              .colour = t + 1};
  curves[DEMO_CATEGORIES] = (chart_curve){
      .x = s->middle_x, .y = s->middle_y, .count = DEMO_CATEGORIES, .shape = CHART_WORDS, .labels = s->names};
  snprintf(x_axis, sizeof x_axis, "%s principal axis (%.0f %% of the variance)", names[axis],
           100 * all->plane.share[axis]);
  snprintf(y_axis, sizeof y_axis, "%s (%.0f %%)", names[axis + 1], 100 * all->plane.share[axis + 1]);
  const chart c = {.title = axis ? "The same items along two other axes" : "The item vectors of FM",
                   .x_axis = x_axis,
                   .y_axis = y_axis,
                   .curves = curves,
                   .count = DEMO_CATEGORIES + 1,
                   .plain = true,
                   .width = WIDTH,
                   .height = 400};
  page_chart(out, &c,
             axis ? "Eight categories do not fit on one plane: some that overlap in the first picture are apart here."
                  : "The vectors of the items that were shown most often, 15 numbers each, projected on their first "
                    "two principal axes. Colours show the categories.");
}

void figure_plane(FILE *out, const demo_results *all) {
  sorted_plane s = {.x = calloc(all->plane.count + 1, sizeof *s.x), .y = calloc(all->plane.count + 1, sizeof *s.y)};
  for (size_t axis = 0; s.x && s.y && axis < DEMO_AXES; axis += 2) {
    sort_plane(&s, all, axis);
    draw_plane(out, all, &s, axis);
  }
  free(s.x);
  free(s.y);
}

/* ---- The index ---- */

/* Items of the list whose ids the field holds, eight bytes each; negative: the field is not the ids of a list. */
static double list_size(const demo_field *field) {
  const char *name = field->name;
  if (strncmp(name, "lists/", 6) != 0 || name[6] < '0' || name[6] > '9') return -1;
  return strcmp(strrchr(name, '/'), "/ids") == 0 ? field->size / 8 : -1;
}

static double largest_list(const demo_results *all) {
  double most = 1;
  for (size_t i = 0; i < all->field_count; i++) most = fmax(most, list_size(&all->fields[i]));
  return most;
}

void figure_lists(FILE *out, const demo_results *all) {
  const demo_index *index = &all->indexes[0];
  const double largest = largest_list(all), step = fmax(1, chart_step(largest / 2.5));
  double x[BINS] = {0}, y[BINS] = {0};
  char hint_text[BINS][64], caption[256];
  const char *hints[BINS];
  size_t count = (size_t)fmin(BINS, floor(largest / step) + 1);
  for (size_t i = 0; i < all->field_count; i++) {
    const double size = list_size(&all->fields[i]);
    if (size >= 0) y[(size_t)fmin(BINS - 1, floor(size / step))]++;
  }
  for (size_t i = 0; i < count; i++) {
    x[i] = ((double)i + 0.5) * step;
    snprintf(hint_text[i], sizeof hint_text[i], "%g to %g items: %g lists", (double)i * step,
             (double)(i + 1) * step - 1, y[i]);
    hints[i] = hint_text[i];
  }
  const chart_curve bars = {.x = x, .y = y, .count = count, .shape = CHART_BARS, .bar = step, .hints = hints};
  const chart c = {.title = "Sizes of the lists",
                   .x_axis = "items in a list",
                   .y_axis = "lists",
                   .curves = &bars,
                   .count = 1,
                   .width = WIDTH,
                   .height = HEIGHT};
  snprintf(caption, sizeof caption,
           "%g lists with %.0f items on average. Imbalance %.2f: a search compares that many times more items than "
           "with lists of equal size.",
           index->nlist, index->mean_list, index->imbalance);
  page_chart(out, &c, caption);
}

typedef struct frontier {
  size_t count;
  double x[DEMO_POINTS], y[DEMO_POINTS];
  char label_text[DEMO_POINTS][16], hint_text[DEMO_POINTS][96];
  const char *labels[DEMO_POINTS], *hints[DEMO_POINTS];
} frontier;

static void take_frontier(frontier *f, const demo_index *index) {
  f->count = index->point_count;
  for (size_t i = 0; i < f->count; i++) {
    const demo_point *point = &index->points[i];
    f->x[i] = point->recall;
    f->y[i] = point->queries_per_second;
    snprintf(f->label_text[i], sizeof f->label_text[i], "%g", point->nprobe);
    snprintf(f->hint_text[i], sizeof f->hint_text[i], "%g lists: recall %.3f, %.0f queries per second", point->nprobe,
             point->recall, point->queries_per_second);
    f->labels[i] = f->label_text[i];
    f->hints[i] = f->hint_text[i];
  }
}

void figure_recall(FILE *out, const demo_results *all) {
  frontier fronts[DEMO_INDEXES] = {0};
  chart_curve curves[DEMO_INDEXES];
  for (size_t i = 0; i < DEMO_INDEXES; i++) {
    take_frontier(&fronts[i], &all->indexes[i]);
    curves[i] = (chart_curve){.name = all->indexes[i].title,
                              .x = fronts[i].x,
                              .y = fronts[i].y,
                              .count = fronts[i].count,
                              .marks = true,
                              .labels = fronts[i].labels,
                              .hints = fronts[i].hints};
  }
  const chart c = {.title = "Recall and speed",
                   .x_axis = "recall@10: share of the 10 nearest that is found",
                   .y_axis = "queries per second",
                   .curves = curves,
                   .count = DEMO_INDEXES,
                   .log_y = true,
                   .width = WIDTH,
                   .height = 360};
  page_chart(
      out, &c,
      "The numbers at the points are probed lists (nprobe). Right and up is better. Codes alone are too coarse to "
      "order near items; with the vectors deciding among the best forty, the search finds nearly all.");
}

/* ---- The bytes of the index ---- */

/* Pixels: width, height and number of the lines of the picture. */
enum { ACROSS = 960, LINE = 22, LINES = 12 };

typedef enum part { HEAD, CENTROIDS, QUANTIZER, SIZES, CODES, IDS, PARTS } part;

static const struct {
  const char *name, *what;
  unsigned colour;
} parts[PARTS] = {[HEAD] = {"numbers", "sizes, kinds and settings", 6},
                  [CENTROIDS] = {"centroids of the lists", "a vector for each list", 4},
                  [QUANTIZER] = {"centroids of the codes", "the sub-vectors that the bytes of a code stand for", 5},
                  [SIZES] = {"sizes of the lists", "eight bytes for each", 3},
                  [CODES] = {"codes", "a few bytes for each item", 1},
                  [IDS] = {"ids", "eight bytes for each item", 2}};

static part part_of(const char *name) {
  if (path_ends(name, "/codes")) return CODES;
  if (path_ends(name, "/ids")) return IDS;
  if (strcmp(name, "lists/sizes") == 0) return SIZES;
  if (strcmp(name, "pq/centroids") == 0) return QUANTIZER;
  return strcmp(name, "quantizer/vectors") == 0 ? CENTROIDS : HEAD;
}

/* Draws a rectangle for each line that the field covers. */
static void draw_field(FILE *out, const demo_field *field, double scale) {
  double from = field->offset * scale;
  const double to = from + field->size * scale;
  while (from < to - 1e-9) {
    const double line = floor(from / ACROSS + 1e-12), end = fmin(to, (line + 1) * ACROSS);
    if (end - from > 0.2) {
      fprintf(out, "<rect class=\"m%u\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"><title>",
              parts[part_of(field->name)].colour - 1, from - line * ACROSS, line * (LINE + 4),
              fmax(end - from - 0.6, 0.3), LINE);
      markup_text(out, field->name);
      fprintf(out, ": byte %.0f, %.0f bytes</title></rect>\n", field->offset, field->size);
    }
    from = end;
  }
}

static void put_part_table(FILE *out, const double sizes[PARTS], double all) {
  char bytes[PAGE_NUMBER];
  fputs("<div class=\"scroll\"><table><tr><th>part</th><th class=\"n\">bytes</th><th class=\"n\">share</th><th>what "
        "it is</th></tr>\n",
        out);
  for (size_t p = 0; p < PARTS; p++)
    fprintf(out,
            "<tr><td><svg class=\"swatch\" viewBox=\"0 0 1 1\"><rect class=\"m%u\" width=\"1\" "
            "height=\"1\"/></svg>%s</td><td class=\"n\">%s</td><td class=\"n\">%.1f %%</td><td>%s</td></tr>\n",
            parts[p].colour - 1, parts[p].name, page_bytes(bytes, sizes[p]), 100 * sizes[p] / all, parts[p].what);
  fputs("</table></div>\n", out);
}

void figure_bytes(FILE *out, const demo_results *all) {
  const double bytes = fmax(all->indexes[0].bytes, 1), scale = (double)ACROSS * LINES / bytes;
  double sizes[PARTS] = {0};
  char text[PAGE_NUMBER];
  page_figure(out, "The bytes of the index file", true);
  fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"the parts of the index file in their order\">\n",
          ACROSS, LINES * (LINE + 4));
  for (size_t i = 0; i < all->field_count; i++) {
    draw_field(out, &all->fields[i], scale);
    sizes[part_of(all->fields[i].name)] += all->fields[i].size;
  }
  fprintf(out,
          "</svg>\n<figcaption>%s in the order of the file, line by line; point at a part to see its name and offset. "
          "Codes and ids alternate, list by list.</figcaption>\n",
          page_bytes(text, bytes));
  page_figure_end(out);
  put_part_table(out, sizes, bytes);
}

/* ---- The tree of a model ---- */

static void put_entry(FILE *out, const char *name, const char *value) {
  fprintf(out, "<dt>%s</dt><dd>", name);
  markup_text(out, value);
  fputs("</dd>", out);
}

static void put_number(FILE *out, const char *name, double value, int digits) {
  fprintf(out, "<dt>%s</dt><dd>%.*g</dd>", name, digits, value);
}

static void put_matrix(FILE *out, const demo_matrix *matrix) {
  char rows[PAGE_NUMBER], columns[PAGE_NUMBER], bytes[PAGE_NUMBER];
  fputs("<li><details><summary><code>", out);
  markup_text(out, matrix->name);
  fprintf(out, "</code> <span class=\"soft\">%s × %s, %g %s, %s</span></summary><dl>",
          page_count(rows, matrix->saved_rows), page_count(columns, matrix->columns), matrix->partitions,
          matrix->partitions == 1 ? "partition" : "partitions", page_bytes(bytes, matrix->bytes));
  put_entry(out, "format", matrix->format);
  put_entry(out, "row type", matrix->row_type);
  put_entry(out, "layer", matrix->layer);
  put_number(out, "rows in the metadata", matrix->rows, 9);
  put_number(out, "columns per partition", matrix->block_columns, 9);
  put_number(out, "data files", matrix->files, 9);
  put_number(out, "elements", matrix->elements, 12);
  put_number(out, "smallest", matrix->min, 4);
  put_number(out, "largest", matrix->max, 4);
  put_number(out, "mean", matrix->mean, 3);
  put_number(out, "deviation", matrix->deviation, 3);
  fputs("</dl></details></li>\n", out);
}

void figure_tree(FILE *out, const demo_model *model) {
  fprintf(out,
          "<ul class=\"tree\"><li><code>%s.model/</code>\n<ul>\n<li><code>graph.json</code> <span "
          "class=\"soft\">layers and settings</span></li>\n",
          model->name);
  for (size_t i = 0; i < model->matrix_count; i++) put_matrix(out, &model->matrices[i]);
  fputs("</ul></li></ul>\n", out);
}
