/*
 * Binary searches over the sorted rows of libklamm's results.
 */
#include "cli/moves.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <stdlib.h>

static int compare_topic(const void *key, const void *element)
{
    return strcmp(key, ((const struct klamm_topic *)element)->name);
}

const struct klamm_topic *cli_topics_find(const struct klamm_topics *topics, const char *name)
{
    if (topics == NULL || topics->count == 0) {
        return NULL;
    }
    return bsearch(name, topics->list, (size_t)topics->count, sizeof *topics->list, compare_topic);
}

const struct klamm_partition *cli_topics_find_partition(const struct klamm_topics *topics,
                                                        const char *name, int32_t partition)
{
    const struct klamm_topic *topic = cli_topics_find(topics, name);
    bool has = topic != NULL && topic->code == 0 && partition < topic->partition_count;
    return has ? &topic->partitions[partition] : NULL;
}

static int compare_move(const void *key, const void *element)
{
    const struct klamm_partition_ref *wanted = key;
    const struct klamm_reassignment *move = element;
    int order = strcmp(wanted->topic, move->topic);
    if (order != 0) {
        return order;
    }
    return wanted->partition < move->partition ? -1 : wanted->partition > move->partition;
}

const struct klamm_reassignment *cli_moves_find(const struct klamm_reassignments *moves,
                                                const char *topic, int32_t partition)
{
    struct klamm_partition_ref wanted = {topic, partition};
    if (moves == NULL || moves->count == 0) {
        return NULL;
    }
    return bsearch(&wanted, moves->list, (size_t)moves->count, sizeof *moves->list, compare_move);
}

struct klamm_ids cli_moves_target(const struct klamm_reassignment *move)
{
    int32_t *list = xalloc((size_t)MAX(move->replicas.count, 1) * sizeof *list);
    int32_t count = 0;
    for (int32_t i = 0; i < move->replicas.count; i++) {
        if (!cli_text_ids_has(move->removing, move->replicas.list[i])) {
            list[count++] = move->replicas.list[i];
        }
    }
    return (struct klamm_ids){list, count};
}
