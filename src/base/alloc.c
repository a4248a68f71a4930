/*
 * Allocation helpers. A budget's used never passes its max. Runs on the budget's home shard.
 */
#include "base/alloc.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *xalloc(size_t size)
{
    void *ptr = calloc(1, size == 0 ? 1 : size);
    CHECKF(ptr != NULL, "no memory for %zu bytes", size);
    return ptr;
}

void *xrealloc(void *ptr, size_t size)
{
    void *moved = realloc(ptr, size == 0 ? 1 : size);
    CHECKF(moved != NULL, "no memory for %zu bytes", size);
    return moved;
}

char *xstrdup(const char *text)
{
    return xmemdup(text, strlen(text) + 1);
}

void *xmemdup(const void *ptr, size_t len)
{
    void *copy = xalloc(len);
    if (len > 0) {
        memcpy(copy, ptr, len);
    }
    return copy;
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    CHECKF(len >= 0, "no memory to format %s", format);
    return text;
}

bool budget_reserve(struct budget *budget, size_t size)
{
    if (budget == NULL) {
        return true;
    }
    if (budget->fail_at > 0 && --budget->fail_at == 0) {
        return false;
    }
    if (size > budget->max - budget->used) {
        return false;
    }
    budget->used += size;
    return true;
}

void budget_release(struct budget *budget, size_t size)
{
    if (budget != NULL) {
        CHECK(budget->used >= size);
        budget->used -= size;
    }
}

void *budget_alloc(struct budget *budget, size_t size)
{
    if (!budget_reserve(budget, size)) {
        return NULL;
    }
    void *ptr = malloc(size == 0 ? 1 : size);
    if (ptr == NULL) {
        budget_release(budget, size);
    }
    return ptr;
}

void budget_free(struct budget *budget, void *ptr, size_t size)
{
    if (ptr != NULL) {
        budget_release(budget, size);
        free(ptr);
    }
}
