/* model/jobs/algorithm.h: names of algorithms. */
#ifndef FW_MODEL_JOBS_ALGORITHM_H
#define FW_MODEL_JOBS_ALGORITHM_H

/* The short name (lr, wide_and_deep …) of an algorithm by its class or another of its names, in any case and with any
 * package before it; NULL: no such algorithm. */
const char *fw_algorithm_name(const char *algorithm);

#endif
