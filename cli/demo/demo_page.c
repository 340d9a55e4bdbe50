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
static double learned_share(const demo_results *all, size_t model) {
  const double way = all->truth.rate_logloss - all->truth.logloss;
  return fmax(0, (all->truth.rate_logloss - all->models[model].logloss) / way);
}

/* Seconds of a single query with the demo's nprobe; NaN: not measured. */
static double query_seconds(const demo_results *all, size_t index) {
  const demo_point *point = demo_point_of(all, index);
  return point ? point->seconds : NAN;
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
  char text[PAGE_NUMBER], what[64];
  fputs("<div class=\"tiles\">\n", out);
  put_tile(out, page_seconds(text, all->seconds), "for the whole demo");
  put_tile(out, page_count(text, (double)all->world.size.rows), "events in the log");
  snprintf(text, sizeof text, "%.3f", all->recommender.ndcg);
  snprintf(what, sizeof what, "NDCG@10 of the recommender; popular items: %.3f", all->popular);
  put_tile(out, text, what);
  snprintf(text, sizeof text, "%.3f", all->models[0].auc);
  put_tile(out, text, "AUC of FM on later events");
  put_tile(out, page_seconds(text, step_seconds(all, "recommend to all users")), "for ten items for every user");
  fputs("</div>\n", out);
}

static void put_lead(FILE *out, const demo_results *all) {
  const demo_size *size = &all->world.size;
  char rows[PAGE_NUMBER], users[PAGE_NUMBER], items[PAGE_NUMBER], test[PAGE_NUMBER];
  fprintf(out,
          "<h1>From a raw log to recommendations</h1>\n<p class=\"lead\">Furrow generated the log of a shop: %s events "
          "in which %s users were shown %s items, as a csv file with names. It found out what the columns are, chose "
          "the best recommender for the log, recommended items to every user, by name, and trained two models of "
          "clicks. Because the log is generated, the true probability of every click is known.</p>\n",
          page_count(rows, (double)size->rows), page_count(users, size->users), page_count(items, size->items));
  fprintf(
      out,
      "<p class=\"lead\">The recommender’s ten items for a user have an NDCG of %.4f on %s later events, the ten most "
      "popular ones of %.4f. As predictions of clicks, FM has an AUC of %.4f and DeepFM of %.4f; the true "
      "probabilities have %.4f.</p>\n",
      all->recommender.ndcg, page_count(test, (double)all->truth.rows), all->popular, all->models[0].auc,
      all->models[1].auc, all->truth.auc);
  put_tiles(out, all);
}

enum { SAMPLE_LINES = 4 };

static void put_log_lines(FILE *out, const demo_results *all) {
  fputs("<div class=\"scroll\"><table><tr><th>hour</th><th>user</th><th>item</th><th>device</th><th "
        "class=\"n\">click</th></tr>\n",
        out);
  for (size_t i = 0; i < SAMPLE_LINES && i < all->train.count; i++) {
    const demo_event *event = &all->train.events[all->train.count / SAMPLE_LINES * i];
    char user[DEMO_NAME], item[DEMO_NAME];
    demo_user_name(event->user, user);
    demo_item_name(event->item, item);
    fprintf(out, "<tr><td>%02u:00</td><td>%s</td><td>%s</td><td>%s</td><td class=\"n\">%d</td></tr>\n", event->hour,
            user, item, demo_device(event->device), event->click);
  }
  fputs("</table></div>\n", out);
}

static void put_item_lines(FILE *out, const demo_results *all) {
  fputs("<div class=\"scroll\"><table><tr><th>item</th><th>title</th><th>category</th><th "
        "class=\"n\">price</th></tr>\n",
        out);
  for (size_t i = 0; i < SAMPLE_LINES && i < all->train.count; i++) {
    const uint32_t item = all->train.events[all->train.count / SAMPLE_LINES * i].item;
    const uint32_t price = demo_price(&all->world, item);
    char name[DEMO_NAME], title[DEMO_TITLE];
    demo_item_name(item, name);
    demo_title(&all->world, item, title);
    fprintf(out, "<tr><td>%s</td><td>%s</td><td>%s</td><td class=\"n\">%u.%02u</td></tr>\n", name, title,
            demo_category(all->world.items[item].category), price / 100, price % 100);
  }
  fputs("</table></div>\n", out);
}

