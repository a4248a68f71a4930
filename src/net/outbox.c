/*
 * The output queue. Invariant: the frames' unsent pieces are exactly the bytes still due, in order;
 * `bytes` is their sum. Runs on the owner's env.
 */
#include "net/outbox.h"

#include "base/check.h"
#include "base/endian.h"

#include <stdlib.h>

#define IOV_MAX_COUNT  128                 /* pieces given to one writev */
#define TURN_BYTES_MAX ((uint64_t)8 << 20) /* sent in one turn of the loop, for fairness */

struct outbox_frame {
    struct list_node link;
    size_t bytes; /* all pieces, the size field included */
    uint8_t size_be[4];
    uint8_t *body; /* owned */
    int32_t next;  /* the first piece that is not sent */
    int32_t piece_count;
    /* What is left to send. Pieces in memory without a block point into size_be, body or `owned`. */
    struct span pieces[];
};

static void piece_release(struct span *piece)
{
    if (piece->kind == SPAN_FILE) {
        env_file_unref(piece->file);
    } else {
        block_unref(piece->block);
    }
}

void net_outbox_spans_release(struct span *spans, int32_t span_count)
{
    for (int32_t i = 0; i < span_count; i++) {
        piece_release(&spans[i]);
    }
}

void net_outbox_frame_free(struct outbox_frame *frame)
{
    if (frame == NULL) {
        return;
    }
    for (int32_t i = frame->next; i < frame->piece_count; i++) {
        piece_release(&frame->pieces[i]);
    }
    free(frame->body);
    free(frame);
}

static void frame_add(struct outbox_frame *frame, struct span piece)
{
    if (piece.len > 0) {
        frame->pieces[frame->piece_count++] = piece;
        frame->bytes += piece.len;
    } else {
        piece_release(&piece);
    }
}

static struct span memory_piece(const uint8_t *ptr, size_t len)
{
    return (struct span){.kind = SPAN_MEMORY, .ptr = ptr, .len = len};
}

struct outbox_frame *net_outbox_frame_new(struct buf *body, struct span *spans, int32_t span_count)
{
    CHECK(!buf_failed(body) && buf_total(body) <= INT32_MAX);
    size_t most = 2 + body->gap_count + (size_t)span_count;
    struct outbox_frame *frame = xalloc(sizeof *frame + most * sizeof(struct span));
    frame->body = body->ptr;
    store_be32(frame->size_be, (uint32_t)buf_total(body));
    frame_add(frame, memory_piece(frame->size_be, sizeof frame->size_be));
    size_t pos = 0;
    int32_t next = 0;
    for (size_t i = 0; i < body->gap_count; i++) {
        const struct buf_gap *gap = &body->gaps[i];
        frame_add(frame, memory_piece(frame->body + pos, gap->pos - pos));
        pos = gap->pos;
        for (size_t filled = 0; filled < gap->len;) {
            CHECK(next < span_count && spans[next].len <= gap->len - filled);
            filled += spans[next].len;
            frame_add(frame, spans[next++]);
        }
    }
    CHECK(next == span_count);
    frame_add(frame, memory_piece(frame->body + pos, body->len - pos));
    body->ptr = NULL; /* moved */
    buf_deinit(body);
    return frame;
}

void net_outbox_init(struct outbox *out)
{
    *out = (struct outbox){0};
    list_init(&out->frames);
}

static struct outbox_frame *frame_at(struct list_node *n)
{
    return CONTAINER_OF(n, struct outbox_frame, link);
}

/* Of a queue that is not empty. */
static struct outbox_frame *outbox_first(const struct outbox *out)
{
    struct list_node *n = list_first(&out->frames);
    CHECK(n != NULL);
    return frame_at(n);
}

void net_outbox_deinit(struct outbox *out)
{
    for (struct list_node *n = list_pop(&out->frames); n != NULL; n = list_pop(&out->frames)) {
        net_outbox_frame_free(frame_at(n));
    }
    out->bytes = 0;
}

void net_outbox_add(struct outbox *out, struct outbox_frame *frame)
{
    list_push_back(&out->frames, &frame->link);
    out->bytes += frame->bytes;
}

/* Removes len sent bytes from the front. */
static void outbox_advance(struct outbox *out, uint64_t len)
{
    CHECK(len <= out->bytes);
    out->bytes -= len;
    while (len > 0) {
        struct outbox_frame *frame = outbox_first(out);
        struct span *piece = &frame->pieces[frame->next];
        size_t taken = MIN((size_t)len, piece->len);
        len -= taken;
        piece->len -= taken;
        piece->pos += taken;
        if (piece->kind == SPAN_MEMORY) {
            piece->ptr += taken;
        }
        if (piece->len == 0) {
            piece_release(piece);
            frame->next++;
        }
        if (frame->next == frame->piece_count) {
            list_remove(&out->frames, &frame->link);
            net_outbox_frame_free(frame);
        }
    }
}

/* The memory at the front of the queue, up to the first file range. Returns the count. */
static int outbox_gather(const struct outbox *out, struct iovec *iov, bool *ret_has_more)
{
    int count = 0;
    *ret_has_more = true;
    struct list_node *n;
    list_foreach (n, &out->frames) {
        const struct outbox_frame *frame = frame_at(n);
        for (int32_t i = frame->next; i < frame->piece_count; i++) {
            const struct span *piece = &frame->pieces[i];
            if (piece->kind == SPAN_FILE || count == IOV_MAX_COUNT) {
                return count;
            }
            union {
                const uint8_t *in;
                void *out;
            } base = {.in = piece->ptr}; /* struct iovec has no const form */
            iov[count++] = (struct iovec){.iov_base = base.out, .iov_len = piece->len};
        }
    }
    *ret_has_more = false;
    return count;
}

/* Bytes taken by the socket, or an error as env_conn_writev's. */
static int64_t outbox_send(struct outbox *out, struct env_conn *conn)
{
    const struct outbox_frame *frame = outbox_first(out);
    const struct span *piece = &frame->pieces[frame->next];
    if (piece->kind == SPAN_FILE) {
        return env_conn_sendfile(conn, piece->file, piece->pos, piece->len);
    }
    struct iovec iov[IOV_MAX_COUNT];
    bool has_more = false;
    int count = outbox_gather(out, iov, &has_more);
    env_conn_hint_more(conn, has_more);
    return env_conn_writev(conn, iov, count);
}

int net_outbox_flush(struct outbox *out, struct env_conn *conn)
{
    uint64_t sent = 0;
    while (!list_is_empty(&out->frames) && sent < TURN_BYTES_MAX) {
        int64_t took = outbox_send(out, conn);
        if (took == -E_AGAIN) {
            break;
        }
        if (took < 0) {
            return (int)took;
        }
        outbox_advance(out, (uint64_t)took);
        sent += (uint64_t)took;
    }
    env_conn_want_write(conn, !list_is_empty(&out->frames));
    return 0;
}
