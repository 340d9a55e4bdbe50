/* cli/core/ranks.c: the processes of one job, where the command was started by mpirun or srun. */
#include "core/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/options.h"

enum {
  DEFAULT_TIMEOUT = 60, /* seconds */
  LATE = 3,             /* seconds that a failed rank waits for the other ranks to end by themselves */
  HOST_TEXT = 64
};

static furrow_comm *job; /* NULL: alone */
static bool together;    /* the command runs on all ranks */
static FILE *terminal;   /* stderr as it was */

const furrow_comm *ranks_comm(void) {
  return together ? job : NULL;
}

unsigned ranks_number(void) {
  return together ? job->rank : 0;
}

unsigned ranks_count(void) {
  return together ? job->ranks : 1;
}

void ranks_forget(void) {
  job = NULL;
  together = false;
}

/* ---- The beginning -------------------------------------------------------------------------------------- */

static bool asks_for_mpi(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--mpi") == 0) return true;
  return false;
}

/* Without MPI the processes cannot choose one process that prints. The launcher ends all processes when the first one
 * fails, so the others wait until rank 0 has printed the reason. */
static int cannot_open(unsigned rank, furrow_status status, const furrow_error *err) {
  if (rank == 0)
    print_failure(status, err);
  else
    sleep(LATE);
  return furrow_status_exit_code(status);
}

/* Only rank 0 writes. The other ranks keep stderr for their own failures; MPI, too, writes its messages to that file
 * descriptor. */
static void be_quiet(void) {
  FILE *nowhere = fopen("/dev/null", "w");
  if (!nowhere || dup2(fileno(nowhere), STDOUT_FILENO) < 0) return;
  terminal = stderr;
  stderr = nowhere;
}

int ranks_open(int argc, char **argv) {
  furrow_error err = {0};
  unsigned rank, ranks;
  furrow_comm_launched(&rank, &ranks);
  if (ranks == 1 && !asks_for_mpi(argc, argv)) return 0;
  const furrow_status status = furrow_comm_open_mpi(&job, NULL, &err);
  if (status != FURROW_OK) return cannot_open(rank, status, &err);
  if (job->rank > 0) be_quiet();
  return 0;
}

static void who_is(char *text, size_t size, unsigned rank, const char *host) {
  snprintf(text, size, "rank %u of %u (%s): ", rank, job->ranks, host);
}

static void end_without(void *user, unsigned rank, const char *host) {
  char who[HOST_TEXT + 64];
  furrow_error err;
  if (terminal) stderr = terminal;
  fail(&err, FURROW_E_IO, "has not answered for %g s; the job is ended", *(const double *)user);
  who_is(who, sizeof who, rank, host);
  print_failure_of(who, err.status, &err);
  job->abort(job, furrow_status_exit_code(err.status));
}

static furrow_status watch(double given, furrow_error *err) {
  static double timeout;
  const char *text = getenv("FURROW_RANK_TIMEOUT");
  timeout = given > 0 ? given : DEFAULT_TIMEOUT;
  if (!(given > 0) && text && (!read_real(text, &timeout) || !(timeout > 0)))
    return fail_token(err, text, "FURROW_RANK_TIMEOUT takes a number of seconds above 0");
  const furrow_status status = job->watch(job, timeout, end_without, &timeout, err);
  return status == FURROW_E_UNSUPPORTED ? FURROW_OK : status; /* an MPI without threads: a hang is not noticed */
}

bool ranks_begin(bool on_all_ranks, double timeout, furrow_status *status, furrow_error *err) {
  if (!job) return true;
  together = on_all_ranks;
  if (together) *status = watch(timeout, err);
  return *status == FURROW_OK && (together || job->rank == 0);
}

/* ---- The end -------------------------------------------------------------------------------------------- */

/* How a rank has ended, in the form that is sent to the other ranks. */
typedef struct verdict {
  int exit_code;
  int cause;
  uint64_t text; /* a hash of the message */
} verdict;

/* Reasons for a rank's failure; the earlier a reason, the likelier it caused the failures of other ranks. From
 * MPI_FAILURE on, messages are in flight that no rank will receive, so MPI cannot be finalised. */
enum { NO_FAILURE, OWN_FAILURE, OTHERS_FAILURE, MPI_FAILURE, INTERRUPTED };

/* Errors of other ranks begin with these words, as the library has them too. */
#define OTHERS "another process failed"

