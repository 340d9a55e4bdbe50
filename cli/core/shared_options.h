/* cli/core/shared_options.h: options that several commands have. Each table has one option, whose field is at the
 * group's offset. */
#ifndef CLI_CORE_SHARED_OPTIONS_H
#define CLI_CORE_SHARED_OPTIONS_H

#include "core/options.h"

extern const option plugin_options[];  /* --plugin: registers the formats at once, fills no field */
extern const option threads_options[]; /* uint32_t */
extern const option memory_options[];  /* size_t, 0: not given */
extern const option quiet_options[];   /* bool */
extern const option json_options[];    /* bool */

#endif