static void put_schema(FILE *out, const furrow_schema *schema) {
  fputs("<div class=\"scroll\"><table><tr><th>column</th><th>is</th><th>role</th><th>why</th></tr>\n", out);
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    const char *const cells[] = {column.name, column.as, column.role, column.why};
    fputs("<tr>", out);
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
      fputs(c == 3 ? "<td class=\"soft wrap\">" : "<td>", out);
      markup_text(out, cells[c]);
      fputs("</td>", out);
    }
    fputs("</tr>\n", out);
  }
  fputs("</table></div>\n", out);
}

static void put_data(FILE *out, const demo_results *all) {
  char text[PAGE_NUMBER], time[PAGE_NUMBER];
  page_section(out, "data", "The log");
  fputs(
      "<p>A line of the log says when, to whom and on what device an item was shown, and whether there was a click. A "
      "second table has a title, a category and a price for each item:</p>\n<div class=\"pair\">\n",
      out);
  put_log_lines(out, all);
  put_item_lines(out, all);
  fputs("</div>\n", out);
  fprintf(
      out,
      "<p><code>furrow rows schema</code> looked at all %s of it in %s and proposed what each column is, of the log "
      "and of the table that it joins. The schema is a file to edit, <code>schema.json</code>. %.1f&nbsp;%% of the "
      "test events are clicks.</p>\n",
      page_bytes(text, (double)all->files[0].bytes), page_seconds(time, step_seconds(all, "look at the log")),
      100 * all->truth.click_rate);
  put_schema(out, all->schema);
  fputs(
      "<p>What is hidden in the log: each user likes one category, most users like a second one, and some prefer what "
      "is cheap and others what is dear. A third of the items also appeals to those who like another category, which "
      "no table says. Hour and device change the preferences, and in the evening taste counts for more.</p>\n",
      out);
  page_section_end(out);
}

static void put_models(FILE *out, const demo_results *all) {
  page_section(out, "models", "The models");
  fprintf(
      out,
      "<p>The recommender weighs the items of a user against all others; which of several ways to do that is best, "
      "<code>train</code> found out on each user’s last events. Models of clicks say how likely a click is, at this "
      "hour on this device, but are not made to order all items. A factorization machine (FM) has a weight and a "
      "vector of 15 numbers for every user, item, category, hour …; "
      "the score of an event is the sum of the weights and of the inner products of all pairs of vectors. DeepFM adds "
      "a small net over the same vectors. All were trained on the first four fifths of each user’s events, without "
      "settings but their sizes and the regularisation. FM reaches %.0f&nbsp;%% of the improvement in logloss from the "
      "click rate to the true "
      "probabilities, DeepFM %.0f&nbsp;%%.</p>\n<div class=\"pair\">\n",
      100 * learned_share(all, 0), 100 * learned_share(all, 1));
  figure_training(out, all);
  figure_quality(out, all);
  figure_ranking(out, all);
  figure_calibration(out, all);
  figure_plane(out, all);
  fputs("<div>\n<h3>Saved models</h3>\n<p class=\"soft\">Angel model directories with a folder for each matrix, the "
        "schema and the dictionary of names. Open a matrix to see its metadata.</p>\n",
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
          all->indexes[i].name, 10 * demo_recall(all, i), page_seconds(time, query_seconds(all, i)),
          page_bytes(bytes, size), size / all->world.size.items, all->indexes[i].title);
}

