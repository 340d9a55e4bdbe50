/* tests/mpi/rank_command.c: a command with the command's own core, whose verbs run on all ranks: they check every
 * collective call, fail, wait or compute, for the scripts beside this file. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/collectives.h"
#include "core/command.h"
#include "core/fail.h"
#include "core/ranks.h"

#define TRY(expression)                             \
  do {                                              \
    const furrow_status try_status = (expression);  \
    if (try_status != FURROW_OK) return try_status; \
  } while (0)

/* ---- check: every call against what it must give ---- */

/* Byte i of what rank a sends to rank b in a round. */
static unsigned char byte_of(unsigned a, unsigned b, size_t i, unsigned round) {
  return (unsigned char)(31 * a + 17 * b + 7 * round + i + i / 253);
}

/* Sizes of parts: some of them empty, in some rounds all of them. */
static size_t size_of(unsigned a, unsigned b, unsigned round) {
  static const size_t sizes[] = {0, 1, 7, 999, 1000, 1001, 4096, 70000, 300001};
  return round == 0 ? 0 : sizes[(a * 5 + b * 3 + round) % (sizeof sizes / sizeof *sizes)];
}

static void *memory_of(size_t size) {
  void *memory = malloc(size + 1);
  if (!memory) abort();
  return memory;
}

static furrow_status wrong(furrow_error *err, const char *what, unsigned round) {
  return fail(err, FURROW_E_FORMAT, "%s: wrong in round %u", what, round);
}

static furrow_status check_exchange(const furrow_comm *comm, unsigned round, furrow_error *err) {
  size_t *sizes = memory_of(2 * comm->ranks * sizeof *sizes), out = 0, in = 0;
  for (unsigned r = 0; r < comm->ranks; r++) {
    out += sizes[r] = size_of(comm->rank, r, round);
    in += sizes[comm->ranks + r] = size_of(r, comm->rank, round);
  }
  unsigned char *send = memory_of(out), *receive = memory_of(in), *at = send;
  for (unsigned r = 0; r < comm->ranks; r++)
    for (size_t i = 0; i < sizes[r]; i++) *at++ = byte_of(comm->rank, r, i, round);
  furrow_status status = comm->exchange(comm, send, sizes, receive, sizes + comm->ranks, err);
  at = receive;
  for (unsigned r = 0; status == FURROW_OK && r < comm->ranks; r++)
    for (size_t i = 0; status == FURROW_OK && i < sizes[comm->ranks + r]; i++)
      if (*at++ != byte_of(r, comm->rank, i, round)) status = wrong(err, "exchange", round);
  free(sizes);
  free(send);
  free(receive);
  return status;
}

static furrow_status check_gather(const furrow_comm *comm, unsigned round, furrow_error *err) {
  size_t *sizes = memory_of(comm->ranks * sizeof *sizes), total = 0;
  for (unsigned r = 0; r < comm->ranks; r++) total += sizes[r] = size_of(r, 0, round);
  unsigned char *mine = memory_of(sizes[comm->rank]), *all = memory_of(total), *at = all;
  for (size_t i = 0; i < sizes[comm->rank]; i++) mine[i] = byte_of(comm->rank, 0, i, round);
  furrow_status status = comm->gather(comm, mine, sizes[comm->rank], all, sizes, err);
  for (unsigned r = 0; status == FURROW_OK && r < comm->ranks; r++)
    for (size_t i = 0; status == FURROW_OK && i < sizes[r]; i++)
      if (*at++ != byte_of(r, 0, i, round)) status = wrong(err, "gather", round);
  free(sizes);
  free(mine);
  free(all);
  return status;
}

static furrow_status check_broadcast(const furrow_comm *comm, unsigned round, furrow_error *err) {
  const unsigned root = round % comm->ranks;
  const size_t size = size_of(root, 1, round);
  unsigned char *bytes = memory_of(size);
  for (size_t i = 0; i < size; i++) bytes[i] = comm->rank == root ? byte_of(root, 1, i, round) : 0;
  furrow_status status = comm->broadcast(comm, bytes, size, root, err);
  for (size_t i = 0; status == FURROW_OK && i < size; i++)
    if (bytes[i] != byte_of(root, 1, i, round)) status = wrong(err, "broadcast", round);
  free(bytes);
  return status;
}

static furrow_status check_sum(const furrow_comm *comm, unsigned round, furrow_error *err) {
  const size_t count = size_of(0, 2, round);
  int64_t *values = memory_of(count * sizeof *values);
  for (size_t i = 0; i < count; i++) values[i] = ((int64_t)(comm->rank + 1) << 40) - (int64_t)i;
  furrow_status status = comm->sum_i64(comm, values, count, err);
  const int64_t ranks = comm->ranks;
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    if (values[i] != (ranks * (ranks + 1) / 2 << 40) - ranks * (int64_t)i) status = wrong(err, "sum", round);
  free(values);
  return status;
}

