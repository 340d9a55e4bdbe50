/* model/jobs/algorithm.h: names of algorithms. */
#ifndef FW_MODEL_JOBS_ALGORITHM_H
#define FW_MODEL_JOBS_ALGORITHM_H

/* Returns the short name (lr, wide_and_deep …) of an algorithm, given its class or another of its names in any case and
 * with any package prefix; NULL if it is unknown. */
const char *fw_algorithm_name(const char *algorithm);

#endif
