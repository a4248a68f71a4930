/*
 * See text.h. No state.
 */
#include "metric/text.h"

#include "base/check.h"

#include <inttypes.h>

static const char *const kind_names[] = {
    [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};

/* In a help text backslash and line feed are escaped. */
static void put_help(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            buf_put_str(out, "\\n");
        } else if (*text == '\\') {
            buf_put_str(out, "\\\\");
        } else {
            buf_put_u8(out, (uint8_t)*text);
        }
    }
}

void metric_text_family(struct buf *out, enum metric_kind kind, const char *name, const char *help)
{
    CHECK((size_t)kind < ARRAY_LEN(kind_names));
    buf_putf(out, "# HELP %s ", name);
    put_help(out, help);
    buf_putf(out, "\n# TYPE %s %s\n", name, kind_names[kind]);
}

static void put_series(struct buf *out, const char *name, const char *labels)
{
    buf_putf(out, labels[0] != '\0' ? "%s{%s} " : "%s%s ", name, labels);
}

void metric_text_value(struct buf *out, const char *name, const char *labels, int64_t value)
{
    put_series(out, name, labels);
    buf_putf(out, "%" PRId64 "\n", value);
}

void metric_text_thousandths(struct buf *out, const char *name, const char *labels,
                             int64_t thousandths)
{
    const char *sign = thousandths < 0 ? "-" : "";
    uint64_t size = thousandths < 0 ? 0 - (uint64_t)thousandths : (uint64_t)thousandths;
    put_series(out, name, labels);
    buf_putf(out, "%s%" PRIu64 ".%03u\n", sign, size / 1000, (unsigned)(size % 1000));
}
