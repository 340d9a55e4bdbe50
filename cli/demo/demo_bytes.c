/* cli/demo/demo_bytes.c: the index file as a picture of its bytes, the model as a tree of its matrices. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/text_file.h"
#include "demo/demo_figures.h"
#include "draw/html_page.h"

/* ---- The bytes of the index ---- */

/* Pixels: a line of the picture, and how many lines it has. */
enum { ACROSS = 960, LINE = 22, LINES = 12 };

typedef enum part { HEAD, CENTROIDS, QUANTIZER, SIZES, CODES, IDS, PARTS } part;

static const struct {
  const char *name, *what;
  unsigned colour;
} parts[PARTS] = {[HEAD] = {"numbers", "sizes, kinds and settings", 6},
                  [CENTROIDS] = {"centroids of the lists", "a vector for each list", 4},
                  [QUANTIZER] = {"centroids of the codes", "what a byte of a code stands for", 5},
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

/* A field may go over the end of a line: a rectangle for each line that it is on. */
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
  page_figure(out, "The index file, byte by byte", true);
  fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"the parts of the index file in their order\">\n",
          ACROSS, LINES * (LINE + 4));
  for (size_t i = 0; i < all->field_count; i++) {
    draw_field(out, &all->fields[i], scale);
    sizes[part_of(all->fields[i].name)] += all->fields[i].size;
  }
  fprintf(out,
          "</svg>\n"
          "<figcaption>%s in the order of the file, a line after the other as in a book; point at a part to see "
          "its name and place. Ids and codes take turns, list by list.</figcaption>\n",
          page_bytes(text, bytes));
  page_figure_end(out);
  put_part_table(out, sizes, bytes);
}

/* ---- The tree of a model ---- */

static void put_fact(FILE *out, const char *name, const char *value) {
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
  put_fact(out, "format", matrix->format);
  put_fact(out, "row type", matrix->row_type);
  put_fact(out, "layer", matrix->layer);
  put_number(out, "rows on the servers", matrix->rows, 9);
  put_number(out, "columns of a partition", matrix->block_columns, 9);
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
          "<ul class=\"tree\"><li><code>%s.model/</code>\n"
          "<ul>\n"
          "<li><code>graph.json</code> <span class=\"soft\">the layers and settings</span></li>\n",
          model->name);
  for (size_t i = 0; i < model->matrix_count; i++) put_matrix(out, &model->matrices[i]);
  fputs("</ul></li></ul>\n", out);
}
