/* learn/score/contributions.h: what a scratch keeps for furrow_scorer_contributions. */
#ifndef FW_LEARN_SCORE_CONTRIBUTIONS_H
#define FW_LEARN_SCORE_CONTRIBUTIONS_H

typedef struct fw_explainer fw_explainer;

void fw_explainer_free(fw_explainer *explainer);

#endif
