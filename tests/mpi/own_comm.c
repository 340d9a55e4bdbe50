/* tests/mpi/own_comm.c: a program that has begun MPI and divided its processes itself: each half is a communicator. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "furrow/comm.h"

static int rank, ranks;

static void check(int line, bool is_so, const furrow_error *err) {
  if (is_so) return;
  fprintf(stderr, "line %d: wrong on rank %d: %s\n", line, rank, err->message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

#define CHECK(is_so) check(__LINE__, (is_so), &err)

static void *sum_in_thread(void *argument) {
  const furrow_comm *comm = argument;
  int64_t value = 1;
  furrow_error err = {0};
  CHECK(comm->sum_i64(comm, &value, 1, &err) == FURROW_E_STATE);
  CHECK(strstr(err.message, "MPI_THREAD_SERIALIZED") != NULL);
  return NULL;
}

/* Only the thread that opened it may use a communicator of a program that has no MPI_THREAD_MULTIPLE. */
static void check_threads(furrow_comm *comm) {
  pthread_t thread;
  furrow_error err = {0};
  CHECK(pthread_create(&thread, NULL, sum_in_thread, comm) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(comm->watch(comm, 60, NULL, NULL, &err) == FURROW_E_UNSUPPORTED);
}

static void check_half(const furrow_comm *comm, int half) {
  furrow_error err = {0};
  int64_t value = rank;
  CHECK((int)comm->ranks == (ranks + 1 - half) / 2 && (int)comm->rank == rank / 2);
  CHECK(comm->sum_i64(comm, &value, 1, &err) == FURROW_OK);
  int64_t sum = 0;
  for (int r = half; r < ranks; r += 2) sum += r;
  CHECK(value == sum);
}

int main(int argc, char **argv) {
  int threads = 0, is_ended = 0;
  furrow_error err = {0};
  furrow_comm *comm = NULL;
  MPI_Comm half;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  CHECK(furrow_comm_open_mpi_comm(&comm, NULL, &half, &err) == FURROW_OK);
  MPI_Comm_free(&half); /* it was duplicated */
  check_half(comm, rank % 2);
  if (threads < MPI_THREAD_MULTIPLE) check_threads(comm);
  furrow_comm_close(comm);
  MPI_Finalized(&is_ended);
  CHECK(!is_ended); /* the program has begun it, so the program ends it */
  MPI_Finalize();
  CHECK(furrow_comm_open_mpi(&comm, NULL, &err) == FURROW_E_STATE);
  printf("halves, threads and the end are as they should be\n");
  return 0;
}