static uint64_t hash_error(const furrow_error *err) {
  char text[1024];
  uint64_t hash = 1469598103934665603U; /* FNV-1a */
  furrow_error_to_text(err, text, sizeof text);
  for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211U;
  return hash;
}

static int cause_of(furrow_status status, const furrow_error *err) {
  if (status == FURROW_OK) return NO_FAILURE;
  if (strstr(err->message, "MPI: " OTHERS)) return INTERRUPTED;
  if (strstr(err->message, OTHERS)) return OTHERS_FAILURE;
  return strncmp(err->message, "MPI: ", 5) == 0 ? MPI_FAILURE : OWN_FAILURE;
}

/* Returns the rank whose failure is printed: the first rank with the most likely cause. -1: none has failed. */
static int speaker_of(const verdict *all, const bool *settled) {
  int speaker = -1;
  for (unsigned r = 0; r < job->ranks; r++)
    if (settled[r] && all[r].cause != NO_FAILURE && (speaker < 0 || all[r].cause < all[speaker].cause))
      speaker = (int)r;
  return speaker;
}

/* Whether all ranks have settled and MPI can be finalised. */
static bool all_in_order(const verdict *all, const bool *settled) {
  for (unsigned r = 0; r < job->ranks; r++)
    if (!settled[r] || all[r].cause >= MPI_FAILURE) return false;
  return true;
}

/* Whether all ranks have failed in the same way, so that the message does not need a rank. */
static bool same_on_all_ranks(const verdict *all, const bool *settled) {
  for (unsigned r = 0; r < job->ranks; r++)
    if (!settled[r] || all[r].cause != all[0].cause || all[r].text != all[0].text) return false;
  return true;
}

/* If a message quotes another rank's message, returns the begin of the quoted message. */
static const char *message_of_other(const furrow_error *err) {
  const char *end =
      strncmp(err->message, OTHERS ": rank ", strlen(OTHERS ": rank ")) == 0 ? strstr(err->message, "): ") : NULL;
  return end ? end + strlen("): ") : NULL;
}

/* A rank that failed because of another one prints the failure of that rank, as it would itself. */
static void print_as(bool same, furrow_status status, const furrow_error *err) {
  char who[HOST_TEXT + 64] = "", host[HOST_TEXT] = "";
  furrow_error shown = *err;
  const char *other = message_of_other(err);
  gethostname(host, sizeof host - 1);
  if (terminal) stderr = terminal;
  if (other) {
    const char *begin = err->message + strlen(OTHERS ": ");
    snprintf(who, sizeof who, "%.*s", (int)(other - begin), begin);
    snprintf(shown.message, sizeof shown.message, "%s", other);
  } else if (together && !same) {
    who_is(who, sizeof who, job->rank, host);
  }
  print_failure_of(who, status, &shown);
}

/* The verdicts of all ranks. A rank that has failed does not wait for long: others may never come to their end. */
static furrow_status settle_verdicts(const verdict *mine, verdict *all, bool *settled, furrow_error *err) {
  const bool failed = mine->cause != NO_FAILURE;
  return job->settle(job, failed, mine, sizeof *mine, all, settled, failed ? LATE : -1, err);
}

/* Prints a failure on the rank that had it, and returns the exit code of the job. If ranks have not settled or MPI
 * cannot be finalised, the job is aborted: by the failed rank at once, by the other ranks after a delay, in case the
 * failed rank cannot. */
static int end_job(const verdict *all, const bool *settled, furrow_status status, const furrow_error *err) {
  const int speaker = speaker_of(all, settled);
  if (speaker < 0) return all[0].exit_code;
  const bool in_order = all_in_order(all, settled);
  if (speaker == (int)job->rank)
    print_as(same_on_all_ranks(all, settled), status, err);
  else if (!in_order)
    sleep(LATE);
  if (!in_order) job->abort(job, all[speaker].exit_code);
  return all[speaker].exit_code;
}

static int finish_job(furrow_status status, const furrow_error *err, int exit_code) {
  const verdict mine = {exit_code, cause_of(status, err), hash_error(err)};
  verdict *all = calloc(job->ranks, sizeof *all);
  bool *settled = calloc(job->ranks, sizeof *settled);
  furrow_error unsettled = {0};
  const furrow_status result =
      all && settled ? settle_verdicts(&mine, all, settled, &unsettled) : fail_memory(&unsettled);
  if (result != FURROW_OK) { /* the other ranks' verdicts are unknown, so this rank prints its own failure */
    print_as(false, status == FURROW_OK ? result : status, status == FURROW_OK ? &unsettled : err);
    job->abort(job, furrow_status_exit_code(status == FURROW_OK ? result : status));
  }
  exit_code = end_job(all, settled, status, err);
  free(all);
  free(settled);
  furrow_comm_close(job);
  job = NULL;
  return exit_code;
}

