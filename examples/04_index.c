/* examples/04_index.c: builds an index of vectors, saves it, loads it and searches it.
 *
 *   04_index [FILE]     where to save the index; without FILE the program uses a temporary file
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N 5000
#define D 16

/* Makes vectors in 50 clusters (clouds). */
static void make_vectors(float *vectors) {
  unsigned draw = 1;
  for (int i = 0; i < N * D; i++) {
    draw = draw * 1664525 + 1013904223;
    vectors[i] = (float)((i / D % 50 * 7 + i % D * 13) % 31) + (float)(draw >> 8) / (1 << 24);
  }
}

static furrow_status build(const char *path, const float *vectors, furrow_error *err) {
  furrow_index *index = NULL;
  /* 32 lists, of which a search probes a few; 8 bytes for the code of a vector */
  furrow_status status = furrow_index_create(&index, &FURROW_INIT(furrow_index_spec, .d = D, .nlist = 32, .m = 8), err);
  if (status == FURROW_OK) status = furrow_index_train(index, vectors, N, NULL, err);
  if (status == FURROW_OK) status = furrow_index_add(index, vectors, N, NULL, NULL, err);
  if (status == FURROW_OK)
    status = furrow_index_save(index, path, &FURROW_INIT(furrow_index_save_params, .overwrite = true), err);
  furrow_index_free(index);
  return status;
}

/* Prints the vectors nearest to `query`. */
static furrow_status search(const char *path, const float *query, furrow_error *err) {
  const furrow_search_params params = FURROW_INIT(furrow_search_params, .nprobe = 4);
  furrow_searcher *searcher = NULL;
  float distances[5];
  int64_t ids[5];
  furrow_status status = furrow_searcher_open(&searcher, path, NULL, err);
  if (status == FURROW_OK) status = furrow_searcher_search(searcher, query, 1, 5, &params, distances, ids, err);
  for (int i = 0; i < 5 && status == FURROW_OK; i++)
    printf("%d: vector %lld, of cloud %lld, squared distance %.2f\n", i + 1, (long long)ids[i], (long long)ids[i] % 50,
           (double)distances[i]);
  furrow_searcher_free(searcher);
  return status;
}

int main(int argc, char **argv) {
  char own[] = "/tmp/furrow-index-XXXXXX";
  const char *path = argc > 1 ? argv[1] : own;
  static float vectors[N * D];
  furrow_error err = {.status = FURROW_OK};
  int file = argc > 1 ? -1 : mkstemp(own);
  make_vectors(vectors);
  furrow_status status = build(path, vectors, &err);
  if (status == FURROW_OK) status = search(path, vectors + 123 * D, &err);
  if (file >= 0) {
    close(file);
    remove(own);
  }
  if (status == FURROW_OK) return 0;
  char text[512];
  furrow_error_to_text(&err, text, sizeof text);
  fprintf(stderr, "04_index: %s\n", text);
  return furrow_status_exit_code(status);
}
