/* tests/fuzz/harness/fuzz_budget.h: limits of memory and processor time that grow with the input (budget.c).
 *
 * Every input of every fuzz program has them. A program that makes a larger text from its input measures that text. */
#ifndef FUZZ_BUDGET_H
#define FUZZ_BUDGET_H

#include <stddef.h>

/* Measures from here on. */
void fuzz_budget_begin(void);
/* Aborts if more than `fixed` + 20 times `bytes` were allocated at one time since begin, or if the process took more
 * than 5 s + 10 µs for each of them (with sanitizers ten times as long). Under valgrind nothing is checked. */
void fuzz_budget_end(size_t bytes, size_t fixed);

#endif
