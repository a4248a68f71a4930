/*
 * Frame assembly. Invariant: between calls the bytes read and not handed up are in exactly three
 * places, in this order: size_bytes, frame->data[0..frame->len), stash. Runs on the owner's env.
 */
#include "net/inbox.h"

#include "base/check.h"
#include "base/endian.h"

#include <stdlib.h>

#define FRAME_BYTES_FIRST ((size_t)64 << 10) /* memory for a large frame to begin with */
#define DIRECT_READ_MIN   ((size_t)16 << 10) /* more than that missing: read into the block */
#define TURN_BYTES_MAX    ((size_t)4 << 20)  /* read in one turn of the loop, for fairness */

void net_inbox_init(struct inbox *in, const struct inbox_config *config)
{
    *in = (struct inbox){.config = config};
}

void net_inbox_deinit(struct inbox *in)
{
    block_unref(in->frame);
    free(in->stash);
    budget_release(in->config->budget, in->reserved);
    in->reserved = 0;
    in->frame = NULL;
    in->stash = NULL;
    in->stash_len = in->stash_pos = 0;
}

/* Asks the budget for the whole frame. False when it refuses. */
static bool frame_reserve(struct inbox *in)
{
    if (in->config->budget == NULL || in->frame_size <= INBOX_SMALL_FRAME || in->reserved > 0) {
        return true;
    }
    size_t cost = block_pool_cost(in->frame_size);
    if (!budget_reserve(in->config->budget, cost)) {
        return false;
    }
    in->reserved = cost;
    return true;
}

/* Room for at least one more byte of the frame. False when the budget or the machine refuses. */
static bool frame_make_room(struct inbox *in)
{
    if (in->frame == NULL) {
        struct block_pool *pool = in->config->pool;
        if (!frame_reserve(in)) {
            return false;
        }
        bool is_cheap = in->frame_size <= FRAME_BYTES_FIRST || block_pool_has(pool, in->frame_size);
        in->frame = block_pool_get(pool, NULL, is_cheap ? in->frame_size : FRAME_BYTES_FIRST);
        return in->frame != NULL;
    }
    if (in->frame->len < in->frame->cap) {
        return true;
    }
    struct block *larger = block_pool_grow(in->frame, MIN(in->frame->cap * 2, in->frame_size));
    if (larger != NULL) {
        in->frame = larger;
    }
    return larger != NULL;
}

/* Bytes that the present frame's block can take now. */
static size_t frame_room(const struct inbox *in)
{
    return MIN(in->frame->cap, in->frame_size) - in->frame->len;
}

/* Gives the finished frame away and gets ready for the next. */
static bool frame_hand_up(struct inbox *in, void *arg)
{
    struct block *frame = in->frame;
    in->frame = NULL;
    in->size_len = 0;
    if (in->reserved > 0) {
        CHECK(in->reserved == block_pool_cost(frame->cap));
        block_charge(frame, in->config->budget);
        in->reserved = 0;
    }
    return in->config->on_frame(arg, frame);
}

/* Takes bytes of the size field. False when the size is out of bounds. */
static bool size_take(struct inbox *in, const uint8_t **at, const uint8_t *end)
{
    while (in->size_len < 4 && *at < end) {
        in->size_bytes[in->size_len++] = *(*at)++;
    }
    if (in->size_len < 4) {
        return true;
    }
    int32_t size = (int32_t)load_be32(in->size_bytes);
    if (size < 0 || size > in->config->frame_bytes_max) {
        return false;
    }
    in->frame_size = (size_t)size;
    const struct budget *budget = in->config->budget;
    return budget == NULL || in->frame_size <= INBOX_SMALL_FRAME ||
           block_pool_cost(in->frame_size) <= budget->max;
}

