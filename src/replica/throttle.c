/*
 * Token buckets and the lists of throttled replicas. Pure: runs wherever the owner runs.
 * Invariant: tokens never pass the bucket's size; time that is not yet worth a whole byte is kept.
 */
#include "replica/throttle.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define RATE_MAX    ((int64_t)1000000000000) /* faster than any machine: no bound */
#define PIECE_MIN   ((int64_t)64 << 10)      /* bytes; smaller pieces cost more than they smooth */
#define SECOND_US   ((int64_t)1000000)
#define WAIT_MAX_MS ((int64_t)1000) /* so late a change of rates or lists is seen */
#define BUCKET_US   (SECOND_US / 10)

static bool is_bound(const struct replica_throttle *t)
{
    return t->rate < RATE_MAX;
}

static int64_t bucket_size(const struct replica_throttle *t)
{
    return MAX(t->rate / (SECOND_US / BUCKET_US), 1);
}

/* Takes the time since at_us into account. */
static void fill(struct replica_throttle *t, int64_t now_us)
{
    if (t->rate == 0) {
        t->at_us = now_us;
        return;
    }
    int64_t missing = bucket_size(t) - t->tokens;
    int64_t elapsed_us = MAX(now_us - t->at_us, 0);
    /* Long times first, so that the product below cannot overflow. */
    if (elapsed_us / SECOND_US > missing / t->rate) {
        t->tokens = bucket_size(t);
        t->at_us = now_us;
        return;
    }
    int64_t earned =
        elapsed_us / SECOND_US * t->rate + elapsed_us % SECOND_US * t->rate / SECOND_US;
    if (earned >= missing) {
        t->tokens = bucket_size(t);
        t->at_us = now_us;
    } else if (earned > 0) {
        t->tokens += earned;
        t->at_us += earned / t->rate * SECOND_US + earned % t->rate * SECOND_US / t->rate;
    }
}

void replica_throttle_set(struct replica_throttle *t, int64_t rate, int64_t now_us)
{
    if (rate != t->rate || t->at_us == 0) {
        *t = (struct replica_throttle){.rate = MAX(rate, 0), .at_us = now_us};
    }
}

bool replica_throttle_is_exceeded(struct replica_throttle *t, int64_t now_us)
{
    if (!is_bound(t)) {
        return false;
    }
    fill(t, now_us);
    return t->tokens <= 0;
}

int32_t replica_throttle_piece(struct replica_throttle *t, int32_t bytes_max, int64_t now_us)
{
    if (!is_bound(t)) {
        return bytes_max;
    }
    fill(t, now_us);
    return (int32_t)MIN((int64_t)bytes_max, MAX(t->tokens, PIECE_MIN));
}

void replica_throttle_take(struct replica_throttle *t, int64_t bytes, int64_t now_us)
{
    if (is_bound(t)) {
        fill(t, now_us);
        t->tokens -= bytes;
    }
}

int64_t replica_throttle_wait_ms(struct replica_throttle *t, int64_t now_us)
{
    if (!is_bound(t)) {
        return 1;
    }
    if (t->rate == 0) {
        return WAIT_MAX_MS;
    }
    fill(t, now_us);
    int64_t missing = MAX(bucket_size(t) / 2 - t->tokens, 0);
    int64_t wait_ms = missing / t->rate * 1000 + missing % t->rate * 1000 / t->rate;
    return MIN(MAX(wait_ms, 1), WAIT_MAX_MS);
}

/* Digits only, up to end; false when there are none or too many. */
static bool parse_number(const uint8_t *ptr, const uint8_t *end, int32_t *ret_number)
{
    int64_t number = 0;
    if (ptr == end || end - ptr > 10) {
        return false;
    }
    for (; ptr < end; ptr++) {
        if (*ptr < '0' || *ptr > '9') {
            return false;
        }
        number = number * 10 + (*ptr - '0');
    }
    *ret_number = (int32_t)MIN(number, INT32_MAX);
    return number <= INT32_MAX;
}

/* "partition:broker" with blanks around; false when it is something else. */
static bool parse_entry(const uint8_t *ptr, const uint8_t *end, int32_t *ret_partition,
                        int32_t *ret_broker)
{
    while (ptr < end && *ptr == ' ') {
        ptr++;
    }
    while (ptr < end && end[-1] == ' ') {
        end--;
    }
    const uint8_t *colon = ptr < end ? memchr(ptr, ':', (size_t)(end - ptr)) : NULL;
    return colon != NULL && parse_number(ptr, colon, ret_partition) &&
           parse_number(colon + 1, end, ret_broker);
}

static int compare_partitions(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

void replica_throttle_list_set(struct replica_throttle_list *list, struct slice text,
                               int32_t broker)
{
    const uint8_t *ptr = text.ptr;
    const uint8_t *end = text.len == 0 ? ptr : ptr + text.len;
    int32_t cap = 0;
    replica_throttle_list_deinit(list);
    list->has_all = slice_equal_str(text, "*");
    while (ptr < end) {
        const uint8_t *comma = memchr(ptr, ',', (size_t)(end - ptr));
        const uint8_t *stop = comma == NULL ? end : comma;
        int32_t partition;
        int32_t whose;
        if (parse_entry(ptr, stop, &partition, &whose) && whose == broker) {
            if (list->count == cap) {
                cap = MAX(cap * 2, 16);
                list->partitions =
                    xrealloc(list->partitions, (size_t)cap * sizeof *list->partitions);
            }
            list->partitions[list->count++] = partition;
        }
        ptr = stop + 1;
    }
    if (list->count > 0) {
        qsort(list->partitions, (size_t)list->count, sizeof *list->partitions, compare_partitions);
    }
}

void replica_throttle_list_deinit(struct replica_throttle_list *list)
{
    free(list->partitions);
    *list = (struct replica_throttle_list){0};
}

bool replica_throttle_list_has(const struct replica_throttle_list *list, int32_t partition)
{
    return list->has_all ||
           (list->count > 0 && bsearch(&partition, list->partitions, (size_t)list->count,
                                       sizeof *list->partitions, compare_partitions) != NULL);
}
