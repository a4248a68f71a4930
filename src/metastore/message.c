/*
 * Memory of the messages between the halves of a session. Runs on either env: a message has one
 * owner at a time.
 */
#include "metastore/message.h"

#include "base/alloc.h"

#include <stdlib.h>

struct metastore_message *metastore_message_new(enum metastore_message_kind kind,
                                                struct metastore_client *client,
                                                struct metastore_session *session)
{
    struct metastore_message *m = xalloc(sizeof *m);
    m->kind = kind;
    m->client = client;
    m->session = session;
    m->result.failed_op = -1;
    return m;
}

static void answer_free(struct metastore_message *m)
{
    free(m->data);
    free(m->names);
    free(m->op_stats);
    free(m->op_paths);
    for (int32_t i = 0; m->op_texts != NULL && i < m->op_count; i++) {
        free(m->op_texts[i]);
    }
    free(m->op_texts);
}

void metastore_message_free(struct metastore_message *m)
{
    answer_free(m);
    free(m->ops);
    free(m->path);
    free(m);
}

void metastore_message_fail(struct metastore_message *m, int err)
{
    answer_free(m);
    m->data = NULL;
    m->names = NULL;
    m->op_stats = NULL;
    m->op_paths = NULL;
    m->op_texts = NULL;
    m->result = (struct metastore_result){.err = err, .failed_op = -1};
}
