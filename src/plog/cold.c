/*
 * See cold.h. Runs on the home env.
 */
#include "plog/cold.h"

#define TRUST_MS 10000 /* a reader comes back for what was warmed within that time */

static bool is_trusted(const struct plog *p, const void *owner, uint64_t pos, uint64_t len)
{
    int64_t now_ms = env_now_ms(p->env);
    for (int i = 0; i < PLOG_TRUSTS; i++) {
        const struct plog_trust *trust = &p->trusts[i];
        if (trust->owner == owner && pos >= trust->pos && pos + len <= trust->pos + trust->len &&
            now_ms - trust->at_ms <= TRUST_MS) {
            return true;
        }
    }
    return false;
}

int plog_cold_read(const struct plog_files *files, const struct plog_cold_file *from, void *ptr,
                   size_t len, size_t *ret_len)
{
    const struct plog_cold_state *state = files == NULL ? NULL : files->cold;
    int err =
        state == NULL ? -E_AGAIN : env_file_read_now(from->file, ptr, len, from->pos, ret_len);
    if (err != -E_AGAIN) {
        return err;
    }
    if (state == NULL || is_trusted(state->log, from->owner, from->pos, len)) {
        return env_file_read(from->file, ptr, len, from->pos, ret_len);
    }
    bool is_log = from->size == 0;
    *state->cold = (struct plog_cold){.file = env_file_ref(from->file),
                                      .pos = is_log ? from->pos : 0,
                                      .len = is_log ? len : from->size,
                                      .is_log = is_log,
                                      .owner = from->owner};
    return -E_AGAIN;
}

bool plog_cold_check(const struct plog *p, const struct plog_segment *s,
                     const struct plog_span *span)
{
    return env_file_is_cached(span->file, span->pos, span->len) ||
           is_trusted(p, s, span->pos, span->len);
}

void plog_warmed(struct plog *p, const struct plog_cold *cold)
{
    p->trusts[p->next_trust++ % PLOG_TRUSTS] = (struct plog_trust){
        .owner = cold->owner, .pos = cold->pos, .len = cold->len, .at_ms = env_now_ms(p->env)};
}
