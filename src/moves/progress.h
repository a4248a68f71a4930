/*
 * How far a running move is: bytes to copy and copied, rate, time left, and what each arriving replica
 * waits for. Facts go in as they are heard (sizes of logs from DescribeLogDirs, the rest from the
 * controller), moves_progress_step makes a whole of them.
 *
 * Invariant: `copied` never goes down while a replica arrives, also when the same target is asked for
 * again or the target's log is cut; `to_copy` is never below it.
 * Times named now_ms are monotonic, those named wall_ms are of the wall clock.
 */
#pragma once

#include "model/ids.h"
#include "moves/reason.h"

#define MOVES_SAMPLES 6 /* of a rate; ... */
#define MOVES_SAMPLE_MS                                                                            \
    2000 /* ... so far apart: it is the mean of the last ten to twelve seconds */

/* A rate of change over the last seconds. Zeroed = nothing known. */
struct moves_rate {
    struct {
        int64_t time_ms;
        int64_t value;
    } samples[MOVES_SAMPLES]; /* oldest first */
    int32_t count;
    int64_t time_ms; /* of the newest value, which need not be among them */
    int64_t value;
};

/* A value that went down starts anew. */
void moves_rate_add(struct moves_rate *rate, int64_t value, int64_t now_ms);
/* A second; -1 = unknown yet. */
int64_t moves_rate_get(const struct moves_rate *rate);

/* One replica's log as its broker described it; -1 where a broker does not tell. */
struct moves_log {
    int64_t size; /* bytes; -1 = it cannot be read, its directory failed */
    int64_t log_end;
    int64_t write_rate;    /* bytes a second that producers bring; leaders */
    int64_t throttle_rate; /* bytes a second; 0 = paused */
    int16_t fetch_error;   /* the protocol's code */
    bool is_throttled;
    bool is_disk_full;
    bool knows_no_limits; /* its broker is of another software than klamm */
};

enum moves_replica_state {
    MOVES_REPLICA_UNKNOWN = 0, /* nothing heard yet */
    MOVES_REPLICA_COPYING = 1,
    MOVES_REPLICA_IN_SYNC = 2,
    MOVES_REPLICA_DOWN = 3,
    MOVES_REPLICA_FAILED = 4,
    MOVES_REPLICA_PAUSED = 5,
};

/* What was waited for under a former controller. It holds on when it is found again within some seconds. */
struct moves_former {
    struct moves_wait wait; /* since_ms 0 = nothing */
    int64_t until_ms;       /* 0 = not looked at yet */
};

/* One arriving replica, or one that stays. */
struct moves_replica {
    int32_t broker;
    enum moves_replica_state state;
    struct moves_wait wait;
    int64_t copied;      /* bytes */
    int64_t rate;        /* bytes a second; -1 = unknown */
    int64_t lag_bytes;   /* behind the leader; -1 = unknown */
    int64_t lag_offsets; /* ditto */
    bool ignores_limits; /* neither end of its copy obeys a job's rate, or a pause */
    /* Private. */
    bool has_log;
    struct moves_log log;
    struct moves_rate size_rate;
    struct moves_former former;
    int64_t below_ms; /* more is written than its limit lets pass, since then; -1 = it is not so */
};

/* What the controller knows at the time of a step. */
struct moves_facts {
    int64_t now_ms;
    int64_t wall_ms;
    const struct ids *isr;
    const struct ids *offline; /* brokers where it lies in a failed directory */
    const struct ids *target;
    bool has_leader;  /* one that is alive */
    bool is_stopping; /* copied; the replicas that leave are being stopped */
    bool is_paused;
    int32_t min_insync; /* how many have to be in sync for producers to be served */
    int64_t limit_rate; /* bytes a second that the job may take; -1 = no limit */
    /* Since when broker is not registered, wall clock; 0 = it is. */
    int64_t (*down_since)(void *arg, int32_t broker);
    void *arg;
};

struct moves_progress {
    int64_t to_copy; /* bytes, over all arriving replicas; 0 while no size is known */
    int64_t copied;  /* ditto */
    int64_t rate;    /* bytes a second; -1 = unknown */
    int64_t eta_ms;  /* -1 = none: unknown, waiting, or more is written than copied */
    struct moves_wait wait;
    struct moves_replica *replicas; /* in the order of the target; owned */
    int32_t replica_count;
    uint32_t changes; /* of reasons, so far: of its own and of the replicas' */
    /* Private. */
    struct moves_replica *staying; /* members of the target that do not arrive; owned */
    int32_t staying_count;
    struct moves_former former;
    int64_t written_ms; /* the leader's log was seen to grow; -1 = never */
    int32_t leader;
    bool has_leader_log;
    struct moves_log leader_log;
    struct moves_rate leader_rate;
};

void moves_progress_init(struct moves_progress *m);
void moves_progress_deinit(struct moves_progress *m);
/* Who arrives, and who leads; what is known of those that stay is kept. */
void moves_progress_set(struct moves_progress *m, const struct ids *adding, int32_t leader);
/* broker described its log; other brokers than those of moves_progress_set are passed over. */
void moves_progress_heard(struct moves_progress *m, int32_t broker, const struct moves_log *log,
                          int64_t now_ms);
/* What was once known of an arriving replica, before anything is heard of it. */
void moves_progress_restore(struct moves_progress *m, int32_t broker, int64_t copied);
/* What the replica on that broker waited for, when it was last looked at elsewhere; -1: the whole. */
void moves_progress_restore_wait(struct moves_progress *m, int32_t broker,
                                 const struct moves_wait *wait);
void moves_progress_step(struct moves_progress *m, const struct moves_facts *facts);
