/* bench/bench_thread_peers.c: what a short parallel loop costs: Furrow's threads beside OpenMP and pthread_create.
 *
 *   bench_thread_peers [--threads T] [--quick] [--rounds N] [--json]
 *
 * A loop has 16 indices, each some microseconds of arithmetic (0, 2 or 20). Loops follow each other at once, or after a
 * pause in which the caller sleeps. Printed are the medians, over all loops of all rounds, of the clock's time of a
 * loop, and of the processor time of all threads, pauses included. Contestants take turns, and every other round goes
 * backwards. `serial` is the loop on the caller alone: what threads have to be better than. */
#include <pthread.h>
#include <stdint.h>

#include "base/pool.h"
#include "contest.h"

#ifdef HAVE_OPENMP
#include <omp.h>
#endif

enum { INDICES = 16, MOST_LOOPS = 4096, MOST_THREADS = 64 };

typedef struct loop {
  unsigned threads;
  uint64_t work; /* rounds of arithmetic of an index */
  fw_spin_pool *spin_pool;
  fw_pool *pool;
  uint64_t out[INDICES * 8]; /* a line of cache each */
  unsigned next;             /* of pthread_create */
} loop;

__attribute__((noinline)) static void body(void *context, size_t i) {
  loop *l = context;
  uint64_t x = i;
  for (uint64_t k = 0; k < l->work; k++) x = x * UINT64_C(6364136223846793005) + 1442695040888963407U;
  l->out[i * 8] += x;
}

static void run_serial(loop *l) {
  for (size_t i = 0; i < INDICES; i++) body(l, i);
}

static void run_spin_pool(loop *l) {
  fw_spin_pool_run(l->spin_pool, INDICES, body, l);
}

static void run_pool(loop *l) {
  furrow_error err;
  if (fw_pool_for(l->pool, INDICES, body, l, &err) != FURROW_OK) abort();
}

#ifdef HAVE_OPENMP
static void run_openmp(loop *l) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(l->threads)
  for (int i = 0; i < INDICES; i++) body(l, (size_t)i);
}
#endif

static void *take(void *context) {
  loop *l = context;
  for (unsigned i; (i = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED)) < INDICES;) body(l, i);
  return NULL;
}

static void run_created(loop *l) {
  pthread_t others[MOST_THREADS];
  l->next = 0;
  for (unsigned t = 1; t < l->threads; t++)
    if (pthread_create(&others[t], NULL, take, l) != 0) abort();
  take(l);
  for (unsigned t = 1; t < l->threads; t++) pthread_join(others[t], NULL);
}

typedef struct runner {
  const char *name;
  void (*run)(loop *l);
} runner;

static const runner runners[] = {
    {"Furrow, spinning threads", run_spin_pool},
    {"Furrow, pool", run_pool},
#ifdef HAVE_OPENMP
    {"OpenMP", run_openmp},
#endif
    {"pthread_create", run_created},
    {"serial", run_serial},
};

enum { RUNNERS = sizeof runners / sizeof *runners };

static double wall(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double processor(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct figures {
  double *walls;
  double cpus[CONTEST_MOST_ROUNDS];
  size_t count;
} figures;

static void run_round(const runner *r, loop *l, size_t loops, long pause_us, figures *f, size_t round) {
  const struct timespec pause = {.tv_nsec = pause_us * 1000};
  for (size_t i = 0; i < 3; i++) r->run(l);
  const double begun = processor();
  for (size_t i = 0; i < loops; i++) {
    if (pause_us > 0) nanosleep(&pause, NULL);
    const double start = wall();
    r->run(l);
    f->walls[f->count++] = wall() - start;
  }
  f->cpus[round] = (processor() - begun) / (double)loops;
  /* what this one's threads still do is not the next one's business */
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* Rounds of arithmetic that take a microsecond. */
static double calibrate(void) {
  static loop l = {.work = 1000000};
  double best = 1;
  for (int i = 0; i < 5; i++) {
    const double start = wall();
    body(&l, 1);
    const double took = wall() - start;
    if (took < best) best = took;
  }
  return 1 / best;
}

static void compare(loop *l, const contest_options *o, size_t loops, long pause_us, int work_us) {
  static figures all[RUNNERS];
  for (size_t i = 0; i < RUNNERS; i++) {
    all[i].count = 0;
    all[i].walls = malloc(loops * o->rounds * sizeof(double));
    if (!all[i].walls) abort();
  }
  for (size_t r = 0; r < o->rounds; r++)
    for (size_t k = 0; k < RUNNERS; k++) {
      const size_t i = r % 2 ? RUNNERS - 1 - k : k;
      run_round(&runners[i], l, loops, pause_us, &all[i], r);
    }
  for (size_t i = 0; i < RUNNERS; i++) {
    const double cpu = contest_median(all[i].cpus, o->rounds), took = contest_median(all[i].walls, all[i].count);
    const double tenth = all[i].walls[all[i].count / 10];
    const char *form = o->json
                           ? "{\"what\": \"loop\", \"threads\": %u, \"work_us\": %d, \"pause_us\": %ld, \"by\": "
                             "\"%s\", \"us\": %.2f, \"tenth_us\": %.2f, \"cpu_us\": %.2f}\n"
                           : "%u threads, index %2d us, pause %4ld us   %-24s %8.2f us (best tenth %8.2f)   processor "
                             "%8.2f us\n";
    printf(form, l->threads, work_us, pause_us, runners[i].name, took * 1e6, tenth * 1e6, cpu * 1e6);
    free(all[i].walls);
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  contest_options o = {.rounds = 11, .least = 0.005};
  unsigned threads = 2;
  int rest;
  if (argc > 2 && strcmp(argv[1], "--threads") == 0) {
    threads = (unsigned)strtoul(argv[2], NULL, 10);
    argc -= 2;
    argv += 2;
  }
  if (!contest_parse(argc, argv, &o, &rest) || rest != argc || threads < 2 || threads > MOST_THREADS) {
    fprintf(stderr, "usage: bench_thread_peers [--threads T] [--quick] [--rounds N] [--json]\n");
    return 2;
  }
#ifndef HAVE_OPENMP
  fprintf(stderr, "bench_thread_peers: built without OpenMP\n");
#endif
  loop l = {.threads = threads};
  furrow_error err;
  if (fw_spin_pool_create(&l.spin_pool, threads, &err) != FURROW_OK ||
      fw_pool_create(&l.pool, threads - 1, &err) != FURROW_OK) {
    fprintf(stderr, "bench_thread_peers: %s\n", err.message);
    return 1;
  }
  const double a_microsecond = calibrate();
  const int works[] = {0, 2, 20};
  const long pauses[] = {0, 100, 2000};
  for (size_t w = 0; w < 3; w++)
    for (size_t p = 0; p < 3; p++) {
      l.work = (uint64_t)(works[w] * a_microsecond);
      compare(&l, &o, pauses[p] > 1000 ? 20 : 200, pauses[p], works[w]);
    }
  fw_spin_pool_free(l.spin_pool);
  fw_pool_free(l.pool);
  return 0;
}
