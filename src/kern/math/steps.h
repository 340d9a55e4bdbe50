/* kern/math/steps.h: steps of optimizers on many weights.
 *
 * There is a table for floats and one for doubles; `void` stands for that type here. All instruction set levels
 * round in the same way. */
#ifndef FW_KERN_MATH_STEPS_H
#define FW_KERN_MATH_STEPS_H

#include <stdbool.h>
#include <stddef.h>

/* The parameters of a rule at one step, the same for all weights. steps_tmpl.h has the rules. */
typedef struct fw_step_rule {
  double rate;
  double a, b; /* decay of averages: momentum a; AdaGrad a; AdaDelta, Adam a and b; FTRL: alpha, beta */
  double l1, l2;
  double young;   /* Adam: 1 / (1 - b^t); its rate includes 1 / (1 - a^t) */
  double per_row; /* a gradient is the given sum times this */
  /* FTRL: a weight without state was drawn, loaded or set, and gets the state that produces it. Otherwise it is
   * dropped at its first step, as Angel does. */
  bool keeps_first;
} fw_step_rule;

typedef struct fw_step_kernel {
  /* Updates n contiguous weights w, with the optimizer's state for each (NULL if the rule has none). */
  void (*array)(const fw_step_rule *rule, size_t n, void *w, void *state0, void *state1, const void *sum);
  /* Updates n weights in each of `count` records, from number `at` on; the optimizer's state follows them. There are
   * count * n sums. */
  void (*records)(const fw_step_rule *rule, size_t n, size_t count, void *const *record, size_t at, const void *sum);
} fw_step_kernel;

typedef struct fw_steps {
  fw_step_kernel sgd, momentum, adagrad, adadelta, adam, ftrl, published_adagrad;
} fw_steps;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_steps *fw_steps_table_f32(void);
const fw_steps *fw_steps_table_f64(void);
void fw_steps_fill_generic(fw_steps *f32, fw_steps *f64);
void fw_steps_fill_avx2(fw_steps *f32, fw_steps *f64);

#endif
