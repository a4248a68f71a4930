/*
 * The bridge between requests and controller calls. The call owns its data, so a request whose
 * connection has gone simply waits for the reply and is dropped then.
 */
#include "broker/api/control_answer.h"

struct waiting {
    struct api_request *r;
    api_control_answer_fn answer;
};

static void reply_arrived(void *arg, const struct control_reply *reply)
{
    struct waiting *waiting = arg;
    waiting->answer(waiting->r, reply);
}

void api_control_answer(struct api_request *r, struct controller_ask *call,
                        api_control_answer_fn answer)
{
    struct waiting *waiting = arena_alloc(&r->arena, sizeof *waiting);
    if (waiting == NULL || call->failed) {
        controller_ask_free(call);
        api_close(r);
        return;
    }
    waiting->r = r;
    waiting->answer = answer;
    api_park(r, NULL);
    controller_link_send(r->api->parts.controller, call, reply_arrived, waiting);
}
