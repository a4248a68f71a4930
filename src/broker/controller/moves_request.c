/*
 * Requests about moves on their way to the queue: everything but a stock Alter of partitions that no job has,
 * while the operator set no limits; that goes to the core as if there were no queue.
 * Invariant: a request is in controller_moves.requests until the queue has answered it. Runs on the driver's
 * env.
 */
#include "broker/controller/moves.h"

#include "broker/controller/moves_call.h"
#include "broker/controller/private.h"

#include <stdlib.h>

/* The entries as the queue takes them; heap. */
static struct moves_entry *entries_of(const struct control_alter *alter)
{
    struct moves_entry *entries = xalloc(((size_t)alter->count + 1) * sizeof *entries);
    for (int32_t i = 0; i < alter->count; i++) {
        const struct control_alter_entry *e = &alter->entries[i];
        entries[i] = (struct moves_entry){.topic = e->topic,
                                          .partition = e->partition,
                                          .is_cancel = e->is_cancel,
                                          .replicas = e->replicas,
                                          .replica_count = e->replica_count};
    }
    return entries;
}

static struct moves_request request_of(const struct control_alter *alter)
{
    static const struct moves_call stock = {.rate = MOVES_RATE_KEEP, .priority = MODEL_JOB_BALANCE};
    const struct moves_call *call = alter->moves == NULL ? &stock : alter->moves;
    return (struct moves_request){.action = call->action,
                                  .count = alter->count,
                                  .job = call->job,
                                  .brokers = call->brokers,
                                  .broker_count = call->broker_count,
                                  .rate = call->rate,
                                  .priority = call->priority,
                                  .is_one_at_a_time = call->is_one_at_a_time,
                                  .is_validate_only = alter->is_validate_only,
                                  .is_forced = alter->is_cancel_forced,
                                  .forbids_factor_change = alter->forbids_factor_change,
                                  .submitted_by = alter->submitted_by,
                                  .client_id = alter->client_id};
}

/* Brokers cannot be told to hold a copy back: answers what needs it, and returns true. */
static bool refuse_limits(struct controller *c, struct controller_request_item *item)
{
    const struct moves_call *call = item->request->alter.moves;
    bool is_limiting =
        call != NULL &&
        (call->action == MOVES_ACTION_PAUSE ||
         ((call->action == MOVES_ACTION_SUBMIT || call->action == MOVES_ACTION_SETTINGS) &&
          call->rate > 0));
    if (!is_limiting || ibp_has(c->config.level, IBP_MOVE_LIMITS)) {
        return false;
    }
    char *text = xasprintf("inter.broker.protocol.version is %s: moves can be paused and throttled "
                           "from 2.4-IV1 on",
                           ibp_name(c->config.level));
    struct control_reply told = {.token = item->token,
                                 .kind = CONTROL_ALTER_REASSIGNMENTS,
                                 .error = KERR_UNSUPPORTED_VERSION,
                                 .message = text};
    controller_request_answer(c, item, &told);
    free(text);
    return true;
}

bool controller_moves_take(struct controller *c, struct controller_request_item *item)
{
    const struct control_request *request = item->request;
    struct moves *core = controller_moves_core(c);
    if (request->kind != CONTROL_ALTER_REASSIGNMENTS || item->is_own || core == NULL ||
        c->role != ROLE_ACTIVE) {
        return false;
    }
    if (refuse_limits(c, item)) {
        return true;
    }
    struct moves_request taken = request_of(&request->alter);
    struct moves_entry *entries = entries_of(&request->alter);
    bool passes =
        taken.action == MOVES_ACTION_ALTER && moves_may_pass(core, entries, request->alter.count);
    if (!passes) {
        taken.entries = entries;
        taken.token = item->token;
        list_push_back(&c->moves->requests, &item->link);
        controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_REQUEST, .request = taken});
    }
    free(entries);
    return !passes;
}

void controller_moves_reply(struct controller *c, const struct moves_reply *reply)
{
    struct control_result *results = xalloc(((size_t)reply->count + 1) * sizeof *results);
    for (int32_t i = 0; i < reply->count; i++) {
        results[i] = (struct control_result){.topic = reply->results[i].topic,
                                             .partition = reply->results[i].partition,
                                             .error = reply->results[i].error,
                                             .message = reply->results[i].message,
                                             .note = reply->results[i].note};
    }
    struct control_reply told = {.token = reply->token,
                                 .kind = CONTROL_ALTER_REASSIGNMENTS,
                                 .error = reply->error,
                                 .message = reply->message,
                                 .count = reply->count,
                                 .results = results,
                                 .job = reply->job};
    struct controller_request_item *item = controller_request_find(c, reply->token);
    list_remove(&c->moves->requests, &item->link);
    controller_request_answer(c, item, &told);
    free(results);
}

void controller_moves_requests_end(struct controller *c, struct controller_moves *v)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&v->requests)) != NULL) {
        struct controller_request_item *item =
            CONTAINER_OF(n, struct controller_request_item, link);
        struct control_reply told = {.token = item->token,
                                     .kind = CONTROL_ALTER_REASSIGNMENTS,
                                     .error = KERR_NOT_CONTROLLER};
        controller_request_answer(c, item, &told);
    }
}