/* Sums of floats are added in the order of ranks. */
static furrow_status check_float_sum(const furrow_comm *comm, unsigned round, furrow_error *err) {
  const size_t count = size_of(0, 2, round);
  float *values = memory_of(count * sizeof *values);
  for (size_t i = 0; i < count; i++) values[i] = 1.0F / (float)(1 + i + 3 * comm->rank);
  furrow_status status = fw_comm_sum_f32(comm, values, count, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    float sum = 1.0F / (float)(1 + i);
    for (unsigned r = 1; r < comm->ranks; r++) sum += 1.0F / (float)(1 + i + 3 * r);
    if (values[i] != sum) status = wrong(err, "float sum", round);
  }
  free(values);
  return status;
}

static furrow_status check_round(const furrow_comm *comm, unsigned round, furrow_error *err) {
  TRY(check_exchange(comm, round, err));
  TRY(check_gather(comm, round, err));
  TRY(check_broadcast(comm, round, err));
  TRY(check_sum(comm, round, err));
  TRY(check_float_sum(comm, round, err));
  return comm->barrier(comm, err);
}

typedef struct check_values {
  uint32_t rounds;
} check_values;

static furrow_status run_check(const void *values, output *out, furrow_error *err) {
  const check_values *check = values;
  const furrow_comm *comm = ranks_comm() ? ranks_comm() : fw_comm_self();
  for (unsigned round = 0; round < check->rounds && comm->sum_i64; round++) TRY(check_round(comm, round, err));
  output_format(out, "%u of %u: %u rounds\n", ranks_number(), ranks_count(), comm->sum_i64 ? check->rounds : 0);
  fprintf(stderr, "furrow: note: of rank %u\n", ranks_number());
  return FURROW_OK;
}

/* ---- large: parts of more than 2^31 bytes ---- */

typedef struct large_values {
  size_t bytes;
} large_values;

static unsigned char large_byte(unsigned rank, size_t i) {
  return (unsigned char)(rank + i % 251 + (i >> 20));
}

static furrow_status run_large(const void *values, output *out, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  const size_t size = ((const large_values *)values)->bytes;
  const unsigned from = (comm->rank + comm->ranks - 1) % comm->ranks, to = (comm->rank + 1) % comm->ranks;
  size_t *sizes = calloc(2 * comm->ranks, sizeof *sizes);
  unsigned char *send = memory_of(size), *receive = memory_of(size);
  sizes[to] = sizes[comm->ranks + from] = size;
  for (size_t i = 0; i < size; i++) send[i] = large_byte(comm->rank, i);
  furrow_status status = comm->exchange(comm, send, sizes, receive, sizes + comm->ranks, err);
  for (size_t i = 0; status == FURROW_OK && i < size; i++)
    if (receive[i] != large_byte(from, i)) status = wrong(err, "large exchange", 0);
  if (status == FURROW_OK) status = comm->broadcast(comm, send, size, 0, err);
  for (size_t i = 0; status == FURROW_OK && i < size; i++)
    if (send[i] != large_byte(0, i)) status = wrong(err, "large broadcast", 0);
  free(sizes);
  free(send);
  free(receive);
  output_format(out, "%zu bytes\n", size);
  return status;
}

/* ---- fail, wait, compute ---- */

typedef struct fail_values {
  uint32_t rank;
  int others;
} fail_values;

enum { OTHERS_FAIL, OTHERS_WAIT, OTHERS_CHECK, OTHERS_COMPUTE, OTHERS_END, OTHERS_SHARE, OTHERS_EXCHANGE };

static void compute(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end) continue;
}

/* Ranks 0 and 1 exchange a byte, in a call that the failing rank completes at once. Rank 1 is late, so rank 0 waits
 * although a failure is known. */
static furrow_status fail_after_exchange(const furrow_comm *comm, furrow_status status, furrow_error *err) {
  size_t sizes[64] = {0};
  char sent = 1, received = 0;
  furrow_error lost;
  if (comm->rank < 2) sizes[1 - comm->rank] = 1;
  if (comm->rank == 1) sleep(1);
  if (comm->exchange(comm, &sent, sizes, &received, sizes, &lost) != FURROW_OK)
    return fail(err, FURROW_E_STATE, "the exchange was interrupted");
  return status;
}

static furrow_status run_fail(const void *values, output *out, furrow_error *err) {
  const fail_values *given = values;
  const furrow_comm *comm = ranks_comm();
  const bool mine = given->others == OTHERS_FAIL || comm->rank == given->rank;
  output_text(out, "begun\n");
  furrow_status status = mine ? fail(err, FURROW_E_FORMAT, "made to fail") : FURROW_OK;
  if (given->others == OTHERS_CHECK) return fw_comm_all_ok(comm, status, err);
  if (given->others == OTHERS_SHARE) {
    status = fw_comm_share_status(comm, status, err);
    if (mine) compute(60); /* the others cannot wait for its message */
    return status;
  }
  if (given->others == OTHERS_EXCHANGE) return fail_after_exchange(comm, status, err);
  if (mine || given->others == OTHERS_END) return status;
  if (given->others == OTHERS_COMPUTE) compute(60);
  return comm->barrier(comm, err);
}

typedef struct wait_values {
  const char *folder;
  bool computing;
} wait_values;

