/*
 * The acceptance tables for LeaderAndIsr and StopReplica. Pure and without state.
 */
#include "replica/accept.h"

int replica_accept_leader_and_isr(const struct replica_claim *claim, bool *ret_apply,
                                  bool *ret_store_id)
{
    *ret_apply = false;
    *ret_store_id = false;
    if (claim->is_offline) {
        return -E_OFFLINE;
    }
    bool has_ids = !uuid_is_zero(claim->local_id) && !uuid_is_zero(claim->request_id);
    if (has_ids && !uuid_equal(claim->local_id, claim->request_id)) {
        return -E_ID_MISMATCH;
    }
    bool gains_id =
        claim->is_hosted && uuid_is_zero(claim->local_id) && !uuid_is_zero(claim->request_id);
    if (claim->request_epoch > claim->local_epoch ||
        (claim->request_epoch == claim->local_epoch && claim->is_kraft_controller)) {
        if (!claim->is_member) {
            return -E_NOT_FOUND;
        }
        *ret_apply = true;
        *ret_store_id = gains_id;
        return 0;
    }
    if (claim->request_epoch == claim->local_epoch && gains_id) {
        *ret_store_id = true;
        return 0;
    }
    return -E_STALE;
}

int replica_accept_stop(bool is_offline, int32_t local_epoch, int32_t request_epoch)
{
    if (is_offline) {
        return -E_OFFLINE;
    }
    return request_epoch >= 0 && request_epoch < local_epoch ? -E_FENCED : 0;
}