/* Consumes [*at, end) as far as it goes. DRAINED: all of it. */
static enum inbox_state consume(struct inbox *in, const uint8_t **at, const uint8_t *end, void *arg)
{
    for (;;) {
        if (in->size_len < 4 && !size_take(in, at, end)) {
            return INBOX_BROKEN;
        }
        if (in->size_len < 4) {
            return INBOX_DRAINED;
        }
        while (in->frame == NULL || (*at < end && in->frame->len < in->frame_size)) {
            if (!frame_make_room(in)) {
                return INBOX_STARVED;
            }
            size_t len = MIN(frame_room(in), (size_t)(end - *at));
            memcpy(in->frame->data + in->frame->len, *at, len);
            in->frame->len += len;
            *at += len;
        }
        if (in->frame->len < in->frame_size) {
            return INBOX_DRAINED;
        }
        if (!frame_hand_up(in, arg)) {
            return INBOX_STOPPED;
        }
    }
}

/* Keeps what was read and not consumed. */
static void stash_keep(struct inbox *in, const uint8_t *at, const uint8_t *end)
{
    if (at < end) {
        in->stash_len = (size_t)(end - at);
        in->stash = xmemdup(at, in->stash_len);
        in->stash_pos = 0;
    }
}

static enum inbox_state stash_consume(struct inbox *in, void *arg)
{
    const uint8_t *at = in->stash + in->stash_pos;
    enum inbox_state state = consume(in, &at, in->stash + in->stash_len, arg);
    in->stash_pos = (size_t)(at - in->stash);
    if (in->stash_pos == in->stash_len) {
        free(in->stash);
        in->stash = NULL;
        in->stash_len = in->stash_pos = 0;
    }
    return state;
}

static enum inbox_state read_failed(int64_t got)
{
    return got == -E_AGAIN ? INBOX_DRAINED : INBOX_CLOSED;
}

/* One read into the frame's block. *ret_is_full: the socket may have more. */
static enum inbox_state read_direct(struct inbox *in, struct env_conn *conn, bool *ret_is_full,
                                    void *arg)
{
    if (!frame_make_room(in)) {
        return INBOX_STARVED;
    }
    size_t room = frame_room(in);
    int64_t got = env_conn_read(conn, in->frame->data + in->frame->len, room);
    if (got < 0) {
        return read_failed(got);
    }
    in->frame->len += (size_t)got;
    in->read_bytes += (uint64_t)got;
    if (in->frame->len < in->frame_size) {
        *ret_is_full = (size_t)got == room;
        return INBOX_DRAINED;
    }
    /* Most often nothing follows a large frame: the loop tells if it does. */
    return frame_hand_up(in, arg) ? INBOX_DRAINED : INBOX_STOPPED;
}

/* One read through the scratch buffer. */
static enum inbox_state read_scratch(struct inbox *in, struct env_conn *conn, size_t read_max,
                                     bool *ret_is_full, void *arg)
{
    size_t room = MIN(read_max, in->config->scratch_size);
    int64_t got = env_conn_read(conn, in->config->scratch, room);
    if (got < 0) {
        return read_failed(got);
    }
    in->read_bytes += (uint64_t)got;
    *ret_is_full = (size_t)got == room;
    const uint8_t *at = in->config->scratch;
    const uint8_t *end = at + got;
    enum inbox_state state = consume(in, &at, end, arg);
    stash_keep(in, at, end);
    return state;
}

enum inbox_state net_inbox_read(struct inbox *in, struct env_conn *conn, size_t read_max, void *arg)
{
    if (in->stash != NULL) {
        enum inbox_state state = stash_consume(in, arg);
        if (state != INBOX_DRAINED) {
            return state;
        }
    }
    uint64_t turn_end = in->read_bytes + TURN_BYTES_MAX;
    bool is_full = true;
    while (is_full && in->read_bytes < turn_end) {
        is_full = false;
        bool is_direct = in->frame != NULL && in->frame_size - in->frame->len >= DIRECT_READ_MIN;
        enum inbox_state state = is_direct ? read_direct(in, conn, &is_full, arg)
                                           : read_scratch(in, conn, read_max, &is_full, arg);
        if (state != INBOX_DRAINED) {
            return state;
        }
    }
    return INBOX_DRAINED;
}
