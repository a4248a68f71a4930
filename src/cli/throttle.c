/*
 * All (topic, partition, broker, side) rows are gathered, then sorted by topic, side and text: lists,
 * sets and topics fall out of one pass.
 */
#include "cli/throttle.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct row {
    const char *topic;
    bool is_receiver;
    int32_t broker_id;
    char text[24]; /* "0:1"; Kafka sorts by it: "0:10" before "0:2" */
};

struct rows {
    struct row *list;
    int32_t count;
    int32_t cap;
};

/* ---- gathering ---- */

static void add_row(struct rows *rows, const struct klamm_partition_ref *ref, int32_t broker_id,
                    bool is_receiver)
{
    if (rows->count == rows->cap) {
        rows->cap = MAX(rows->cap * 2, 64);
        rows->list = xrealloc(rows->list, (size_t)rows->cap * sizeof *rows->list);
    }
    struct row *row = &rows->list[rows->count++];
    *row = (struct row){.topic = ref->topic, .is_receiver = is_receiver, .broker_id = broker_id};
    snprintf(row->text, sizeof row->text, "%" PRId32 ":%" PRId32, ref->partition, broker_id);
}

/* Who has the data of a partition. */
struct sources {
    struct klamm_ids members;
    struct klamm_ids arriving; /* members that are still on their way do not count */
};

static bool is_source(const struct sources *sources, int32_t broker_id)
{
    return cli_text_ids_has(sources->members, broker_id) &&
           !cli_text_ids_has(sources->arriving, broker_id);
}

static void add_move(struct rows *rows, const struct klamm_partition_ref *ref,
                     const struct sources *sources, struct klamm_ids target)
{
    for (int32_t i = 0; i < sources->members.count; i++) {
        if (is_source(sources, sources->members.list[i])) {
            add_row(rows, ref, sources->members.list[i], false);
        }
    }
    for (int32_t i = 0; i < target.count; i++) {
        if (!is_source(sources, target.list[i])) {
            add_row(rows, ref, target.list[i], true);
        }
    }
}

static void add_planned(struct rows *rows, const struct cli_plan_entry *entry,
                        const struct klamm_topics *topics,
                        const struct klamm_reassignments *running)
{
    struct klamm_partition_ref ref = {entry->topic, entry->partition};
    const struct klamm_reassignment *move = cli_moves_find(running, entry->topic, entry->partition);
    const struct klamm_partition *partition =
        cli_topics_find_partition(topics, entry->topic, entry->partition);
    CHECK(partition != NULL); /* the plan was checked against these topics */
    struct sources sources = {.members = partition->replicas};
    if (move != NULL) {
        sources = (struct sources){.members = move->replicas, .arriving = move->adding};
    }
    add_move(rows, &ref, &sources, entry->replicas);
}

static int compare_entry(const void *key, const void *element)
{
    const struct klamm_reassignment *move = key;
    const struct cli_plan_entry *entry = element;
    int order = strcmp(move->topic, entry->topic);
    return order != 0 ? order
                      : (move->partition > entry->partition) - (move->partition < entry->partition);
}

static void add_running(struct rows *rows, const struct klamm_reassignments *running,
                        const struct cli_plan *plan)
{
    for (int32_t i = 0; i < running->count; i++) {
        const struct klamm_reassignment *move = &running->list[i];
        if (bsearch(move, plan->entries, (size_t)plan->count, sizeof *plan->entries,
                    compare_entry) == NULL) {
            struct klamm_partition_ref ref = {move->topic, move->partition};
            struct sources sources = {.members = move->replicas, .arriving = move->adding};
            add_move(rows, &ref, &sources, move->adding);
        }
    }
}

/* ---- lists ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int order = strcmp(x->topic, y->topic);
    if (order != 0) {
        return order;
    }
    return x->is_receiver != y->is_receiver ? (x->is_receiver ? 1 : -1) : strcmp(x->text, y->text);
}

/* The rows of one topic from the first on; returns how many they are. */
static int32_t put_topic(const struct row *first, const struct row *end,
                         struct cli_throttle_topic *topic)
{
    struct buf lists[2];
    const struct row *row = first;
    buf_init(&lists[0]);
    buf_init(&lists[1]);
    for (; row < end && strcmp(row->topic, first->topic) == 0; row++) {
        if (row == first || compare_rows(row, row - 1) != 0) {
            struct buf *list = &lists[row->is_receiver ? 1 : 0];
            buf_putf(list, "%s%s", list->len == 0 ? "" : ",", row->text);
        }
    }
    *topic = (struct cli_throttle_topic){.name = first->topic,
                                         .leaders = slice_dup(buf_slice(&lists[0])),
                                         .followers = slice_dup(buf_slice(&lists[1]))};
    buf_deinit(&lists[0]);
    buf_deinit(&lists[1]);
    return (int32_t)(row - first);
}

static int compare_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int32_t cli_throttle_sort_ids(int32_t *ids, int32_t count)
{
    int32_t kept = 0;
    if (count > 0) {
        qsort(ids, (size_t)count, sizeof *ids, compare_ids);
    }
    for (int32_t i = 0; i < count; i++) {
        if (kept == 0 || ids[i] != ids[kept - 1]) {
            ids[kept++] = ids[i];
        }
    }
    return kept;
}

struct cli_throttle *cli_throttle_new(const struct cli_plan *plan,
                                      const struct klamm_topics *topics,
                                      const struct klamm_reassignments *running)
{
    struct cli_throttle *throttle = xalloc(sizeof *throttle);
    struct rows rows = {0};
    for (int32_t i = 0; i < plan->count; i++) {
        add_planned(&rows, &plan->entries[i], topics, running);
    }
    add_running(&rows, running, plan);
    if (rows.count > 0) {
        qsort(rows.list, (size_t)rows.count, sizeof *rows.list, compare_rows);
    }
    throttle->topics = xalloc((size_t)MAX(rows.count, 1) * sizeof *throttle->topics);
    throttle->brokers = xalloc((size_t)MAX(rows.count, 1) * sizeof *throttle->brokers);
    for (int32_t i = 0; i < rows.count;) {
        i += put_topic(&rows.list[i], &rows.list[rows.count],
                       &throttle->topics[throttle->topic_count++]);
    }
    for (int32_t i = 0; i < rows.count; i++) {
        throttle->copies = throttle->copies || rows.list[i].is_receiver;
        throttle->brokers[i] = rows.list[i].broker_id;
    }
    throttle->broker_count = cli_throttle_sort_ids(throttle->brokers, rows.count);
    free(rows.list);
    return throttle;
}

void cli_throttle_free(struct cli_throttle *throttle)
{
    if (throttle == NULL) {
        return;
    }
    for (int32_t i = 0; i < throttle->topic_count; i++) {
        free(throttle->topics[i].leaders);
        free(throttle->topics[i].followers);
    }
    free(throttle->topics);
    free(throttle->brokers);
    free(throttle);
}

const struct cli_throttle_topic *cli_throttle_too_long(const struct cli_throttle *throttle)
{
    for (int32_t i = 0; i < throttle->topic_count; i++) {
        const struct cli_throttle_topic *topic = &throttle->topics[i];
        if (strlen(topic->leaders) > CLI_THROTTLE_LIST_MAX ||
            strlen(topic->followers) > CLI_THROTTLE_LIST_MAX) {
            return topic;
        }
    }
    return NULL;
}
