/*
 * Names wait in `noted` until flush; then they are `asked` until the controller answered. The result
 * is not looked at: the client finds the topic in Metadata or asks again.
 */
#include "broker/api/auto_create.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/map.h"
#include "broker/controller/channel.h"
#include "wire/create_topics.h"

#include <stdlib.h>

#define CREATE_TOPICS_VERSION 5 /* known to all controllers from 2.4 on */
#define TIMEOUT_MS            30000

struct name {
    UT_hash_handle hh;
    struct batch *batch; /* NULL = noted only */
    char *text;
};

/* One request under way. */
struct batch {
    struct auto_create *owner;
};

struct auto_create {
    struct controller_channel *channel;
    struct name *names;
    int32_t noted;
};

struct auto_create *api_auto_create_new(struct controller_channel *channel)
{
    struct auto_create *a = xalloc(sizeof *a);
    a->channel = channel;
    return a;
}

static void name_remove(struct auto_create *a, struct name *name)
{
    HASH_DELETE(hh, a->names, name);
    free(name->text);
    free(name);
}

/* The names of one batch; NULL = those noted. Frees the batch. */
static void batch_end(struct auto_create *a, struct batch *batch)
{
    struct name *name;
    struct name *next;
    HASH_ITER(hh, a->names, name, next)
    {
        if (name->batch == batch) {
            name_remove(a, name);
        }
    }
    free(batch);
}

void api_auto_create_free(struct auto_create *a)
{
    if (a == NULL) {
        return;
    }
    while (a->names != NULL) {
        batch_end(a, a->names->batch);
    }
    free(a);
}

void api_auto_create_add(struct auto_create *a, struct slice text)
{
    struct name *name;
    HASH_FIND(hh, a->names, text.ptr, text.len, name);
    if (name != NULL || HASH_COUNT(a->names) >= AUTO_CREATE_MAX) {
        return;
    }
    name = xalloc(sizeof *name);
    name->text = slice_dup(text);
    HASH_ADD_KEYPTR(hh, a->names, name->text, text.len, name);
    a->noted++;
}

static void create_done(void *arg, int err, const void *resp)
{
    struct batch *batch = arg;
    (void)err;
    (void)resp;
    batch_end(batch->owner, batch);
}

void api_auto_create_flush(struct auto_create *a)
{
    struct wire_create_topics_request req;
    struct name *name;
    struct name *next;
    if (a->noted == 0) {
        return;
    }
    struct batch *batch = xalloc(sizeof *batch);
    batch->owner = a;
    wire_create_topics_request_init(&req);
    req.timeout_ms = TIMEOUT_MS;
    req.topics = xalloc((size_t)a->noted * sizeof *req.topics);
    HASH_ITER(hh, a->names, name, next)
    {
        if (name->batch == NULL) {
            struct wire_create_topics_request_topics *topic = &req.topics[req.topics_count++];
            wire_create_topics_request_topics_init(topic);
            topic->name = slice_str(name->text);
            topic->num_partitions = -1;
            topic->replication_factor = -1;
            name->batch = batch;
        }
    }
    CHECK(req.topics_count == a->noted);
    a->noted = 0;
    struct controller_channel_call call = {
        .key = WIRE_KEY_CREATE_TOPICS,
        .version = CREATE_TOPICS_VERSION,
        .timeout_ms = TIMEOUT_MS,
        .done = create_done,
        .arg = batch,
    };
    if (controller_channel_call(a->channel, &call, &req) < 0) {
        batch_end(a, batch);
    }
    free(req.topics);
}
