/*
 * Blocks of producer ids (docs/spec/zookeeper-mode.md 2.8, AllocateProducerIds). Each block is stored
 * before it is given away; one write at a time, requests queue behind it.
 */
#include "control/core.h"

static void block_next(struct control *c)
{
    if (c->is_block_out || list_is_empty(&c->block_ops)) {
        return;
    }
    struct core_op *op = CONTAINER_OF(list_first(&c->block_ops), struct core_op, link);
    int64_t start = c->has_block ? c->block.end + 1 : 0;
    if (start > INT64_MAX - MODEL_PRODUCER_BLOCK_SIZE) {
        (void)list_pop(&c->block_ops);
        control_request_fail(c, op->request, KERR_UNKNOWN_SERVER_ERROR,
                             "all producer ids are used");
        return;
    }
    struct core_write *w = control_write_add(c, CONTROL_WRITE_PRODUCER_BLOCK, NULL);
    w->block = (struct model_producer_block){
        .broker = op->request->body.allocate_producer_ids.broker,
        .start = start,
        .end = start + MODEL_PRODUCER_BLOCK_SIZE - 1,
        .version = c->has_block ? c->block.version : -1,
    };
    c->is_block_out = true;
    control_write_emit(c, w)->block = &w->block;
}

void control_block_start(struct control *c, struct core_request *r)
{
    const struct control_allocate_producer_ids *body = &r->body.allocate_producer_ids;
    const struct core_broker *b = control_broker_find(c, body->broker);
    if (b == NULL || !b->is_registered) {
        control_request_fail(c, r, KERR_BROKER_ID_NOT_REGISTERED, NULL);
        return;
    }
    if (b->model.epoch != body->broker_epoch) {
        control_request_fail(c, r, KERR_STALE_BROKER_EPOCH, NULL);
        return;
    }
    r->remaining = 1;
    list_push_back(&c->block_ops, &control_op_new(r, 0)->link);
    block_next(c);
}

static void block_give(struct control *c)
{
    struct core_op *op = CONTAINER_OF(list_pop(&c->block_ops), struct core_op, link);
    struct model_producer_block *block = arena_alloc(&op->request->arena, sizeof *block);
    CHECK(block != NULL);
    *block = c->block;
    op->request->reply.block = block;
    op->request->reply.count = 1;
    control_request_done(c, op->request);
}

/* Who asked for it asks again. */
static void block_failed(struct control *c, const char *message)
{
    struct core_op *op = CONTAINER_OF(list_pop(&c->block_ops), struct core_op, link);
    control_op_fail(c, op, KERR_UNKNOWN_SERVER_ERROR, message);
    if (!c->is_block_told) {
        struct errmsg em;
        (void)errmsg_set(&em, E_REFUSED, "no block of producer ids can be stored: %s", message);
        control_log_add(c, CONTROL_WARNING, em.text);
        c->is_block_told = true;
    }
}

void control_block_written(struct control *c, const struct core_write *w,
                           const struct control_event *event)
{
    c->is_block_out = false;
    if (event->outcome == CONTROL_WRITTEN) {
        c->block = w->block;
        c->block.version = event->version;
        c->has_block = true;
        c->is_block_told = false;
        block_give(c);
    } else if (event->outcome == CONTROL_CONFLICT && event->conflict_block != NULL) {
        c->block = *event->conflict_block;
        c->has_block = true;
    } else if (event->outcome == CONTROL_CONFLICT) {
        struct core_op *op = CONTAINER_OF(list_pop(&c->block_ops), struct core_op, link);
        control_op_fail(c, op, KERR_UNKNOWN_SERVER_ERROR, event->message);
    } else if (event->outcome == CONTROL_MISSING) {
        c->has_block = false;
    } else {
        block_failed(c, event->message == NULL ? "a write failed" : event->message);
    }
    block_next(c);
}
