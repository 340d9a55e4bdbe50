/* cli/demo/demo_page.c: the report of the demo. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/text_file.h"
#include "demo/demo_results.h"
#include "draw/html_page.h"
#include "furrow/furrow.h"

/* ---- Figures of the text ---- */

/* Share of the possible improvement in logloss, from the click rate to the true probabilities, that a model reaches; 0
 * if it is worse than the click rate. */
static double learned(const demo_results *all, size_t model) {
  const double way = all->truth.rate_logloss - all->truth.logloss;
  return fmax(0, (all->truth.rate_logloss - all->models[model].logloss) / way);
}

/* Seconds of a single query with the demo's nprobe; NaN: not measured. */
static double query_seconds(const demo_results *all, size_t index) {
  const demo_index *searched = &all->indexes[index];
  for (size_t i = 0; i < searched->point_count; i++)
    if (searched->points[i].nprobe == all->nprobe) return searched->points[i].seconds;
  return NAN;
}

static double step_seconds(const demo_results *all, const char *title) {
  for (size_t i = 0; i < all->runner.count; i++)
    if (strcmp(all->runner.steps[i].title, title) == 0) return all->runner.steps[i].seconds;
  return NAN;
}

/* ---- The beginning ---- */

static void put_tile(FILE *out, const char *number, const char *what) {
  fprintf(out, "<div><b>%s</b><span>%s</span></div>\n", number, what);
}

static void put_tiles(FILE *out, const demo_results *all) {
  char text[PAGE_NUMBER];
  fputs("<div class=\"tiles\">\n", out);
  put_tile(out, page_seconds(text, all->seconds), "for the whole demo");
  put_tile(out, page_count(text, (double)all->world.size.rows), "events read");
  snprintf(text, sizeof text, "%.0f %%", 100 * fmax(learned(all, 0), learned(all, 1)));
  put_tile(out, text, "of the possible improvement reached by the better model");
  snprintf(text, sizeof text, "%.2f of 10", 10 * all->indexes[1].overlap);
  put_tile(out, text, "best items found by the refined index");
  put_tile(out, page_seconds(text, query_seconds(all, 1)), "per search on one thread");
  fputs("</div>\n", out);
}

static void put_lead(FILE *out, const demo_results *all) {
  const demo_size *size = &all->world.size;
  char rows[PAGE_NUMBER], users[PAGE_NUMBER], items[PAGE_NUMBER], test[PAGE_NUMBER], one[PAGE_NUMBER], two[PAGE_NUMBER];
  fprintf(out,
          "<h1>From a click log to recommendations</h1>\n<p class=\"lead\">Furrow generated a log of %s events in "
          "which %s users were shown %s items. It trained two models on the log, exported the vectors of one of them, "
          "and built an index that finds items for a user. Because the log is generated, the true probability of every "
          "click is known, and everything below is compared with it.</p>\n",
          page_count(rows, (double)size->rows), page_count(users, size->users), page_count(items, size->items));
  fprintf(out,
          "<p class=\"lead\">On %s test rows FM has a logloss of %.4f and DeepFM of %.4f; the true probabilities have "
          "%.4f, the click rate alone %.4f. An index of codes finds %.2f of the 10 items that FM scores highest for a "
          "user, in %s; an index that reranks with the vectors finds %.2f, in %s.</p>\n",
          page_count(test, (double)all->truth.rows), all->models[0].logloss, all->models[1].logloss, all->truth.logloss,
          all->truth.rate_logloss, 10 * all->indexes[0].overlap, page_seconds(one, query_seconds(all, 0)),
          10 * all->indexes[1].overlap, page_seconds(two, query_seconds(all, 1)));
  put_tiles(out, all);
}

static void put_data(FILE *out, const demo_results *all) {
  char text[PAGE_NUMBER];
  page_section(out, "data", "The data");
  fprintf(out, "<p>Each item is about one of eight topics, and some are also about a second one. Each user likes one "
               "topic, most users like a second one, and the rest matters little to them. The hour of the day and the "
               "device change the preferences, and in the evening taste counts for more. A row has four features: "
               "user, item, hour and device. The label says whether there was a click, drawn with the true "
               "probability. As in real logs, a few users and items occur very often.</p>\n");
  fprintf(out,
          "<p>%.1f %% of the test rows are clicks. The topics are listed in <code>items.tsv</code> and "
          "<code>users.tsv</code>; the models see only the numbers of users and items. The log has %s; reading it took "
          "%s.</p>\n",
          100 * all->truth.click_rate, page_bytes(text, (double)all->files[0].bytes),
          page_seconds((char[PAGE_NUMBER]){0}, step_seconds(all, "read the log")));
  page_section_end(out);
}

