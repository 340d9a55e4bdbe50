/* python/src/py_scorer.h: what the sources of furrow._core.Scorer share. */
#ifndef FURROW_PYTHON_SCORER_H
#define FURROW_PYTHON_SCORER_H

#include <pthread.h>

#include "py_core.h"

/* A loaded model and the scratches that no thread uses at the moment. */
typedef struct fwpy_scorer {
  PyObject_HEAD furrow_scorer *scorer;
  pthread_mutex_t mutex; /* protects the members below */
  furrow_scorer_scratch **idle;
  size_t idle_count, idle_capacity;
} fwpy_scorer;

/* Takes a scratch for the calling thread, or makes one. Needs no lock of the interpreter. */
furrow_status fwpy_scratch_take(fwpy_scorer *self, furrow_scorer_scratch **scratch, furrow_error *err);
/* Gives it back; takes NULL. */
void fwpy_scratch_give(fwpy_scorer *self, furrow_scorer_scratch *scratch);

/* Fills in an error that is not of the library. Returns its status. */
furrow_status fwpy_fail(furrow_error *err, furrow_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Scores a block; refuses scores that are not numbers. first: the number of its first row, for messages. */
furrow_status fwpy_score_block(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                               const furrow_rowblock *block, uint64_t first, furrow_score *scores, furrow_error *err);

/* Rows that are scored at once: threads take whole multiples, so that a row has the same neighbours, and so the same
 * digits, for any number of threads. */
#define FWPY_PIECE 256

/* Threads that work for one call. */
typedef struct fwpy_team fwpy_team;
/* count: 0, one for each processor. A team of one needs no thread. */
fwpy_team *fwpy_team_start(unsigned count);
/* Calls work(user, i) for each i below count, from all threads of the team and the caller's. */
void fwpy_team_run(fwpy_team *team, void (*work)(void *user, size_t i), void *user, size_t count);
void fwpy_team_stop(fwpy_team *team);

/* Writes the probabilities of each row: furrow_scorer_class_count numbers. */
furrow_status fwpy_class_probabilities(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                       const furrow_rowblock *block, uint64_t first, double *out, furrow_error *err);
/* Adds to an error of a block the row that does not fit the model. */
void fwpy_locate_error(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_rowblock *block,
                       uint64_t first, furrow_error *err);
/* The rows of a list of events, each a tuple of pairs (column, value) of bytes; NULL: an exception is set. */
furrow_container *fwpy_encode_events(const furrow_scorer *scorer, PyObject *events);

/* Rows of a URI that are being scored. */
typedef struct fwpy_score_reader {
  PyObject_HEAD fwpy_scorer *owner;
  unsigned threads;
  pthread_mutex_t mutex; /* protects the members below */
  furrow_sample_reader *samples;
  const furrow_rowblock *block; /* NULL: none so far */
  size_t at;                    /* its next row */
  uint64_t rows;                /* that were handed out */
  bool ended;
} fwpy_score_reader;

/* Gives the next rows, at most `most`; END at the end. The caller holds the reader's mutex. */
furrow_status fwpy_reader_next(fwpy_score_reader *self, size_t most, furrow_rowblock *rows, furrow_error *err);

/* A block whose pieces of FWPY_PIECE rows a team works on. */
typedef struct fwpy_pieces {
  fwpy_score_reader *reader;
  fwpy_job *job;
  /* Called for each piece, from several threads. */
  furrow_status (*work)(struct fwpy_pieces *pieces, size_t i, furrow_scorer_scratch *scratch,
                        const furrow_rowblock *block, furrow_error *err);
  /* Called before the pieces of a block, with their number; NULL: not needed. */
  furrow_status (*before)(struct fwpy_pieces *pieces, size_t count, furrow_error *err);
  /* Called when all pieces of a block are done, from one thread; NULL: not needed. */
  furrow_status (*after)(struct fwpy_pieces *pieces, furrow_error *err);
  size_t shards; /* pieces i, i + shards … are worked on in order by one thread; 0: any piece by any */
  furrow_rowblock block;
  size_t count;   /* count of its pieces */
  uint64_t first; /* number of its first row among all of the URI */
  size_t done;    /* rows of this call before the block; at the end, all */
  furrow_status status;
  size_t failed; /* the first piece that failed */
  furrow_error *err;
} fwpy_pieces;

/* Works on the next rows, at most `most`. A job runs this function. */
furrow_status fwpy_reader_run(fwpy_pieces *pieces, size_t most, fwpy_job *job, furrow_error *err);

/* Text of the library as a str; frees it. */
PyObject *fwpy_take_text(char *text, size_t size);

/* Methods of Scorer and ScoreReader that are defined in other sources, named after them. */
PyObject *fwpy_scorer_read(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_trees(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_forest(PyObject *self, PyObject *unused);
PyObject *fwpy_scorer_importance(PyObject *self, PyObject *unused);
PyObject *fwpy_scorer_weights(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_features(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_vector_size(PyObject *self, PyObject *unused);
PyObject *fwpy_scorer_side(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_side_vectors(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_feature_vectors(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_columns(PyObject *self, PyObject *unused);
PyObject *fwpy_scorer_data_columns(PyObject *self, PyObject *unused);
PyObject *fwpy_scorer_feature_columns(PyObject *self, PyObject *args);
PyObject *fwpy_scorer_describe_feature(PyObject *self, PyObject *number);
PyObject *fwpy_scorer_add_events(PyObject *self, PyObject *args);
PyObject *fwpy_reader_evaluate(PyObject *self, PyObject *args);
PyObject *fwpy_reader_contributions(PyObject *self, PyObject *args);
int fwpy_add_score_reader(PyObject *module);

#endif
