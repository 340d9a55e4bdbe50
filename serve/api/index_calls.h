/* serve/api/index_calls.h: what handlers of indexes share. */
#ifndef SERVE_API_INDEX_CALLS_H
#define SERVE_API_INDEX_CALLS_H

#include "api/index_requests.h"

request_text call_text(const call *c);
void answer_fault(call *c, furrow_status status, const request_fault *fault);
/* The view of the call's index, kept for the caller; NULL: there is none, and the answer says so. */
index_view *call_view(call *c);

#endif
