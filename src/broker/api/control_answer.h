/*
 * Handing a request to this broker's controller and coming back with its reply.
 */
#pragma once

#include "broker/api/request.h"
#include "broker/controller/link.h"

typedef void (*api_control_answer_fn)(struct api_request *r, const struct control_reply *reply);

/* Parks r and sends call (taken); answer runs once with the controller's reply. A call that outgrew
 * its memory closes the connection instead. */
void api_control_answer(struct api_request *r, struct controller_ask *call,
                        api_control_answer_fn answer);
