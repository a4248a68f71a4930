/*
 * The receiving half of a connection: bytes to frames. A frame is a 4-byte size and that many bytes.
 * One read takes in as many small frames as are there, through a scratch buffer that all connections
 * of an owner share; the bytes of a large frame go straight into its block. Memory for a large frame
 * grows as its bytes arrive, unless the pool has a block at hand: a declared size costs nothing.
 */
#pragma once

#include "base/block.h"
#include "env/env.h"

/* Frames up to this size never wait for memory: a full budget must not stop the small requests
 * (follower fetches) whose effects set memory free. */
#define INBOX_SMALL_FRAME 4096 /* bytes */

struct inbox;

/* Takes frame's reference. False: hand up no more for now, or ever (the owner may be gone; its inbox
 * must not be). */
typedef bool (*inbox_frame_fn)(void *arg, struct block *frame);

struct inbox_config {
    /* A larger or negative size breaks the connection, and so does one that the whole budget cannot
     * hold. */
    int32_t frame_bytes_max;
    struct block_pool *pool; /* borrowed */
    struct budget *budget;   /* for frames above INBOX_SMALL_FRAME; may be NULL */
    uint8_t *scratch;        /* borrowed; used during a call only */
    size_t scratch_size;     /* bytes */
    inbox_frame_fn on_frame;
};

enum inbox_state {
    INBOX_DRAINED, /* the socket has no more, or this turn's share was read; wait for readable */
    INBOX_STOPPED, /* on_frame said so; what was read and not handed up is kept */
    INBOX_STARVED, /* the budget refused memory; call again later */
    INBOX_BROKEN,  /* a size is out of bounds: close the connection */
    INBOX_CLOSED,  /* the connection ended; its closed callback comes */
};

struct inbox {
    const struct inbox_config *config; /* borrowed; shared by an owner's connections */
    uint8_t size_bytes[4];
    size_t size_len;     /* bytes of size_bytes that arrived */
    struct block *frame; /* the frame that is arriving, when it has memory */
    size_t frame_size;   /* bytes; valid when size_len is 4 */
    size_t reserved;     /* bytes taken from the budget for the frame that is arriving */
    uint8_t *stash;      /* bytes read but not consumed: after STOPPED and STARVED */
    size_t stash_pos;
    size_t stash_len;
    uint64_t read_bytes; /* total that arrived */
};

void net_inbox_init(struct inbox *in, const struct inbox_config *config);
void net_inbox_deinit(struct inbox *in);
/* Reads what is there, at most read_max bytes a system call for small frames, and hands frames up. */
enum inbox_state net_inbox_read(struct inbox *in, struct env_conn *conn, size_t read_max,
                                void *arg);
