/*
 * DeleteRecords, versions 0-2 (protocol.md 5.4): raises log starts and answers when the replicas have
 * followed, or the time is over; then with error 7 and how far they are.
 *
 * While it waits each partition has a watch; what fires it looks at all of them again.
 */
#include "wire/delete_records.h"

#include "broker/api/answers.h"
#include "broker/api/handlers.h"
#include "broker/replicas/replicas.h"

struct delete_records {
    struct api_request *r;
    const struct wire_delete_records_request *req;
    struct replicas_deletion *deletions; /* one a partition of the request, in its order */
    struct replicas_watch *watches;      /* ditto */
    int *errors;                         /* ditto: E_ codes; those that wait have 0 */
    int64_t *low;                        /* ditto: low watermarks, -1 unknown */
    bool *is_refused;                    /* ditto: no permission */
    int32_t count;
    struct env_timer timer;
    struct env_timer wake;
};

static void watches_stop(struct delete_records *d)
{
    env_timer_stop(&d->timer);
    env_timer_stop(&d->wake);
    for (int32_t i = 0; i < d->count; i++) {
        replicas_watch_stop(&d->watches[i]);
    }
}

static void fill_partition(const struct delete_records *d, int32_t at,
                           struct wire_delete_records_response_topics_partitions *out)
{
    out->partition_index = d->deletions[at].partition;
    out->low_watermark = d->errors[at] == 0 || d->errors[at] == -E_TIMEOUT ? d->low[at] : -1;
    out->error_code = d->is_refused[at] ? KERR_TOPIC_AUTHORIZATION_FAILED
                                        : api_error(API_ERROR_PARTITION, d->errors[at]);
}

static void answer(struct delete_records *d)
{
    struct api_request *r = d->r;
    struct wire_delete_records_response resp;
    watches_stop(d);
    wire_delete_records_response_init(&resp);
    resp.topics = api_array(r, d->req->topics_count, sizeof *resp.topics);
    struct wire_delete_records_response_topics_partitions *out =
        api_array(r, d->count, sizeof *out);
    if (resp.topics == NULL || out == NULL) {
        api_close(r);
        return;
    }
    resp.topics_count = d->req->topics_count;
    int32_t at = 0;
    for (int32_t i = 0; i < d->req->topics_count; i++) {
        resp.topics[i].name = d->req->topics[i].name;
        resp.topics[i].partitions = &out[at];
        resp.topics[i].partitions_count = d->req->topics[i].partitions_count;
        for (int32_t j = 0; j < d->req->topics[i].partitions_count; j++, at++) {
            fill_partition(d, at, &out[at]);
        }
    }
    api_respond(r, &resp);
}

/* An error that says where the partition is, or that it is nowhere. */
static int redirect(const struct delete_records *d, int32_t at, int err)
{
    struct api_leader leader;
    const struct replicas_deletion *item = &d->deletions[at];
    return err == -E_NOT_FOUND
               ? api_not_hosted(d->r->api->parts.metadata, item->topic, item->partition, &leader)
               : err;
}

/* Looks at all of them; true when none has to wait any more. */
static bool is_over(struct delete_records *d)
{
    bool is_over = true;
    for (int32_t i = 0; i < d->count; i++) {
        const struct replicas_deletion *item = &d->deletions[i];
        if (d->errors[i] != 0 || d->is_refused[i] || d->low[i] >= item->wanted) {
            continue;
        }
        int err = replicas_low_watermark(d->r->api->parts.replicas, item->topic, item->partition,
                                         &d->low[i]);
        d->errors[i] = redirect(d, i, err);
        is_over = is_over && (err != 0 || d->low[i] >= item->wanted);
    }
    return is_over;
}

static void timed_out(void *arg)
{
    struct delete_records *d = arg;
    (void)is_over(d); /* the latest low watermarks */
    for (int32_t i = 0; i < d->count; i++) {
        if (d->errors[i] == 0 && d->low[i] < d->deletions[i].wanted) {
            d->errors[i] = -E_TIMEOUT;
        }
    }
    answer(d);
}

static void woken(void *arg)
{
    struct delete_records *d = arg;
    if (is_over(d)) {
        answer(d);
    }
}

static void watch_fired(void *arg, struct replicas_watch *watch, int events)
{
    struct delete_records *d = arg;
    (void)watch;
    (void)events;
    if (!env_timer_is_active(&d->wake)) {
        env_timer_start(&d->wake, 0);
    }
}

static void orphaned(struct api_request *r)
{
    watches_stop(r->state);
}

static bool reserve(struct delete_records *d)
{
    int64_t count = 0;
    for (int32_t i = 0; i < d->req->topics_count; i++) {
        count += d->req->topics[i].partitions_count;
    }
    if (count > WIRE_COUNT_MAX) {
        return false;
    }
    d->count = (int32_t)count;
    d->deletions = api_array(d->r, d->count, sizeof *d->deletions);
    d->watches = api_array(d->r, d->count, sizeof *d->watches);
    d->errors = api_array(d->r, d->count, sizeof *d->errors);
    d->low = api_array(d->r, d->count, sizeof *d->low);
    d->is_refused = api_array(d->r, d->count, sizeof *d->is_refused);
    return d->deletions != NULL && d->watches != NULL && d->errors != NULL && d->low != NULL &&
           d->is_refused != NULL;
}

static void start_one(struct delete_records *d, int32_t at)
{
    struct replicas *replicas = d->r->api->parts.replicas;
    struct replicas_deletion *item = &d->deletions[at];
    d->low[at] = -1;
    d->is_refused[at] = !api_is_allowed_on_topic(d->r, AUTH_OPERATION_DELETE, item->topic);
    if (d->is_refused[at]) {
        return;
    }
    d->errors[at] = redirect(d, at, replicas_delete_records(replicas, item));
    d->watches[at].arg = d;
    d->watches[at].fn = watch_fired;
    d->watches[at].mask = REPLICAS_LOW_WATERMARK;
    if (d->errors[at] == 0 &&
        !replicas_watch_start(replicas, &d->watches[at], item->topic, item->partition)) {
        d->errors[at] = -E_NOT_LEADER;
    }
}

void api_handle_delete_records(struct api_request *r, const void *body)
{
    struct delete_records *d = arena_alloc(&r->arena, sizeof *d);
    if (d == NULL) {
        api_close(r);
        return;
    }
    r->state = d;
    d->r = r;
    d->req = body;
    env_timer_init(&d->timer, r->api->parts.env, timed_out, d);
    env_timer_init(&d->wake, r->api->parts.env, woken, d);
    if (!reserve(d)) {
        api_close(r);
        return;
    }
    int32_t at = 0;
    for (int32_t i = 0; i < d->req->topics_count; i++) {
        for (int32_t j = 0; j < d->req->topics[i].partitions_count; j++, at++) {
            d->deletions[at].topic = d->req->topics[i].name;
            d->deletions[at].partition = d->req->topics[i].partitions[j].partition_index;
            d->deletions[at].offset = d->req->topics[i].partitions[j].offset;
            start_one(d, at);
        }
    }
    if (is_over(d)) {
        answer(d);
    } else if (d->req->timeout_ms <= 0) {
        timed_out(d);
    } else {
        env_timer_start(&d->timer, d->req->timeout_ms);
        api_park(r, orphaned);
    }
}