/* Leaves its process number in FOLDER/RANK, then waits for what never comes. */
static furrow_status run_wait(const void *values, output *out, furrow_error *err) {
  const wait_values *given = values;
  const furrow_comm *comm = ranks_comm();
  char path[4096];
  (void)out;
  snprintf(path, sizeof path, "%s/%u", given->folder, comm->rank);
  FILE *file = fopen(path, "w");
  if (!file) return fail(err, FURROW_E_IO, "cannot write %s", path);
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  for (;;) {
    TRY(comm->barrier(comm, err));
    if (given->computing) compute(300);
  }
}

typedef struct compute_values {
  double seconds;
} compute_values;

/* Rank 1 computes without a call for longer than others may be silent. */
static furrow_status run_compute(const void *values, output *out, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  if (comm->rank == 1) compute(((const compute_values *)values)->seconds);
  TRY(comm->barrier(comm, err));
  output_text(out, "computed\n");
  return FURROW_OK;
}

static furrow_status run_alone(const void *values, output *out, furrow_error *err) {
  (void)values;
  (void)err;
  output_format(out, "rank %u of %u%s\n", ranks_number(), ranks_count(), ranks_comm() ? " with a communicator" : "");
  out->exit_code = 1;
  return FURROW_OK;
}

/* ---- The verbs ---- */

static const option check_options[] = {{.name = "rounds",
                                        .kind = OPTION_U32,
                                        .argument = "N",
                                        .help = "rounds, of different sizes",
                                        .offset = offsetof(check_values, rounds)},
                                       {0}};
static const option_group check_groups[] = {{"Options", check_options, 0}, {0}};
static const option large_options[] = {{.name = "bytes",
                                        .kind = OPTION_BYTES,
                                        .argument = "B",
                                        .help = "size of a part",
                                        .offset = offsetof(large_values, bytes),
                                        .required = true},
                                       {0}};
static const option_group large_groups[] = {{"Options", large_options, 0}, {0}};
static const option fail_options[] = {{.name = "rank",
                                       .kind = OPTION_U32,
                                       .argument = "R",
                                       .help = "the rank that fails",
                                       .offset = offsetof(fail_values, rank)},
                                      {.name = "others",
                                       .kind = OPTION_ENUM,
                                       .choices = "fail|wait|check|compute|end|share|exchange",
                                       .help = "what the others do meanwhile",
                                       .offset = offsetof(fail_values, others)},
                                      {0}};
static const option_group fail_groups[] = {{"Options", fail_options, 0}, {0}};
static const option wait_options[] = {{.name = "computing",
                                       .kind = OPTION_FLAG,
                                       .help = "compute rather than wait",
                                       .offset = offsetof(wait_values, computing)},
                                      {0}};
static const option_group wait_groups[] = {{"Options", wait_options, 0}, {0}};
static const option wait_operands[] = {
    {.name = "FOLDER", .kind = OPTION_TEXT, .offset = offsetof(wait_values, folder), .required = true}, {0}};
static const option compute_options[] = {{.name = "seconds",
                                          .kind = OPTION_REAL,
                                          .argument = "S",
                                          .help = "how long",
                                          .offset = offsetof(compute_values, seconds)},
                                         {0}};
static const option_group compute_groups[] = {{"Options", compute_options, 0}, {0}};

static const command check = {.name = "check",
                              .summary = "check every call",
                              .example = "rank_command check --rounds 12",
                              .groups = check_groups,
                              .size = sizeof(check_values),
                              .run = run_check,
                              .on_all_ranks = true};
static const command large = {.name = "large",
                              .summary = "exchange and broadcast large parts",
                              .example = "rank_command large --bytes 3GiB",
                              .groups = large_groups,
                              .size = sizeof(large_values),
                              .run = run_large,
                              .on_all_ranks = true};
static const command failing = {.name = "fail",
                                .summary = "fail",
                                .example = "rank_command fail --rank 1 --others wait",
                                .groups = fail_groups,
                                .size = sizeof(fail_values),
                                .run = run_fail,
                                .on_all_ranks = true};
static const command waiting = {.name = "wait",
                                .summary = "wait for ever",
                                .example = "rank_command wait FOLDER",
                                .operands = wait_operands,
                                .groups = wait_groups,
                                .size = sizeof(wait_values),
                                .run = run_wait,
                                .on_all_ranks = true};
static const command computing = {.name = "compute",
                                  .summary = "compute for long",
                                  .example = "rank_command compute --seconds 3",
                                  .groups = compute_groups,
                                  .size = sizeof(compute_values),
                                  .run = run_compute,
                                  .on_all_ranks = true};
static const command alone = {
    .name = "alone", .summary = "run on rank 0", .example = "rank_command alone", .run = run_alone};
static const command *const verbs[] = {&check, &large, &failing, &waiting, &computing, &alone, NULL};
static const command root = {.name = "rank_command", .example = "rank_command check", .verbs = verbs};

int main(int argc, char **argv) {
  const int code = ranks_open(argc, argv);
  return code == 0 ? command_main(&root, argc, argv) : code;
}
