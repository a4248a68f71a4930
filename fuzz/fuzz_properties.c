/*
 * Any bytes as a properties file: it is read or refused, within its bounds, and what was read is text.
 */
#include "model/properties.h"

#include "base/check.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model_properties properties = {0};
    struct errmsg em;
    if (model_properties_parse(slice_of(data, size), &properties, &em) == 0) {
        CHECK(properties.count <= MODEL_PROPERTIES_MAX);
        int32_t line = 0;
        for (int32_t i = 0; i < properties.count; i++) {
            const struct model_property *p = &properties.list[i];
            CHECK(strlen(p->key) > 0);
            CHECK(strlen(p->value) <= MODEL_PROPERTIES_VALUE_SIZE);
            CHECK(p->line > line);
            line = p->line;
        }
        model_properties_deinit(&properties);
    }
    return 0;
}
