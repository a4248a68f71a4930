/*
 * The properties file of --command-config, as far as klamm's client has such settings. Keys it does
 * not know are left alone, as Kafka's tools do; a security protocol that it cannot speak is refused.
 */
#pragma once

#include "env/env.h"

struct cli_properties {
    const char *client_id;      /* a default, or from the file: then owned */
    int32_t request_timeout_ms; /* request.timeout.ms */
    char *owned_client_id;      /* private */
};

/* Values that the file does not give stay. */
int cli_properties_read(struct env *env, const char *path, struct cli_properties *properties,
                        struct errmsg *em) MUST_CHECK;
/* The same from memory; the errmsg does not name the file. */
int cli_properties_parse(struct slice text, struct cli_properties *properties,
                         struct errmsg *em) MUST_CHECK;
void cli_properties_deinit(struct cli_properties *properties);
