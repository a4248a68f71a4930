/*
 * See dev_status.h.
 */
#include "cmd/dev_status.h"

#include "cli/text.h"

#include <stdio.h>

const char *cmd_dev_state_name(enum cmd_dev_state state)
{
    static const char *const names[] = {"stopped",  "starting", "running",
                                        "stopping", "killed",   "failed"};
    return names[state];
}

void cmd_dev_status_put_bootstrap(struct buf *b, const struct cmd_dev_status *list, int32_t count)
{
    const char *comma = "";
    for (int32_t i = 0; i < count; i++) {
        if (list[i].port != 0) {
            buf_putf(b, "%s127.0.0.1:%u", comma, (unsigned)list[i].port);
            comma = ",";
        }
    }
}

void cmd_dev_status_put_text(struct buf *b, const struct cmd_dev_status *list, int32_t count)
{
    buf_put_str(b, "ID  STATE     PORT   CONTROLLER  EPOCH   DIRECTORY\n");
    for (int32_t i = 0; i < count; i++) {
        const struct cmd_dev_status *s = &list[i];
        char epoch[24] = "-";
        if (s->epoch >= 0) {
            (void)snprintf(epoch, sizeof epoch, "%lld", (long long)s->epoch);
        }
        buf_putf(b, "%-2d  %-8s  %-5u  %-10s  %-6s  %s\n", s->id, cmd_dev_state_name(s->state),
                 (unsigned)s->port, s->is_controller ? "yes" : "no", epoch, s->directory);
        if (s->reason != NULL) {
            buf_putf(b, "    %s\n", s->reason);
        }
    }
}

void cmd_dev_status_put_json(struct buf *b, const struct cmd_dev_status *list, int32_t count)
{
    buf_put_str(b, "{\"bootstrap\":\"");
    cmd_dev_status_put_bootstrap(b, list, count);
    buf_put_str(b, "\",\"brokers\":[");
    for (int32_t i = 0; i < count; i++) {
        const struct cmd_dev_status *s = &list[i];
        buf_putf(b, "%s{\"id\":%d,\"state\":\"%s\",\"port\":%u,\"http_port\":%u,", i > 0 ? "," : "",
                 s->id, cmd_dev_state_name(s->state), (unsigned)s->port, (unsigned)s->http_port);
        buf_putf(b, "\"is_controller\":%s,\"epoch\":%lld", s->is_controller ? "true" : "false",
                 (long long)s->epoch);
        buf_put_str(b, ",\"directory\":");
        cli_text_put_json(b, s->directory);
        buf_put_str(b, ",\"reason\":");
        cli_text_put_json(b, s->reason);
        buf_put_str(b, "}");
    }
    buf_put_str(b, "]}\n");
}
