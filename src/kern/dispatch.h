/* kern/dispatch.h: selects the kernels that run.
 *
 * Each topic has a table of functions (fw_gemm, fw_scan …). All tables are filled once per process: first with plain
 * C, then each instruction set level up to the process's level overwrites the functions that it does better:
 * fw_<topic>_fill_<isa> in <topic>_<isa>.c. fw_isa_choose returns the level: the best of the processor, or the one
 * that FURROW_ISA names. A new topic needs a member here, and its fill functions and its accessor in dispatch.c. */
#ifndef FW_KERN_DISPATCH_H
#define FW_KERN_DISPATCH_H

#include "base/cpu.h"
#include "kern/math/gather.h"
#include "kern/math/gemm.h"
#include "kern/math/pairs.h"
#include "kern/math/solve.h"
#include "kern/math/steps.h"
#include "kern/math/traverse.h"
#include "kern/math/trees.h"
#include "kern/products/products.h"
#include "kern/scan/scan.h"
#include "kern/text/digits.h"
#include "kern/text/tokenizer.h"

typedef struct fw_kernels {
  fw_isa isa;
  fw_tokenizer tokenizer;
  fw_digits digits;
  fw_scan scan;
  fw_products products;
  fw_gemm gemm;
  fw_traverse traverse;
  fw_trees trees;
  fw_gather gather_f32, gather_f64;
  fw_pairs pairs_f32, pairs_f64;
  fw_steps steps_f32, steps_f64;
  fw_solve solve;
} fw_kernels;

/* Returns the kernels of one level, which must be available, for tests. Other code calls fw_gemm_table,
 * fw_scan_table …, which any thread may do at any time. */
fw_kernels fw_kernels_at(fw_isa isa);

#endif
