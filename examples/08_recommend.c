/* examples/08_recommend.c: from a raw log to recommended items, by name.
 *
 *   08_recommend [DIR]     an existing folder for the encoder and the model; without DIR, a temporary one
 *
 * The program makes a log of ratings and a table of books, both in memory. It proposes a schema, learns the dictionary,
 * trains a factorization machine, scores one event, and prints books for a reader.
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG "memory://ratings.csv"
#define BOOKS "memory://books.csv"

enum { READERS = 60, TITLES = 96, TOPICS = 4, BEST = 3 };

static const char *const topics[TOPICS] = {"cooking", "gardens", "stars", "chess"};
static char log_text[1 << 18], book_text[1 << 13];

/* Readers like one topic: reader r likes topic r % 4, and book b is about topic b % 4. */
static furrow_status make_data(furrow_error *err) {
  size_t used = (size_t)sprintf(log_text, "reader,book,rating,time\n");
  unsigned draw = 1;
  for (unsigned n = 0; n < 4000; n++) {
    draw = draw * 1664525 + 1013904223;
    const unsigned reader = (draw >> 8) % READERS, book = (draw >> 18) % TITLES, luck = draw >> 30;
    const unsigned rating = (reader % TOPICS == book % TOPICS ? 4 : 2) + luck / 2;
    used += (size_t)sprintf(log_text + used, "reader-%u,book-%u,%u,%u\n", reader, book, rating, 1700000000 + 60 * n);
  }
  furrow_status status = furrow_memory_file_add(LOG, log_text, used, NULL, NULL, err);
  used = (size_t)sprintf(book_text, "book,title\n");
  for (unsigned b = 0; b < TITLES; b++)
    used +=
        (size_t)sprintf(book_text + used, "book-%u,\"More about %s, volume %u\"\n", b, topics[b % TOPICS], b / TOPICS);
  return status == FURROW_OK ? furrow_memory_file_add(BOOKS, book_text, used, NULL, NULL, err) : status;
}

/* What is each column, and which values does it have? */
static furrow_status make_encoder(const char *folder, furrow_error *err) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.user = "reader"; /* names that the proposal knows need not be given: rating, time */
  params.item = "book";
  furrow_status status = furrow_schema_propose(&schema, LOG, &params, err);
  for (size_t i = 0; status == FURROW_OK && i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    printf("%s: %s\n", column.name, column.as);
  }
  if (status == FURROW_OK) status = furrow_encoder_build(&encoder, LOG, schema, NULL, err);
  if (status == FURROW_OK) status = furrow_encoder_save(encoder, folder, false, err);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  return status;
}

/* With the key `encoder`, the data is a raw log. The model keeps copies of the two files. */
static furrow_status train(const char *encoder, const char *model, furrow_error *err) {
  char setting[1100];
  snprintf(setting, sizeof setting, "encoder=%s", encoder);
  return furrow_train(NULL, "fm", LOG, model,
                      &FURROW_INIT(furrow_train_params, .settings = (const char *const[]){setting, NULL}), err);
}

/* The rating that a reader would give to a book. */
static furrow_status score_event(const furrow_scorer *scorer, const char *reader, const char *book, double *rating,
                                 furrow_error *err) {
  const furrow_pair event[] = {{"reader", reader}, {"book", book}};
  furrow_scorer_scratch *scratch = NULL;
  furrow_container *rows = NULL;
  furrow_rowblock block;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, err);
  if (status == FURROW_OK) status = furrow_encoder_push_event(furrow_scorer_encoder(scorer), event, 2, rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  if (status == FURROW_OK) status = furrow_scorer_scratch_create(&scratch, scorer, err);
  if (status == FURROW_OK) {
    const furrow_row row = furrow_rowblock_row(&block, 0);
    furrow_score score;
    status = furrow_scorer_score_row(scorer, scratch, &row, &score, err);
    if (status == FURROW_OK) *rating = score.pred;
  }
  furrow_scorer_scratch_free(scratch);
  furrow_container_free(rows);
  return status;
}

/* Reader 7 likes topic 3, chess: book 11 is about it, book 12 is not. */
static furrow_status score(const char *model, int *wrong, furrow_error *err) {
  furrow_scorer *scorer = NULL;
  double liked = 0, other = 0;
  furrow_status status = furrow_scorer_load(&scorer, model, NULL, err);
  if (status == FURROW_OK) status = score_event(scorer, "reader-7", "book-11", &liked, err);
  if (status == FURROW_OK) status = score_event(scorer, "reader-7", "book-12", &other, err);
  if (status == FURROW_OK) printf("reader-7 gives %.1f to book-11 and %.1f to book-12\n", liked, other);
  *wrong += !(liked > other + 1);
  furrow_scorer_free(scorer);
  return status;
}

static void print_best(const furrow_recommender *recommender, const furrow_item_table *titles,
                       const furrow_recommendation *best, int *wrong) {
  for (size_t i = 0; i < BEST; i++) {
    const char *title = best[i].item == FURROW_NO_ITEM ? "nothing" : furrow_item_table_get(titles, best[i].item, 0);
    printf("%zu. %s (%s)\n", i + 1, title, furrow_recommender_item_name(recommender, best[i].item));
    *wrong += !strstr(title, "chess");
  }
}

static furrow_status recommend(const char *model, int *wrong, furrow_error *err) {
  furrow_recommender *recommender = NULL;
  furrow_events *seen = NULL;
  furrow_item_table *titles = NULL;
  furrow_recommendation best[BEST];
  furrow_recommend_params params = FURROW_INIT(furrow_recommend_params);
  uint64_t user;
  params.k = BEST;
  furrow_status status = furrow_recommender_open(&recommender, model, NULL, err);
  if (status == FURROW_OK)
    status = furrow_item_table_load(&titles, recommender, BOOKS, (const char *const[]){"title"}, 1, err);
  if (status == FURROW_OK) status = furrow_events_load(&seen, recommender, LOG, NULL, err);
  params.seen = seen; /* nothing that the reader knows already */
  if (status == FURROW_OK) status = furrow_recommender_find_user(recommender, "reader-7", 8, &user, err);
  if (status == FURROW_OK) status = furrow_recommender_recommend(recommender, &user, 1, &params, best, err);
  if (status == FURROW_OK) print_best(recommender, titles, best, wrong);
  furrow_events_free(seen);
  furrow_item_table_free(titles);
  furrow_recommender_free(recommender);
  return status;
}

int main(int argc, char **argv) {
  char folder[] = "08_recommend.XXXXXX", encoder[1024], model[1024], command[64];
  int wrong = 0;
  furrow_error err;
  if (argc < 2 && !mkdtemp(folder)) return 1;
  snprintf(encoder, sizeof encoder, "%s/encoder", argc > 1 ? argv[1] : folder);
  snprintf(model, sizeof model, "%s/model", argc > 1 ? argv[1] : folder);
  furrow_status status = make_data(&err);
  if (status == FURROW_OK) status = make_encoder(encoder, &err);
  if (status == FURROW_OK) status = train(encoder, model, &err);
  if (status == FURROW_OK) status = score(model, &wrong, &err);
  if (status == FURROW_OK) status = recommend(model, &wrong, &err);
  if (status != FURROW_OK) {
    char text[1024];
    furrow_error_to_text(&err, text, sizeof text);
    fprintf(stderr, "08_recommend: %s\n", text);
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (argc < 2 && system(command) != 0) return 1;
  return status != FURROW_OK ? furrow_status_exit_code(status) : wrong > 0;
}
