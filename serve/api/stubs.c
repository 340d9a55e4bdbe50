/* Until the real ones are there. */
#include "api/service.h"
#define STUB(name)                             \
  __attribute__((weak)) void name(call *c) { \
    c->answer->status = 501;                   \
  }
STUB(add_handler)
STUB(checkpoint_handler)
STUB(curve_handler)
STUB(indexes_handler)
STUB(reload_index_handler)
STUB(remove_handler)
