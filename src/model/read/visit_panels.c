/* model/read/visit_panels.c: the panels of many partitions, threads side by side. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/pool.h"
#include "model/read/panel_select.h"

enum { MOST_THREADS = 1024 };

/* Partitions are taken in order. The error of the first one in that order counts: a thread that works on a later one
 * stops, and what comes before it is read to its end. So the answer is the same for any number of threads. */
typedef struct visit_job {
  const furrow_matrix_source *source;
  const fw_selection *sel;
  furrow_panel_callback visit;
  void *user;
  atomic_size_t next;    /* partition that nobody has taken */
  atomic_size_t stop_at; /* partitions from this one on are not wanted any more */
  pthread_mutex_t lock;  /* of status and error, those of partition stop_at */
  furrow_status status;
  furrow_error error;
} visit_job;

static void stop(visit_job *job, size_t part, furrow_status status, const furrow_error *error) {
  pthread_mutex_lock(&job->lock);
  if (part < atomic_load(&job->stop_at)) {
    atomic_store(&job->stop_at, part);
    job->status = status;
    job->error = *error;
  }
  pthread_mutex_unlock(&job->lock);
}

static furrow_status visit_part(visit_job *job, size_t part, furrow_partition_reader *reader,
                                fw_panel_selector *selector, furrow_error *err) {
  furrow_panel panel;
  furrow_status status = fw_panel_selector_start(selector, job->sel, &job->source->parts[part], err);
  if (status == FURROW_OK) status = fw_partition_reader_start(reader, part, err);
  if (status == FURROW_OK) fw_partition_reader_select(reader, job->sel);
  while (status == FURROW_OK && part < atomic_load_explicit(&job->stop_at, memory_order_relaxed)) {
    status = furrow_partition_reader_next(reader, &panel, err);
    if (status == FURROW_OK) status = fw_panel_select(selector, &panel, err);
    if (status == FURROW_OK && panel.cols > 0) {
      status = job->visit(job->user, part, &panel, err);
      if (status != FURROW_OK) return status;
    }
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static bool is_wanted(const visit_job *job, size_t part) {
  return job->sel->parts[part] && fw_selection_has_any_col(job->sel, &job->source->parts[part]);
}

static void work(void *context, size_t worker) {
  visit_job *job = context;
  (void)worker;
  const size_t count = job->source->meta->part_count;
  furrow_partition_reader *reader = NULL;
  fw_panel_selector selector = {0};
  furrow_error error = {0};
  furrow_status status = fw_partition_reader_create(&reader, job->source, &error);
  if (status != FURROW_OK) stop(job, 0, status, &error);
  while (status == FURROW_OK) {
    const size_t part = atomic_fetch_add(&job->next, 1);
    if (part >= count || part >= atomic_load(&job->stop_at)) break;
    if (!is_wanted(job, part)) continue;
    status = visit_part(job, part, reader, &selector, &error);
    if (status != FURROW_OK) stop(job, part, status, &error);
  }
  furrow_partition_reader_close(reader);
  fw_panel_selector_clear(&selector);
}

static unsigned useful_threads(const visit_job *job, unsigned threads) {
  unsigned wanted = 0;
  if (threads == 0) threads = fw_processor_count();
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  for (size_t i = 0; i < job->source->meta->part_count && wanted < threads; i++) wanted += is_wanted(job, i);
  return wanted > 0 ? wanted : 1;
}

static furrow_status run(visit_job *job, unsigned threads, furrow_error *err) {
  fw_pool *pool = NULL;
  if (threads == 1) {
    work(job, 0);
    return FURROW_OK;
  }
  furrow_status status = fw_pool_create(&pool, threads - 1, err);
  if (status == FURROW_OK) status = fw_pool_for(pool, threads, work, job, err);
  fw_pool_free(pool);
  return status;
}

furrow_status fw_selection_visit(const fw_selection *sel, const furrow_matrix_source *source, unsigned threads,
                                 furrow_panel_callback visit, void *user, furrow_error *err) {
  visit_job job = {.source = source, .sel = sel, .visit = visit, .user = user};
  atomic_init(&job.next, 0);
  atomic_init(&job.stop_at, SIZE_MAX);
  pthread_mutex_init(&job.lock, NULL);
  furrow_status status = run(&job, useful_threads(&job, threads), err);
  pthread_mutex_destroy(&job.lock);
  if (status != FURROW_OK || job.status == FURROW_OK) return status;
  if (err) *err = job.error;
  return job.status;
}

furrow_status furrow_matrix_for_each_panel(const furrow_matrix_source *source, const furrow_matrix_scan_params *given,
                                           furrow_panel_callback visit, void *user, furrow_error *err) {
  furrow_matrix_scan_params params;
  fw_selection sel;
  furrow_matrix_scan_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_scan_params, err));
  furrow_status status = fw_selection_make(&sel, source, params.selection, err);
  if (status == FURROW_OK) status = fw_selection_visit(&sel, source, params.threads, visit, user, err);
  fw_selection_clear(&sel);
  return status;
}
