/* cli/index/cmd_index.c: the noun index: its verbs. */

#include "core/commands.h"
#include <stddef.h>

static const command *const verbs[] = {&index_build_command,    &index_add_command,     &index_search_command,
                                       &index_recall_command,   &index_remove_command,  &index_merge_command,
                                       &index_estimate_command, &index_info_command,    &index_map_command,
                                       &index_verify_command,   &index_convert_command, NULL};

const command index_command = {
    .name = "index",
    .summary = "vector indexes as Faiss stores them: build them, search them, change them, look into them",
    .example = "furrow index build --base base.fvecs --out items.index --nlist 1024 --m 16\n"
               "furrow index search items.index queries.fvecs -k 10 --nprobe 16\n"
               "furrow index info items.index",
    .about =
        "An index file is read with every number checked against the others and against the bytes there are. Lists "
        "that are in a data file of their own (ilod) are looked for beside the index, by the last part of the name "
        "that the index gives them; --lists names another place.",
    .verbs = verbs,
};
