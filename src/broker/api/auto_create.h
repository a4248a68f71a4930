/*
 * Creation of topics that clients named in Metadata requests: asks the controller once for each name
 * and forgets the name when the answer is there. Bounded: more names than that wait for the client's
 * next try.
 */
#pragma once

#include "base/slice.h"

struct auto_create;
struct controller_channel;

#define AUTO_CREATE_MAX 1000 /* names asked for and not answered */

/* channel is borrowed. */
struct auto_create *api_auto_create_new(struct controller_channel *channel);
/* After the channel, which has dropped the requests under way. NULL is fine. */
void api_auto_create_free(struct auto_create *a);
/* Notes a valid name; copied. */
void api_auto_create_add(struct auto_create *a, struct slice name);
/* Sends what was noted as one CreateTopics request. */
void api_auto_create_flush(struct auto_create *a);
