/*
 * Token buckets and the lists of throttled replicas. Pure: runs wherever the owner runs.
 * Invariant: tokens never pass the bucket's size; time that is not yet worth a whole byte is kept.
 */
#include "replica/throttle.h"

#include "base/check.h"

#define RATE_MAX  ((int64_t)1000000000000) /* faster than any machine: no bound */
#define PIECE_MIN ((int64_t)64 << 10)      /* bytes; smaller pieces cost more than they smooth */
#define SECOND_US ((int64_t)1000000)
#define BUCKET_US (SECOND_US / 10)

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
        return SECOND_US / 1000; /* until somebody raises it */
    }
    fill(t, now_us);
    int64_t missing = MAX(bucket_size(t) / 2 - t->tokens, 0);
    int64_t wait_ms = missing / t->rate * 1000 + missing % t->rate * 1000 / t->rate;
    return MAX(wait_ms, 1);
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

static bool entry_is(const uint8_t *ptr, const uint8_t *end, int32_t partition, int32_t broker)
{
    while (ptr < end && *ptr == ' ') {
        ptr++;
    }
    while (ptr < end && end[-1] == ' ') {
        end--;
    }
    const uint8_t *colon = memchr(ptr, ':', (size_t)(end - ptr));
    int32_t left;
    int32_t right;
    return colon != NULL && parse_number(ptr, colon, &left) && left == partition &&
           parse_number(colon + 1, end, &right) && right == broker;
}

bool replica_throttle_list_has(struct slice list, int32_t partition, int32_t broker)
{
    if (list.len == 0) {
        return false;
    }
    if (slice_equal_str(list, "*")) {
        return true;
    }
    const uint8_t *ptr = list.ptr;
    const uint8_t *end = list.ptr + list.len;
    while (ptr < end) {
        const uint8_t *comma = memchr(ptr, ',', (size_t)(end - ptr));
        const uint8_t *stop = comma == NULL ? end : comma;
        if (entry_is(ptr, stop, partition, broker)) {
            return true;
        }
        ptr = stop + 1;
    }
    return false;
}
