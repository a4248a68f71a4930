/*
 * The sending half of a connection: frames made of memory and file ranges, sent in order. Memory of
 * many frames leaves in one writev; file ranges leave by sendfile.
 */
#pragma once

#include "net/net.h"

struct outbox_frame;

struct outbox {
    struct list frames; /* struct outbox_frame by link */
    uint64_t bytes;     /* queued and not taken by the socket */
};

/* A frame of body, its gaps filled in order by spans (references are taken over); body's memory moves
 * away. The spans of one gap sum up to its length. */
struct outbox_frame *net_outbox_frame_new(struct buf *body, struct span *spans, int32_t span_count);
void net_outbox_frame_free(struct outbox_frame *frame); /* NULL is fine */
/* Drops the references and the memory of spans that were not queued. */
void net_outbox_spans_release(struct span *spans, int32_t span_count);

void net_outbox_init(struct outbox *out);
void net_outbox_deinit(struct outbox *out);
void net_outbox_add(struct outbox *out, struct outbox_frame *frame); /* takes frame */
/* Sends until the socket takes no more, then asks for writable; asks for nothing when all is sent.
 * 0, also when bytes are left; -E_CLOSED and others when the connection ended (closed comes);
 * -E_TRUNCATED when a file is shorter than promised: the caller closes the connection. */
int net_outbox_flush(struct outbox *out, struct env_conn *conn) MUST_CHECK;