static void put_models(FILE *out, const demo_results *all) {
  page_section(out, "models", "The models");
  fprintf(
      out,
      "<p>A factorization machine (FM) has a weight and a vector of seven numbers for every feature; a row’s score is "
      "the sum of the weights and of the inner products of all pairs of vectors. DeepFM adds a small net over the same "
      "vectors. FM reaches %.0f&nbsp;%% of the improvement in logloss from the click rate to the true probabilities, "
      "DeepFM %.0f&nbsp;%%. The two models share %.1f of their ten best items for a user.</p>\n<div class=\"pair\">\n",
      100 * learned(all, 0), 100 * learned(all, 1), 10 * all->agreement);
  figure_training(out, all);
  figure_quality(out, all);
  figure_plane(out, all);
  figure_calibration(out, all);
  fputs("<div>\n<h3>Saved models</h3>\n<p class=\"soft\">Angel model directories with a folder for each matrix. Open a "
        "matrix to see its metadata.</p>\n",
        out);
  for (size_t i = 0; i < DEMO_MODELS; i++) figure_tree(out, &all->models[i]);
  fputs("</div>\n</div>\n", out);
  page_section_end(out);
}

/* ---- The index ---- */

static void put_index_row(FILE *out, const demo_results *all, size_t i) {
  char bytes[PAGE_NUMBER], time[PAGE_NUMBER];
  const double size = all->indexes[i].bytes;
  fprintf(out,
          "<tr><td><code>%s</code></td><td class=\"n\">%.2f</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
          "class=\"n\">%.1f</td><td>%s</td></tr>\n",
          all->indexes[i].name, 10 * all->indexes[i].overlap, page_seconds(time, query_seconds(all, i)),
          page_bytes(bytes, size), size / all->world.size.items, all->indexes[i].title);
}

static void put_indexes(FILE *out, const demo_results *all) {
  char each[PAGE_NUMBER];
  page_section(out, "index", "The index");
  fprintf(out,
          "<p>FM’s score is the sum of a part that depends only on user, hour and device and an inner product of their "
          "vector with the vector of the item. So the best items are those with the largest inner product. The index "
          "keeps the items in %g lists and stores each vector as a code of %g bytes; a search probes %u lists.</p>\n",
          all->indexes[0].nlist, all->indexes[0].code_size, all->nprobe);
  fputs("<div class=\"scroll\"><table><tr><th>file</th><th class=\"n\">of FM’s 10 best</th><th class=\"n\">a "
        "search</th><th class=\"n\">size</th><th class=\"n\">bytes per item</th><th>compares with</th></tr>\n",
        out);
  for (size_t i = 0; i < DEMO_INDEXES; i++) put_index_row(out, all, i);
  fprintf(out,
          "<tr><td>none</td><td class=\"n\">10</td><td class=\"n\">%s</td><td class=\"n\">–</td><td "
          "class=\"n\">–</td><td>every item, scored by <code>furrow predict</code></td></tr>\n"
          "</table></div>\n",
          page_seconds(each, step_seconds(all, "score with FM") / all->compared_users));
  fprintf(out,
          "<p class=\"soft\">Results for %u users, compared with the exact scores of all items. The time of a search "
          "is the median of single queries on one thread; the time of scoring all items is one run for all these "
          "users, with reading and writing files, divided by their number.</p>\n<div class=\"pair\">\n",
          all->compared_users);
  figure_recall(out, all);
  figure_lists(out, all);
  fputs("</div>\n", out);
  figure_bytes(out, all);
  page_section_end(out);
}

/* ---- Users ---- */

/* Pixels of the bars that show the parts of a score. */
enum { BAR = 150, BAR_HEIGHT = 14 };

/* The largest extent of the bars to the left and to the right of zero, over all users. */
typedef struct reach {
  double left, right;
} reach;

