/*
 * See server_document.h.
 */
#include "cmd/server_document.h"

#include "base/check.h"
#include "model/config.h"

#include <inttypes.h>

static const char *type_name(enum config_type type)
{
    static const char *const names[] = {
        [CONFIG_BOOL] = "boolean", [CONFIG_STRING] = "string", [CONFIG_INT] = "int",
        [CONFIG_SHORT] = "short",  [CONFIG_LONG] = "long",     [CONFIG_DOUBLE] = "double",
        [CONFIG_LIST] = "list",
    };
    return names[type];
}

static void put_default(struct buf *b, const struct config_def *def)
{
    if (def->fallback != CONFIG_KEY_NONE) {
        const char *name = config_def_at(CONFIG_SCOPE_BROKER, def->fallback)->name;
        buf_putf(b, "that of `%s`", name);
        if (def->fallback_factor > 1) {
            buf_putf(b, " times %" PRId64, def->fallback_factor);
        }
    } else if (def->default_text == NULL) {
        buf_put_str(b, "none");
    } else if (def->default_text[0] == '\0') {
        buf_put_str(b, "empty");
    } else {
        buf_putf(b, "`%s`", def->default_text);
    }
}

/* Words in the order of the table; a bar would end the cell. */
static void put_words(struct buf *b, const char *words)
{
    while (true) {
        size_t len = strcspn(words, "|");
        buf_putf(b, "`%.*s`", (int)len, words);
        if (words[len] == '\0') {
            return;
        }
        buf_put_str(b, ", ");
        words += len + 1;
    }
}

static void put_accepted(struct buf *b, const struct config_def *def)
{
    bool is_number =
        def->type == CONFIG_INT || def->type == CONFIG_SHORT || def->type == CONFIG_LONG;
    if (is_number) {
        buf_putf(b, "%" PRId64 " to %" PRId64, def->min, def->max);
    } else if (def->type == CONFIG_BOOL) {
        buf_put_str(b, "`true`, `false`");
    } else if (def->allowed != NULL) {
        put_words(b, def->allowed);
    } else {
        buf_put_str(b, "any");
    }
}

static void put_table(struct buf *b, enum config_scope scope)
{
    buf_put_str(b, "| Property | Meaning | Type | Default | Accepted | Live |\n"
                   "|---|---|---|---|---|---|\n");
    for (int key = 0; key < config_count(scope); key++) {
        const struct config_def *def = config_def_at(scope, key);
        buf_putf(b, "| `%s` | %s | %s | ", def->name, def->doc, type_name(def->type));
        put_default(b, def);
        buf_put_str(b, " | ");
        put_accepted(b, def);
        buf_putf(b, " | %s |\n", def->is_dynamic ? "yes" : "");
    }
}

void cmd_server_document_put(struct buf *b)
{
    buf_put_str(
        b,
        "# Configuration\n\n"
        "Made by `klamm server --print-configuration` from the table in "
        "`src/model/config_table.c`; "
        "a test compares it.\n\n"
        "The names, types and defaults are Kafka's. A key that is not listed here is told as a "
        "warning and ignored; a wrong\nvalue stops the start, with its file and line, key, value "
        "and reason. Live: may be changed while brokers run.\n\n"
        "`klamm server` needs `zookeeper.connect` and `log.dirs` (or `log.dir`). "
        "`conf/server.properties` is an example.\n\n"
        "## Brokers\n\n");
    put_table(b, CONFIG_SCOPE_BROKER);
    buf_put_str(b, "\n## Topics\n\n");
    put_table(b, CONFIG_SCOPE_TOPIC);
}