static void put_indexes(FILE *out, const demo_results *all) {
  page_section(out, "index", "The index");
  fprintf(out,
          "<p>FM’s score is the sum of a part that depends only on the user and an inner product of the user’s vector "
          "with that of the item. So the best items are those with the largest inner product, and an index finds them "
          "without comparing all. (<code>furrow recommend</code> makes one by itself where there are many items.) The "
          "index keeps the items in %g lists and stores each vector as a code of %g bytes; a search probes %u lists. "
          "The names are stored next to it, in a second file, so that a search prints them.</p>\n",
          all->indexes[0].nlist, all->indexes[0].code_size, all->nprobe);
  fputs("<div class=\"scroll\"><table><tr><th>file</th><th class=\"n\">of FM’s 10 best</th><th class=\"n\">a "
        "search</th><th class=\"n\">size</th><th class=\"n\">bytes per item</th><th>compares with</th></tr>\n",
        out);
  for (size_t i = 0; i < DEMO_INDEXES; i++) put_index_row(out, all, i);
  fputs("</table></div>\n<p class=\"soft\">Mean over all users, compared with an exact search. The time of a search is "
        "the median of single queries on one thread.</p>\n<div class=\"pair\">\n",
        out);
  figure_recall(out, all);
  figure_lists(out, all);
  fputs("</div>\n", out);
  figure_bytes(out, all);
  page_section_end(out);
}

/* ---- Users ---- */

/* Two cells: a share, and a bar of that length. */
static void put_chance(FILE *out, double chance) {
  enum { BAR = 90, BAR_HEIGHT = 12 };
  fprintf(out,
          "<td class=\"n\">%.0f&nbsp;%%</td><td><svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "role=\"presentation\"><rect class=\"m2\" width=\"%.1f\" height=\"%d\" rx=\"2\"/></svg></td>",
          100 * chance, BAR, BAR_HEIGHT, BAR, BAR_HEIGHT, fmax(1, BAR * chance), BAR_HEIGHT);
}

static void put_item(FILE *out, const demo_world *world, uint32_t item) {
  char title[DEMO_TITLE];
  const uint32_t price = demo_price(world, item);
  demo_title(world, item, title);
  fprintf(out, "<td>%s</td><td>%s</td><td class=\"n\">%u.%02u</td>", title, demo_category(world->items[item].category),
          price / 100, price % 100);
}

/* The categories that a user clicked on most, with counts. */
static void put_history(FILE *out, const demo_example *example) {
  bool named[DEMO_CATEGORIES] = {false};
  fprintf(out, "Clicked on %" PRIu32 " of %" PRIu32 " items shown", example->clicked, example->shown);
  for (unsigned n = 0; n < 3; n++) {
    unsigned best = DEMO_CATEGORIES;
    for (unsigned t = 0; t < DEMO_CATEGORIES; t++)
      if (!named[t] && example->clicks[t] > 0 &&
          (best == DEMO_CATEGORIES || example->clicks[t] > example->clicks[best]))
        best = t;
    if (best == DEMO_CATEGORIES) break;
    named[best] = true;
    fprintf(out, "%s%s %" PRIu32, n ? ", " : ": ", demo_category(best), example->clicks[best]);
  }
}

static void put_past(FILE *out, const demo_world *world, const demo_example *example) {
  char title[DEMO_TITLE];
  for (uint32_t i = 0; i < example->past_count; i++) {
    demo_title(world, example->past[i], title);
    fprintf(out, "%s<b>%s</b> (%s)", i ? ", " : "<p>Last clicks: ", title,
            demo_category(world->items[example->past[i]].category));
  }
  if (example->past_count > 0) fputs(".</p>\n", out);
}

/* The items of the user that speak for an item. */
static void put_reasons(FILE *out, const demo_world *world, const demo_hit *hit) {
  char title[DEMO_TITLE];
  fputs("<td class=\"wrap\">", out);
  for (size_t i = 0; i < hit->reason_count; i++) {
    demo_title(world, hit->reasons[i], title);
    fprintf(out, "%s%s", i ? ", " : "", title);
  }
  fputs("</td>", out);
}