static reach find_reach(const demo_results *all) {
  reach most = {0, 1e-9};
  for (size_t e = 0; e < DEMO_EXAMPLES; e++) {
    for (size_t i = 0; i < DEMO_SHOWN; i++) {
      const demo_hit *hit = &all->examples[e].hits[i];
      most.right = fmax(most.right, fmax(hit->user_item, 0) + fmax(hit->context_item, 0) + fmax(hit->item_own, 0));
      most.left = fmax(most.left, -(fmin(hit->user_item, 0) + fmin(hit->context_item, 0) + fmin(hit->item_own, 0)));
    }
  }
  return most;
}

/* Positive parts extend to the right of the line, negative ones to the left. */
static void put_parts(FILE *out, const demo_hit *hit, reach most) {
  const double values[3] = {hit->user_item, hit->context_item, hit->item_own};
  const double scale = (BAR - 2) / (most.left + most.right), zero = 1 + most.left * scale;
  double right = zero, left = zero;
  fprintf(out,
          "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\"><title>user and item %.3f, hour and "
          "device with item %.3f, item itself %.3f</title>",
          BAR, BAR_HEIGHT, BAR, BAR_HEIGHT, values[0], values[1], values[2]);
  for (unsigned p = 0; p < 3; p++) {
    const double width = fabs(values[p]) * scale;
    if (values[p] < 0) left -= width;
    fprintf(out, "<rect class=\"m%u\" x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"%d\"/>", p,
            values[p] < 0 ? left : right, width, BAR_HEIGHT - 2);
    if (values[p] >= 0) right += width;
  }
  fprintf(out, "<path class=\"frame\" d=\"M%.1f 0V%d\"/></svg>", zero, BAR_HEIGHT);
}

static void put_hit(FILE *out, const demo_results *all, const demo_hit *hit, reach most) {
  const demo_entity *item = &all->world.items[hit->item];
  char title[DEMO_TITLE];
  demo_title(&all->world, hit->item, title);
  fprintf(out,
          "<tr><td>%s</td><td>%s%s%s</td><td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td class=\"n\">"
          "%" PRIu32 "</td><td>",
          title, demo_topic(item->topic), item->second == item->topic ? "" : ", ",
          item->second == item->topic ? "" : demo_topic(item->second), hit->exact, hit->by_index, hit->exact_rank);
  put_parts(out, hit, most);
  fprintf(out, "</td><td class=\"n\">%.0f %%</td></tr>\n", 100 * hit->chance);
}

/* The topics that a user clicked on most, with counts. */
static void put_history(FILE *out, const demo_example *example) {
  bool named[DEMO_TOPICS] = {false};
  fprintf(out, "clicked %" PRIu32 " of %" PRIu32 " items shown: ", example->clicked, example->shown);
  for (unsigned n = 0; n < 3; n++) {
    unsigned best = DEMO_TOPICS;
    for (unsigned t = 0; t < DEMO_TOPICS; t++)
      if (!named[t] && example->seen[t] > 0 && (best == DEMO_TOPICS || example->seen[t] > example->seen[best]))
        best = t;
    if (best == DEMO_TOPICS) return;
    named[best] = true;
    fprintf(out, "%s%s %" PRIu32, n ? ", " : "", demo_topic(best), example->seen[best]);
  }
}

static void put_user(FILE *out, const demo_results *all, const demo_example *example, reach most) {
  const demo_entity *user = &all->world.users[example->query.user];
  fprintf(out, "<div class=\"user\"><h3>User %" PRIu32 ", at %" PRIu32 ":00 on a %s</h3>\n<p>Likes %s%s%s (hidden); ",
          example->query.user, example->query.hour, demo_device(example->query.device), demo_topic(user->topic),
          user->second == user->topic ? "" : ", then ", user->second == user->topic ? "" : demo_topic(user->second));
  put_history(out, example);
  fputs(".</p>\n<div class=\"scroll\"><table><tr><th>item found</th><th>topic (hidden)</th><th class=\"n\">exact "
        "score</th><th class=\"n\">index score</th><th class=\"n\">exact rank</th><th>parts of the score</th><th "
        "class=\"n\">true probability</th></tr>\n",
        out);
  for (size_t i = 0; i < DEMO_SHOWN; i++) put_hit(out, all, &example->hits[i], most);
  fputs("</table></div></div>\n", out);
}

