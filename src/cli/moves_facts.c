/*
 * See the header. Where an answer is doubted, the old fact stays as it was.
 */
#include "cli/moves_facts.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"

#include <stdlib.h>

void cli_moves_facts_deinit(struct cli_moves_facts *facts)
{
    for (int32_t i = 0; i < facts->count; i++) {
        free(facts->list[i].topic);
        assignment_deinit(&facts->list[i].assignment);
    }
    free(facts->list);
    *facts = (struct cli_moves_facts){0};
}

static int compare_facts(const void *a, const void *b)
{
    const struct cli_moves_fact *x = a;
    const struct cli_moves_fact *y = b;
    int order = strcmp(x->topic, y->topic);
    return order != 0 ? order : x->partition < y->partition ? -1 : x->partition > y->partition;
}

void cli_moves_facts_add(struct cli_moves_facts *facts, const struct klamm_partition_ref *ref)
{
    if (facts->count == facts->cap) {
        facts->cap = MAX(facts->cap * 2, 64);
        facts->list = xrealloc(facts->list, (size_t)facts->cap * sizeof *facts->list);
    }
    facts->list[facts->count++] = (struct cli_moves_fact){.topic = xstrdup(ref->topic),
                                                          .partition = ref->partition,
                                                          .leader = -1,
                                                          .bytes = -1,
                                                          .doubt_since_ms = -1};
}

void cli_moves_facts_sort(struct cli_moves_facts *facts)
{
    int32_t kept = 0;
    if (facts->count > 1) {
        qsort(facts->list, (size_t)facts->count, sizeof *facts->list, compare_facts);
    }
    for (int32_t i = 0; i < facts->count; i++) {
        if (kept > 0 && compare_facts(&facts->list[kept - 1], &facts->list[i]) == 0) {
            free(facts->list[i].topic);
        } else {
            facts->list[kept++] = facts->list[i];
        }
    }
    facts->count = kept;
}

struct cli_moves_fact *cli_moves_facts_find(const struct cli_moves_facts *facts, struct slice topic,
                                            int32_t partition)
{
    int32_t low = 0;
    int32_t high = facts->count;
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        struct cli_moves_fact *fact = &facts->list[mid];
        int order = slice_compare(topic, slice_str(fact->topic));
        order = order != 0 ? order : partition < fact->partition ? -1 : partition > fact->partition;
        if (order == 0) {
            return fact;
        }
        if (order < 0) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return NULL;
}

/* ---- updates ---- */

static void set_ids(struct ids *ids, struct klamm_ids from)
{
    ids_set(ids, from.list, from.count);
}

/* Takes the assignment as the new one when it differs; next is empty afterwards. */
static void take(struct cli_moves_fact *fact, struct assignment *next)
{
    if (!assignment_equal(&fact->assignment, next) || !fact->exists) {
        struct assignment old = fact->assignment;
        ids_move(&next->original, &old.original);
        fact->assignment = *next;
        assignment_deinit(&old);
        fact->is_changed = true;
        fact->exists = true;
    } else {
        assignment_deinit(next);
    }
    *next = (struct assignment){0};
}

static void take_move(struct cli_moves_fact *fact, const struct klamm_move *move)
{
    struct assignment next = {0};
    set_ids(&next.replicas, move->replicas);
    set_ids(&next.adding, move->adding);
    set_ids(&next.removing, move->removing);
    if (fact->assignment.original.count == 0) {
        assignment_origin(&next, &fact->assignment.original);
    }
    fact->doubt_since_ms = -1;
    take(fact, &next);
}

/* The list is where the known move leads, or where it came from: it has ended there. */
static bool is_end_of(const struct assignment *known, const struct ids *list)
{
    struct ids target = {0};
    struct ids origin = {0};
    assignment_target(known, &target);
    assignment_origin(known, &origin);
    bool is_end = ids_equal(list, &target) || ids_same_set(list, &origin);
    ids_deinit(&target);
    ids_deinit(&origin);
    return is_end;
}

/* Metadata has contradicted long enough. */
static bool has_settled(struct cli_moves_fact *fact, int64_t now_ms)
{
    if (fact->doubt_since_ms < 0) {
        fact->doubt_since_ms = now_ms;
    }
    return now_ms - fact->doubt_since_ms >= CLI_MOVES_FACTS_SETTLE_MS;
}

/* Whether Metadata's list of a partition that does not move is to be believed. */
static bool is_believed(struct cli_moves_fact *fact, const struct ids *list, int64_t now_ms)
{
    bool was_moving = assignment_is_reassigning(&fact->assignment);
    bool agrees = was_moving ? is_end_of(&fact->assignment, list)
                             : ids_equal(list, &fact->assignment.replicas);
    return !fact->exists || agrees || has_settled(fact, now_ms);
}

static void take_resting(struct cli_moves_fact *fact, const struct klamm_partition *partition,
                         int64_t now_ms)
{
    struct assignment next = {0};
    set_ids(&next.replicas, partition->replicas);
    if (is_believed(fact, &next.replicas, now_ms)) {
        ids_clear(&fact->assignment.original); /* nothing moves: there is nothing to go back to */
        fact->doubt_since_ms = -1;
        take(fact, &next);
    }
    assignment_deinit(&next);
}

void cli_moves_facts_update(struct cli_moves_facts *facts, const struct klamm_moves *moves,
                            const struct klamm_topics *topics, int64_t now_ms)
{
    int32_t at = 0; /* both lists are sorted alike */
    for (int32_t i = 0; i < facts->count; i++) {
        struct cli_moves_fact *fact = &facts->list[i];
        const struct klamm_partition *partition =
            cli_topics_find_partition(topics, fact->topic, fact->partition);
        int32_t leader = partition == NULL ? -1 : partition->leader_id;
        int order = -1;
        while (at < moves->count && order < 0) {
            order = strcmp(moves->list[at].topic, fact->topic);
            order = order != 0 ? order : moves->list[at].partition - fact->partition;
            at += order < 0;
        }
        fact->is_changed = leader != fact->leader;
        fact->leader = leader;
        if (at < moves->count && order == 0) {
            take_move(fact, &moves->list[at]);
        } else if (partition != NULL) {
            take_resting(fact, partition, now_ms);
        } else if (fact->exists && has_settled(fact, now_ms)) {
            fact->exists = false;
            fact->is_changed = true;
        }
    }
}

void cli_moves_fact_accept(struct cli_moves_fact *fact, const struct ids *target, int64_t now_ms)
{
    struct assignment next = {0};
    if (target != NULL) {
        assignment_reassign(&fact->assignment, target, &next);
    } else {
        (void)assignment_undo_target(&fact->assignment, &next.replicas); /* derived is as good */
    }
    if (!assignment_is_reassigning(&next)) {
        ids_clear(&next.original);
    }
    assignment_deinit(&fact->assignment);
    fact->assignment = next;
    fact->doubt_since_ms = now_ms; /* Metadata has yet to hear of it */
}
