/* recommend/rank_figures.c: figures of rankings, user after user. */
#include "recommend/rank_figures.h"

#include <math.h>

fw_user_figures fw_rank_user(const bool *hits, size_t k, size_t relevant) {
  const size_t most = relevant < k ? relevant : k;
  double gain = 0, ideal = 0, precision = 0;
  size_t found = 0, first = 0;
  for (size_t i = 0; i < most; i++) ideal += 1 / log2((double)i + 2);
  for (size_t i = 0; i < k; i++) {
    if (!hits[i]) continue;
    if (found++ == 0) first = i + 1;
    gain += 1 / log2((double)i + 2);
    precision += (double)found / (double)(i + 1);
  }
  return (fw_user_figures){.ndcg = gain / ideal,
                           .recall = (double)found / (double)most,
                           .map = precision / (double)most,
                           .mrr = first ? 1 / (double)first : 0,
                           .hit = first ? 1 : 0};
}

void fw_rank_add(fw_rank_sum *sum, const fw_user_figures *user) {
  sum->users++;
#define ADD(figure) sum->sum.figure += user->figure, sum->squares.figure += user->figure * user->figure
  ADD(ndcg);
  ADD(recall);
  ADD(map);
  ADD(mrr);
  ADD(hit);
#undef ADD
}

/* 1.96 standard errors of the mean. */
static furrow_rank_figure figure_of(double sum, double squares, size_t users) {
  const double n = (double)users, mean = sum / n, rest = squares - sum * mean;
  return (furrow_rank_figure){.mean = users ? mean : NAN,
                              .interval = users > 1 ? 1.96 * sqrt((rest > 0 ? rest : 0) / (n - 1) / n) : NAN};
}

void fw_rank_means(const fw_rank_sum *sum, furrow_rank_figures *figures) {
#define MEAN(figure) figures->figure = figure_of(sum->sum.figure, sum->squares.figure, sum->users)
  MEAN(ndcg);
  MEAN(recall);
  MEAN(map);
  MEAN(mrr);
  MEAN(hit);
#undef MEAN
  figures->users = sum->users;
}
