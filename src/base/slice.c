/*
 * The parts of slices that are longer than a line. No state.
 */
#include "base/slice.h"

#include "base/alloc.h"

int slice_compare(struct slice a, struct slice b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.ptr, b.ptr, common);
    if (order != 0) {
        return order;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

char *slice_dup(struct slice s)
{
    char *copy = xalloc(s.len + 1);
    if (s.len > 0) {
        memcpy(copy, s.ptr, s.len);
    }
    return copy;
}