static void put_users(FILE *out, const demo_results *all) {
  static const chart_curve parts[] = {{.name = "user and item", .shape = CHART_BARS},
                                      {.name = "hour and device with item", .shape = CHART_BARS},
                                      {.name = "item itself", .shape = CHART_BARS}};
  const chart key = {.curves = parts, .count = 3};
  const reach most = find_reach(all);
  page_section(out, "users", "Recommendations");
  fputs("<p>The items that the index of codes found for six users. The exact score is the model’s, the index score is "
        "computed from the code; the rank is the item’s place among all items by exact score. The bar shows the parts "
        "of the score that depend on the item; the part of user, hour and device alone is the same for all items and "
        "is left out.</p>\n",
        out);
  page_key(out, &key);
  for (size_t e = 0; e < DEMO_EXAMPLES; e++) put_user(out, all, &all->examples[e], most);
  page_section_end(out);
}

/* ---- Time, size, commands ---- */

static void put_bar(FILE *out, double share, unsigned colour) {
  fprintf(out,
          "<td class=\"bar\"><svg width=\"100%%\" height=\"10\" role=\"presentation\"><rect class=\"m%u\" "
          "width=\"%.2f%%\" height=\"10\" rx=\"2\"/></svg></td>",
          colour, fmax(100 * share, 0.4));
}

static void put_times(FILE *out, const demo_results *all) {
  char time[PAGE_NUMBER], cpu[PAGE_NUMBER], memory[PAGE_NUMBER];
  double most = 1e-9;
  for (size_t i = 0; i < all->runner.count; i++) most = fmax(most, all->runner.steps[i].seconds);
  fputs("<div class=\"scroll\"><table><tr><th>step</th><th></th><th class=\"n\">time</th><th "
        "class=\"n\">processor</th><th class=\"n\">memory</th></tr>\n",
        out);
  for (size_t i = 0; i < all->runner.count; i++) {
    const demo_step *step = &all->runner.steps[i];
    fprintf(out, "<tr><td>%s</td>", step->title);
    put_bar(out, step->seconds / most, step->command ? 0 : 5);
    fprintf(out, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
            page_seconds(time, step->seconds), page_seconds(cpu, step->cpu_seconds),
            step->memory ? page_bytes(memory, (double)step->memory) : "–");
  }
  fputs("</table></div>\n", out);
}

static void put_sizes(FILE *out, const demo_results *all) {
  char bytes[PAGE_NUMBER];
  double most = 1;
  for (size_t i = 0; i < all->file_count; i++) most = fmax(most, (double)all->files[i].bytes);
  fputs("<div class=\"scroll\"><table><tr><th>file</th><th></th><th class=\"n\">size</th></tr>\n", out);
  for (size_t i = 0; i < all->file_count; i++) {
    fprintf(out, "<tr><td><code>%s</code></td>", all->files[i].name);
    put_bar(out, (double)all->files[i].bytes / most, 2);
    fprintf(out, "<td class=\"n\">%s</td></tr>\n", page_bytes(bytes, (double)all->files[i].bytes));
  }
  fputs("</table></div>\n", out);
}

static void put_costs(FILE *out, const demo_results *all) {
  page_section(out, "costs", "Time and size");
  fputs("<p>Each step runs as a separate process, so its time includes reading and writing files. Grey bars are steps "
        "of the demo itself, which generate data.</p>\n<div class=\"pair\">\n<div>",
        out);
  put_times(out, all);
  fputs("</div>\n<div>", out);
  put_sizes(out, all);
  fputs("</div>\n</div>\n", out);
  page_section_end(out);
}

static void put_commands(FILE *out, const demo_results *all) {
  page_section(out, "commands", "The commands");
  fputs("<p>To repeat a step, run its command in the folder of this report:</p>\n<pre>", out);
  for (size_t i = 0; i < all->runner.count; i++) {
    const demo_step *step = &all->runner.steps[i];
    fprintf(out, step->command ? "" : "<i># ");
    markup_text(out, step->line);
    fputs(step->command ? "\n" : "</i>\n", out);
  }
  fputs("</pre>\n", out);
  page_section_end(out);
}

furrow_status demo_page_write(const demo_results *all, const char *path, furrow_error *err) {
  text_file file;
  furrow_status status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  page_begin(file.out, "Furrow: from a click log to recommendations");
  put_lead(file.out, all);
  put_data(file.out, all);
  put_models(file.out, all);
  put_indexes(file.out, all);
  put_users(file.out, all);
  put_costs(file.out, all);
  put_commands(file.out, all);
  fprintf(file.out, "<footer>furrow %s, seed %" PRIu64 "</footer>\n", furrow_version(), all->world.size.seed);
  page_end(file.out);
  return text_file_end(&file, path, true, err);
}