static void put_hits(FILE *out, const demo_world *world, const demo_example *example) {
  fputs("<div class=\"scroll\"><table><tr><th>recommended</th><th>category</th><th class=\"n\">price</th><th>because "
        "of</th><th class=\"n\">true probability</th><th></th><th>later</th></tr>\n",
        out);
  for (size_t i = 0; i < DEMO_SHOWN && example->hits[i].item < world->size.items; i++) {
    const demo_hit *hit = &example->hits[i];
    fputs("<tr>", out);
    put_item(out, world, hit->item);
    put_reasons(out, world, hit);
    put_chance(out, hit->chance);
    fprintf(out, "<td>%s</td></tr>\n", hit->clicked ? "<b>clicked</b>" : hit->shown ? "shown" : "");
  }
  fputs("</table></div>\n", out);
}

static void put_user(FILE *out, const demo_world *world, const demo_example *example) {
  const demo_entity *user = &world->users[example->query.user];
  char name[DEMO_NAME];
  demo_user_name(example->query.user, name);
  fprintf(out, "<div class=\"user\"><h3>%s, at %u:00 on a %s</h3>\n<p>", name, example->query.hour,
          demo_device(example->query.device));
  put_history(out, example);
  fprintf(out, ". Likes %s%s%s, and %s items (hidden).</p>\n", demo_category(user->category),
          user->second == user->category ? "" : ", then ",
          user->second == user->category ? "" : demo_category(user->second), user->price < 0 ? "cheap" : "dear");
  put_past(out, world, example);
  put_hits(out, world, example);
  fputs("</div>\n", out);
}

static void put_users(FILE *out, const demo_results *all) {
  page_section(out, "users", "Recommendations");
  fputs("<p>What <code>furrow recommend</code> gives to six users, among the items that they were not shown before. "
        "“Because of” are the items of the user that speak most for it (<code>--explain</code>). The true probability "
        "is that of a click on the item at this hour on this device; the last column says what became "
        "of the item in the events after the training.</p>\n",
        out);
  for (size_t e = 0; e < DEMO_EXAMPLES; e++) put_user(out, &all->world, &all->examples[e]);
  page_section_end(out);
}

static void put_like(FILE *out, const demo_world *world, const demo_like *like) {
  char title[DEMO_TITLE];
  demo_title(world, like->item, title);
  fprintf(out,
          "<div class=\"scroll\"><table><tr><th class=\"wrap\">like %s (%s)</th><th>category</th><th "
          "class=\"n\">price</th><th "
          "class=\"n\">cosine</th></tr>\n",
          title, demo_category(world->items[like->item].category));
  for (size_t i = 0; i < DEMO_SHOWN && like->hits[i].item < world->size.items; i++) {
    fputs("<tr>", out);
    put_item(out, world, like->hits[i].item);
    fprintf(out, "<td class=\"n\">%.3f</td></tr>\n", like->hits[i].score);
  }
  fputs("</table></div>\n", out);
}

static void put_likes(FILE *out, const demo_results *all) {
  page_section(out, "similar", "Similar items");
  fputs("<p><code>furrow recommend --like ITEM</code> compares items, here by FM’s vectors. These are the most "
        "frequent items "
        "of "
        "six categories and the nearest to each.</p>\n<div class=\"pair\">\n",
        out);
  for (size_t i = 0; i < DEMO_LIKE; i++) put_like(out, &all->world, &all->likes[i]);
  fputs("</div>\n", out);
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
    fprintf(out, "<tr><td class=\"wrap\">%s</td>", step->title);
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
        "of the demo itself.</p>\n<div class=\"pair\">\n<div>",
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
  page_begin(file.out, "Furrow: from a raw log to recommendations");
  put_lead(file.out, all);
  put_data(file.out, all);
  put_users(file.out, all);
  put_likes(file.out, all);
  put_models(file.out, all);
  put_indexes(file.out, all);
  put_costs(file.out, all);
  put_commands(file.out, all);
  fprintf(file.out, "<footer>furrow %s, seed %" PRIu64 "</footer>\n", furrow_version(), all->world.size.seed);
  page_end(file.out);
  return text_file_end(&file, path, true, err);
}
