/*
 * The table of limits: texts of topics, one sorted list of partitions, the groups with their buckets.
 * Pure: runs wherever the owner runs. Invariant: once sealed, the list ascends and names no partition
 * twice.
 */
#include "replica/limit.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

struct entry {
    const char *topic; /* one of texts */
    size_t topic_len;
    int32_t partition;
    int32_t group;
    int32_t order; /* in which it was added */
};

struct replica_limits {
    struct entry *entries;
    int32_t count;
    int32_t cap;
    char **texts; /* owned; a run of one topic shares its text */
    int32_t text_count;
    int32_t text_cap;
    struct replica_limit *groups;
    int32_t group_count;
    int32_t group_cap;
    bool is_sealed;
};

/* ---- building ---- */

struct replica_limits *replica_limits_new(void)
{
    return xalloc(sizeof(struct replica_limits));
}

void replica_limits_free(struct replica_limits *l)
{
    if (l == NULL) {
        return;
    }
    for (int32_t i = 0; i < l->text_count; i++) {
        free(l->texts[i]);
    }
    free(l->texts);
    free(l->entries);
    free(l->groups);
    free(l);
}

int32_t replica_limits_add_group(struct replica_limits *l, int64_t rate, int64_t now_us)
{
    CHECK(!l->is_sealed);
    if (l->group_count == l->group_cap) {
        l->group_cap = MAX(l->group_cap * 2, 8);
        l->groups = xrealloc(l->groups, (size_t)l->group_cap * sizeof *l->groups);
    }
    struct replica_limit *group = &l->groups[l->group_count];
    *group = (struct replica_limit){.rate = rate < 0 ? REPLICA_THROTTLE_NONE : rate};
    for (int i = REPLICA_IN; i <= REPLICA_OUT; i++) {
        replica_throttle_set(&group->buckets[i], group->rate, now_us);
    }
    return l->group_count++;
}

static const char *text_of(struct replica_limits *l, struct slice topic)
{
    const struct entry *last = l->count == 0 ? NULL : &l->entries[l->count - 1];
    if (last != NULL && slice_equal(slice_of(last->topic, last->topic_len), topic)) {
        return last->topic;
    }
    if (l->text_count == l->text_cap) {
        l->text_cap = MAX(l->text_cap * 2, 8);
        l->texts = xrealloc(l->texts, (size_t)l->text_cap * sizeof *l->texts);
    }
    l->texts[l->text_count] = slice_dup(topic);
    return l->texts[l->text_count++];
}

void replica_limits_add(struct replica_limits *l, int32_t group, struct slice topic,
                        int32_t partition)
{
    CHECK(!l->is_sealed && group >= 0 && group < l->group_count);
    if (l->count == l->cap) {
        l->cap = MAX(l->cap * 2, 16);
        l->entries = xrealloc(l->entries, (size_t)l->cap * sizeof *l->entries);
    }
    struct entry entry = {.topic = text_of(l, topic),
                          .topic_len = topic.len,
                          .partition = partition,
                          .group = group,
                          .order = l->count};
    l->entries[l->count++] = entry;
}

static int compare_places(const struct entry *x, const struct entry *y)
{
    int order = x->topic == y->topic ? 0
                                     : slice_compare(slice_of(x->topic, x->topic_len),
                                                     slice_of(y->topic, y->topic_len));
    return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static int compare(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = compare_places(x, y);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* The buckets of a group that goes on. */
static void inherit(struct replica_limits *l, const struct replica_limits *before)
{
    for (int32_t i = 0; i < l->count; i++) {
        const struct entry *e = &l->entries[i];
        int32_t old = replica_limits_find(before, slice_of(e->topic, e->topic_len), e->partition);
        if (old >= 0 && before->groups[old].rate == l->groups[e->group].rate) {
            l->groups[e->group] = before->groups[old];
        }
    }
}

void replica_limits_seal(struct replica_limits *l, const struct replica_limits *before)
{
    CHECK(!l->is_sealed);
    if (l->count > 0) {
        qsort(l->entries, (size_t)l->count, sizeof *l->entries, compare);
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < l->count; i++) {
        if (kept == 0 || compare_places(&l->entries[kept - 1], &l->entries[i]) != 0) {
            l->entries[kept++] = l->entries[i];
        }
    }
    l->count = kept;
    l->is_sealed = true;
    if (before != NULL) {
        inherit(l, before);
    }
}

/* ---- looking ---- */

int32_t replica_limits_group_count(const struct replica_limits *l)
{
    return l->group_count;
}

struct replica_limit *replica_limits_group(struct replica_limits *l, int32_t group)
{
    CHECK(group >= 0 && group < l->group_count);
    return &l->groups[group];
}

int32_t replica_limits_find(const struct replica_limits *l, struct slice topic, int32_t partition)
{
    struct entry key = {
        .topic = (const char *)topic.ptr, .topic_len = topic.len, .partition = partition};
    int32_t low = 0;
    int32_t high = l->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = compare_places(&l->entries[middle], &key);
        if (order == 0) {
            return l->entries[middle].group;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return REPLICA_LIMIT_UNGROUPED;
}

int32_t replica_limits_count(const struct replica_limits *l)
{
    return l->count;
}

int32_t replica_limits_at(const struct replica_limits *l, int32_t index, struct slice *ret_topic,
                          int32_t *ret_partition)
{
    CHECK(index >= 0 && index < l->count);
    const struct entry *e = &l->entries[index];
    *ret_topic = slice_of(e->topic, e->topic_len);
    *ret_partition = e->partition;
    return e->group;
}

/* ---- arithmetic ---- */

static void pass_begin(struct replica_limit *limit, enum replica_direction direction, uint64_t pass)
{
    if (limit->pass[direction] != pass) {
        limit->pass[direction] = pass;
        limit->promised[direction] = 0;
    }
}

int32_t replica_limit_piece(struct replica_limit *limit, enum replica_direction direction,
                            int32_t bytes_max, uint64_t pass, int64_t now_us)
{
    struct replica_throttle *bucket = &limit->buckets[direction];
    pass_begin(limit, direction, pass);
    if (replica_limit_is_paused(limit)) {
        return 0;
    }
    if (limit->rate == REPLICA_THROTTLE_NONE) {
        return bytes_max;
    }
    if (replica_throttle_is_exceeded(bucket, now_us) ||
        bucket->tokens <= limit->promised[direction]) {
        return 0;
    }
    int64_t left = bucket->tokens - limit->promised[direction];
    int32_t piece = replica_throttle_piece(bucket, bytes_max, now_us);
    /* The bucket knows nothing of promises: what it gives shrinks by them, down to a useful piece. */
    return (int32_t)MIN((int64_t)piece, MAX(left, MIN((int64_t)bytes_max, REPLICA_LIMIT_PIECE)));
}

void replica_limit_promise(struct replica_limit *limit, enum replica_direction direction,
                           int64_t bytes)
{
    limit->promised[direction] += bytes;
}

void replica_limit_take(struct replica_limit *limit, enum replica_direction direction,
                        int64_t bytes, int64_t now_us)
{
    replica_throttle_take(&limit->buckets[direction], bytes, now_us);
}

int64_t replica_limit_wait_ms(struct replica_limit *limit, enum replica_direction direction,
                              int64_t now_us)
{
    return replica_throttle_wait_ms(&limit->buckets[direction], now_us);
}
