/* kern/math/steps.h: steps of optimizers on many weights.
 *
 * There is a table for floats and one for doubles; what is `void` here is of that type. Nothing is rounded differently
 * at different levels of instructions. */
#ifndef FW_KERN_MATH_STEPS_H
#define FW_KERN_MATH_STEPS_H

#include <stdbool.h>
#include <stddef.h>

/* The numbers of a rule at one step, the same for all weights. What each rule makes of them is in steps_tmpl.h. */
typedef struct fw_step_rule {
  double rate;
  double a, b; /* how much of an average stays: momentum a; AdaGrad a; AdaDelta, Adam a and b; FTRL: alpha, beta */
  double l1, l2;
  double young;   /* Adam: 1 / (1 - b^t); its rate has 1 / (1 - a^t) in it */
  double per_row; /* a gradient is the sum that is handed in times this */
  /* FTRL: a weight without state is one that was drawn, loaded or set: its state becomes the one that gives it. Else it
   * is dropped at its first step, as Angel does. */
  bool keeps_first;
} fw_step_rule;

typedef struct fw_step_kernel {
  /* n weights w in one piece, with the optimizer's numbers for each (NULL where the rule has none). */
  void (*array)(const fw_step_rule *rule, size_t n, void *w, void *state0, void *state1, const void *sum);
  /* n weights in each of `count` records, from number `at` on, the optimizer's numbers behind them; count * n sums. */
  void (*records)(const fw_step_rule *rule, size_t n, size_t count, void *const *record, size_t at, const void *sum);
} fw_step_kernel;

typedef struct fw_steps {
  fw_step_kernel sgd, momentum, adagrad, adadelta, adam, ftrl, published_adagrad;
} fw_steps;

/* The kernels of this process, and what fills them (kern/dispatch.h). */
const fw_steps *fw_steps_table_f32(void);
const fw_steps *fw_steps_table_f64(void);
void fw_steps_fill_generic(fw_steps *f32, fw_steps *f64);
void fw_steps_fill_avx2(fw_steps *f32, fw_steps *f64);

#endif
