/* cli/cmd_index.c: the noun index: its verbs. */
#include "cmd_index.h"

#include <stddef.h>

static const command *const verbs[] = {&index_info_command, &index_map_command, &index_verify_command,
                                       &index_convert_command, NULL};

const command index_command = {
    .name = "index",
    .summary = "vector indexes as Faiss stores them: look into them, check them, write them",
    .example = "furrow index info items.index\nfurrow index map items.index | less",
    .about =
        "An index file is read with every number checked against the others and against the bytes there are. Lists "
        "that are in a data file of their own (ilod) are looked for beside the index, by the last part of the name "
        "that the index gives them; --lists names another place.",
    .verbs = verbs,
};
