/*
 * At most one request for a block is under way; everybody who came meanwhile waits for it.
 */
#include "broker/api/producer_ids.h"

#include "base/alloc.h"
#include "base/list.h"
#include "broker/api/api.h"
#include "broker/controller/channel.h"
#include "broker/producer_blocks.h"
#include "wire/allocate_producer_ids.h"

#include <stdlib.h>

#define TIMEOUT_MS 10000

struct waiter {
    struct list_node link;
    api_producer_ids_fn done;
    void *arg;
};

struct producer_ids {
    const struct api_parts *parts;
    int64_t next;  /* the id to give */
    int64_t end;   /* first id behind the block */
    bool is_asked; /* a block is under way */
    struct list waiting;
};

struct producer_ids *api_producer_ids_new(const struct api_parts *parts)
{
    struct producer_ids *p = xalloc(sizeof *p);
    p->parts = parts;
    list_init(&p->waiting);
    return p;
}

void api_producer_ids_free(struct producer_ids *p)
{
    struct list_node *node;
    if (p == NULL) {
        return;
    }
    while ((node = list_pop(&p->waiting)) != NULL) {
        free(CONTAINER_OF(node, struct waiter, link));
    }
    free(p);
}

static void waiters_answer(struct producer_ids *p, int err)
{
    struct list_node *node;
    while (!list_is_empty(&p->waiting) && (err < 0 || p->next < p->end)) {
        node = list_pop(&p->waiting);
        struct waiter *waiter = CONTAINER_OF(node, struct waiter, link);
        api_producer_ids_fn done = waiter->done;
        void *arg = waiter->arg;
        free(waiter);
        done(arg, err, err < 0 ? -1 : p->next++);
    }
}

static void block_ask(struct producer_ids *p);

static void block_taken(void *arg, int err, int64_t start, int64_t count)
{
    struct producer_ids *p = arg;
    p->is_asked = false;
    if (err != 0 || start < 0 || count <= 0 || start > INT64_MAX - count) {
        waiters_answer(p, -E_NOT_AVAILABLE);
        return;
    }
    p->next = start;
    p->end = start + count;
    waiters_answer(p, 0);
    if (!list_is_empty(&p->waiting)) {
        block_ask(p);
    }
}

static void block_arrived(void *arg, int err, const void *body)
{
    const struct wire_allocate_producer_ids_response *resp = body;
    bool is_ok = err == 0 && resp->error_code == 0;
    block_taken(arg, is_ok ? 0 : -E_NOT_AVAILABLE, is_ok ? resp->producer_id_start : -1,
                is_ok ? resp->producer_id_len : 0);
}

static void block_ask(struct producer_ids *p)
{
    struct wire_allocate_producer_ids_request req;
    wire_allocate_producer_ids_request_init(&req);
    req.broker_id = p->parts->broker_id;
    req.broker_epoch = p->parts->broker_epoch(p->parts->arg);
    struct controller_channel_call call = {
        .key = WIRE_KEY_ALLOCATE_PRODUCER_IDS,
        .timeout_ms = TIMEOUT_MS,
        .done = block_arrived,
        .arg = p,
    };
    p->is_asked = true;
    int err = p->parts->blocks != NULL
                  ? broker_producer_blocks_take(p->parts->blocks, block_taken, p)
                  : controller_channel_call(p->parts->channel, &call, &req);
    if (err < 0) {
        p->is_asked = false;
        waiters_answer(p, -E_NOT_AVAILABLE);
    }
}

void api_producer_ids_take(struct producer_ids *p, api_producer_ids_fn done, void *arg)
{
    if (p->next < p->end) {
        done(arg, 0, p->next++);
        return;
    }
    if (p->waiting.count >= PRODUCER_IDS_WAITING_MAX) {
        done(arg, -E_NOT_AVAILABLE, -1);
        return;
    }
    struct waiter *waiter = xalloc(sizeof *waiter);
    waiter->done = done;
    waiter->arg = arg;
    list_push_back(&p->waiting, &waiter->link);
    if (!p->is_asked) {
        block_ask(p);
    }
}
