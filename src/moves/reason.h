/*
 * Why a move, or one of its arriving replicas, does not advance: a closed list, what it means, the
 * command that helps, and since when it holds. The numbers are on the wire
 * (docs/protocol-extensions.md), so the controller and the command line say the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum moves_reason {
    MOVES_REASON_NONE = 0,         /* it advances */
    MOVES_REASON_SLOT = 1,         /* queued: the limits of the queue are reached */
    MOVES_REASON_TARGET_DOWN = 2,  /* a broker of the target is not registered */
    MOVES_REASON_DISK_FULL = 3,    /* on the target */
    MOVES_REASON_DIR_OFFLINE = 4,  /* the target's log directory */
    MOVES_REASON_NO_LEADER = 5,    /* nobody alive to copy from */
    MOVES_REASON_FETCH_ERROR = 6,  /* with the protocol's code */
    MOVES_REASON_THROTTLED = 7,    /* more is written than the limit lets pass */
    MOVES_REASON_MIN_ISR = 8,      /* too few replicas are in sync */
    MOVES_REASON_OLD_REPLICAS = 9, /* copied; those that leave are being stopped */
    MOVES_REASON_PAUSED = 10,
    MOVES_REASON_STAYING = 11, /* copied; a replica that stays is not in sync */
    MOVES_REASON_COUNT
};

/* A few words, as in "waiting for a slot". A number that is not of the list (it came over the wire) has
 * a text too. */
const char *moves_reason_text(int32_t reason);
/* What to do about it: one sentence that names a command; "" where nothing is to be done. */
const char *moves_reason_help(int32_t reason);

/* A reason and since when it holds. Zeroed = none yet. */
struct moves_wait {
    enum moves_reason reason;
    int16_t error;    /* FETCH_ERROR: the protocol's code; else 0 */
    int64_t since_ms; /* wall clock; 0 = never set */
};

/* Takes what holds now; since_ms stays while it is the same. since_ms of now is used when it is not 0,
 * else now_ms. */
void moves_wait_note(struct moves_wait *wait, struct moves_wait now, int64_t now_ms);
/* Of two, the one an operator has to look at first. */
struct moves_wait moves_wait_worse(struct moves_wait a, struct moves_wait b);

/* What decides about one arriving replica; all as last heard. */
struct moves_reason_facts {
    bool is_paused;
    bool is_in_sync;
    bool is_alive;         /* the broker is registered */
    int64_t down_since_ms; /* wall clock; 0 = unknown */
    bool is_disk_full;     /* no room is left where the replica is */
    bool is_dir_offline;   /* its directory failed */
    bool has_leader;       /* one that is alive */
    int16_t fetch_error;   /* why the target does not fetch; 0 = it does */
    bool is_throttled;     /* a limit held it back */
    int64_t throttle_rate; /* bytes a second; -1 = unknown */
    int64_t write_rate;    /* bytes a second that arrive at the leader; -1 = unknown */
    int64_t copy_rate;     /* bytes a second; -1 = unknown */
};

/* since_ms is set for a broker that is down, else 0. */
struct moves_wait moves_reason_of(const struct moves_reason_facts *facts);