int ranks_finish(furrow_status status, const furrow_error *err, int exit_code) {
  if (status != FURROW_OK) exit_code = furrow_status_exit_code(status);
  if (job) return finish_job(status == FURROW_END ? FURROW_OK : status, err, exit_code);
  print_failure(status, err);
  return exit_code;
}

/* ---- What ranks tell each other ---- */

/* A rank without memory for a result cannot take part in the next collective call: the job ends. */
static void *rank_memory(size_t count, size_t size) {
  void *memory = calloc(count, size);
  const furrow_comm *comm = ranks_comm();
  if (!memory && comm && comm->abort) comm->abort(comm, furrow_status_exit_code(FURROW_E_MEMORY));
  return memory;
}

static furrow_status gather(const void *mine, size_t size, char *all, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  if (!comm) return memcpy(all, mine, size), FURROW_OK;
  size_t *sizes = rank_memory(comm->ranks, sizeof *sizes);
  if (!sizes) return fail_memory(err);
  for (unsigned r = 0; r < comm->ranks; r++) sizes[r] = size;
  const furrow_status status = comm->gather(comm, mine, size, all, sizes, err);
  free(sizes);
  return status;
}

furrow_status ranks_gather(const void *mine, size_t size, void **all, furrow_error *err) {
  char *memory = rank_memory(ranks_count(), size);
  if (!memory) return fail_memory(err);
  const furrow_status status = gather(mine, size, memory, err);
  if (status == FURROW_OK)
    *all = memory;
  else
    free(memory);
  return status;
}

furrow_status ranks_all_ok(furrow_status mine, furrow_error *err) {
  const unsigned ranks = ranks_count();
  const unsigned char failed = mine != FURROW_OK;
  furrow_error lost;
  void *all = NULL;
  if (ranks == 1) return mine;
  const furrow_status status = ranks_gather(&failed, 1, &all, failed ? &lost : err);
  if (status != FURROW_OK) return failed ? mine : status;
  const bool other = memchr(all, 1, ranks) != NULL;
  free(all);
  return other && !failed ? fail(err, FURROW_E_STATE, OTHERS) : mine;
}

furrow_status ranks_offset(uint64_t mine, uint64_t *before, uint64_t *all, furrow_error *err) {
  void *gathered = NULL;
  const furrow_status status = ranks_gather(&mine, sizeof mine, &gathered, err);
  if (status != FURROW_OK) return status;
  const uint64_t *numbers = gathered;
  *before = *all = 0;
  for (unsigned r = 0; r < ranks_count(); r++) {
    if (r < ranks_number()) *before += numbers[r];
    *all += numbers[r];
  }
  free(gathered);
  return FURROW_OK;
}

/* ---- Parts of a job ---- */

furrow_status ranks_collect(const void *bytes, size_t size, void **all, size_t *total, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  const unsigned ranks = ranks_count();
  const uint64_t mine = size;
  size_t *sizes = calloc(2 * (size_t)ranks, sizeof *sizes), sum = 0;
  void *gathered = NULL;
  char *joined = NULL;
  furrow_status status = ranks_gather(&mine, sizeof mine, &gathered, err);
  status = ranks_all_ok(status == FURROW_OK && !sizes ? fail_memory(err) : status, err);
  const uint64_t *numbers = gathered;
  if (status == FURROW_OK && comm->rank == 0)
    for (unsigned r = 0; r < ranks; r++) sum += sizes[ranks + r] = (size_t)numbers[r];
  if (status == FURROW_OK) {
    sizes[0] = size;
    joined = malloc(sum + 1);
    status = ranks_all_ok(joined ? FURROW_OK : fail_memory(err), err);
  }
  if (status == FURROW_OK) status = comm->exchange(comm, bytes, sizes, joined, sizes + ranks, err);
  free(gathered);
  free(sizes);
  if (status != FURROW_OK || comm->rank > 0) {
    free(joined);
    joined = NULL;
  }
  *all = joined;
  *total = sum;
  return status;
}

uint64_t ranks_first(uint64_t total, unsigned rank) {
  const uint64_t ranks = ranks_count();
  return total / ranks * rank + (total % ranks < rank ? total % ranks : rank);
}
