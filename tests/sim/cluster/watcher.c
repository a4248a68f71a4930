/*
 * Somebody who watches the moves: now and then the controller is asked for the list, with and without its
 * details, and what it tells has to make sense, whatever happens to brokers and controllers. In every third
 * run, drawn from a generator of its own.
 */
#include "base/arena.h"
#include "model/kerr.h"
#include "moves/progress.h"
#include "sim/cluster/cluster.h"
#include "wire/list_partition_reassignments.h"

#define LIST_VERSION    0
#define LIST_TIMEOUT_MS 5000
#define PRNG_SALT       0x3a7c4

typedef struct wire_list_partition_reassignments_response_topics_partitions row;
typedef struct wire_list_partition_reassignments_response_topics_partitions_details details;

void cluster_watcher_init(struct cluster *c)
{
    prng_init(&c->watcher.prng, c->options.seed ^ PRNG_SALT);
    c->watcher.is_there = prng_chance(&c->watcher.prng, 1, 3);
}

static bool is_reason(int8_t reason, int16_t error, int64_t since_ms)
{
    return reason >= 0 && reason < MOVES_REASON_COUNT &&
           (error != 0) == (reason == MOVES_REASON_FETCH_ERROR) && since_ms > 0;
}

static bool are_arrivals(const row *p)
{
    const details *d = p->details;
    bool is_good = d->adding_count == p->adding_replicas_count;
    for (int32_t i = 0; is_good && i < d->adding_count; i++) {
        is_good = d->adding[i].broker == p->adding_replicas[i] && d->adding[i].state >= 0 &&
                  d->adding[i].state <= MOVES_REPLICA_PAUSED && d->adding[i].lag_bytes >= -1 &&
                  d->adding[i].lag_offsets >= -1 &&
                  is_reason(d->adding[i].reason, d->adding[i].reason_error, d->adding[i].since_ms);
    }
    return is_good;
}

static void row_check(struct cluster *c, const row *p)
{
    const details *d = p->details;
    if (d == NULL) {
        cluster_fail(c, "partition %d moves, and no details are told", p->partition_index);
    } else if (d->bytes_copied < 0 || d->bytes_to_copy < d->bytes_copied || d->rate < -1 ||
               d->eta_ms < -1 || d->started_ms <= 0) {
        cluster_fail(c, "partition %d: %lld of %lld bytes, %lld a second, %lld ms left",
                     p->partition_index, (long long)d->bytes_copied, (long long)d->bytes_to_copy,
                     (long long)d->rate, (long long)d->eta_ms);
    } else if (!is_reason(d->reason, d->reason_error, d->since_ms) || !are_arrivals(p)) {
        cluster_fail(c, "partition %d: reason %d, error %d, or its arriving replicas make no sense",
                     p->partition_index, d->reason, d->reason_error);
    }
}

static void list_check(struct cluster *c,
                       const struct wire_list_partition_reassignments_response *response)
{
    for (int32_t i = 0; i < response->topics_count; i++) {
        for (int32_t n = 0; n < response->topics[i].partitions_count; n++) {
            const row *p = &response->topics[i].partitions[n];
            if (c->watcher.asks_for_details) {
                row_check(c, p);
            } else if (p->details != NULL) {
                cluster_fail(c, "details are told to who did not ask");
            }
        }
    }
    if (!c->watcher.asks_for_details && (response->jobs_count > 0 || response->queued_count > 0)) {
        cluster_fail(c, "jobs are told to who did not ask");
    }
}

static void list_done(void *arg, int err, struct reader *body)
{
    struct cluster *c = arg;
    struct arena arena;
    struct wire_list_partition_reassignments_response response;
    arena_init(&arena, 1 << 20);
    c->watcher.is_busy = false;
    if (err == 0) {
        err = wire_list_partition_reassignments_response_decode(&response, body, LIST_VERSION,
                                                                &arena);
        if (err != 0) {
            cluster_fail(c, "the list of moves cannot be read: %s", error_name(err));
        } else if (response.error_code == KERR_NONE) {
            list_check(c, &response);
        }
    }
    arena_deinit(&arena);
}

void cluster_watcher_step(struct cluster *c)
{
    struct cluster_watcher *w = &c->watcher;
    int32_t controller = client_controller(c->client);
    if (!w->is_there || w->is_busy || controller < 1 || controller > c->broker_count ||
        !prng_chance(&w->prng, 1, 8)) {
        return;
    }
    struct wire_list_partition_reassignments_request request;
    wire_list_partition_reassignments_request_init(&request);
    request.topics_count = -1;
    w->asks_for_details = prng_chance(&w->prng, 3, 4);
    request.klamm_extensions = w->asks_for_details ? 1 : 0;
    struct client_call call = {.broker = controller,
                               .key = WIRE_KEY_LIST_PARTITION_REASSIGNMENTS,
                               .version = LIST_VERSION,
                               .timeout_ms = LIST_TIMEOUT_MS,
                               .request = &request};
    w->is_busy = true;
    client_send(c->client, &call, list_done, c);
}
