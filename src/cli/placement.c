/*
 * The first replica goes round the brokers from a random start; the others follow at a distance that
 * grows with each round, so that the load of a failed broker spreads over all others.
 */
#include "cli/placement.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

static bool same_rack(const struct klamm_broker *a, const struct klamm_broker *b)
{
    return strcmp(a->rack, b->rack) == 0;
}

/* The place of a broker among those of its own rack. */
static int32_t rank_in_rack(const struct cli_placement *p, int32_t index)
{
    int32_t rank = 0;
    for (int32_t i = 0; i < p->broker_count; i++) {
        rank += same_rack(&p->brokers[i], &p->brokers[index]) &&
                p->brokers[i].id < p->brokers[index].id;
    }
    return rank;
}

static bool is_first_of_rack(const struct cli_placement *p, int32_t index)
{
    return rank_in_rack(p, index) == 0;
}

/* Whether broker a is dealt before broker b: by rank, then by rack. */
static bool comes_before(const struct cli_placement *p, int32_t a, int32_t b)
{
    int32_t rank_a = rank_in_rack(p, a);
    int32_t rank_b = rank_in_rack(p, b);
    if (rank_a != rank_b) {
        return rank_a < rank_b;
    }
    return strcmp(p->brokers[a].rack, p->brokers[b].rack) < 0;
}

void cli_dealer_init(struct cli_dealer *dealer, const struct cli_placement *placement)
{
    CHECK(placement->broker_count > 0);
    *dealer = (struct cli_dealer){.placement = placement};
    dealer->order = xalloc((size_t)placement->broker_count * sizeof *dealer->order);
    for (int32_t i = 0; i < placement->broker_count; i++) {
        int32_t to = i;
        while (placement->uses_racks && to > 0 &&
               comes_before(placement, i, dealer->order[to - 1])) {
            dealer->order[to] = dealer->order[to - 1];
            to--;
        }
        dealer->order[to] = i;
        dealer->rack_count += placement->uses_racks && is_first_of_rack(placement, i);
    }
}

void cli_dealer_deinit(struct cli_dealer *dealer)
{
    free(dealer->order);
}

/* Which replica so far is on the broker, or (with racks) in its rack: whether it may be taken. */
static bool may_take(const struct cli_dealer *dealer, const struct klamm_broker *candidate,
                     const struct klamm_broker *const *taken, int32_t count)
{
    int32_t racks_used = 0;
    bool is_rack_used = false;
    for (int32_t i = 0; i < count; i++) {
        if (taken[i]->id == candidate->id) {
            return false;
        }
        if (dealer->rack_count == 0) {
            continue;
        }
        is_rack_used = is_rack_used || same_rack(taken[i], candidate);
        bool is_new = true;
        for (int32_t k = 0; k < i; k++) {
            is_new = is_new && !same_rack(taken[i], taken[k]);
        }
        racks_used += is_new;
    }
    return !is_rack_used || racks_used == dealer->rack_count;
}

void cli_dealer_assign(const struct cli_dealer *dealer, int32_t partition, int32_t factor,
                       int32_t *ids)
{
    const struct cli_placement *p = dealer->placement;
    uint64_t count = (uint64_t)p->broker_count;
    CHECK(factor >= 1 && factor <= p->broker_count);
    const struct klamm_broker **taken = xalloc((size_t)factor * sizeof *taken);
    uint64_t first = ((uint64_t)partition + p->start) % count;
    uint64_t shift = (uint64_t)p->shift + (uint64_t)partition / count; /* grows once a round */
    shift *= dealer->rack_count > 0 ? (uint64_t)dealer->rack_count : 1;
    taken[0] = &p->brokers[dealer->order[first]];
    int32_t used = 1;
    for (uint64_t j = 0; used < factor; j++) {
        uint64_t distance = 1 + (shift + j) % (count - 1);
        const struct klamm_broker *candidate =
            &p->brokers[dealer->order[(first + distance) % count]];
        if (may_take(dealer, candidate, taken, used)) {
            taken[used++] = candidate;
        }
    }
    for (int32_t i = 0; i < factor; i++) {
        ids[i] = taken[i]->id;
    }
    free(taken);
}
