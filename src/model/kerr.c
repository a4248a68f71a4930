/*
 * Names of the protocol error codes. No state.
 */
#include "model/kerr.h"

const char *kerr_name(int16_t code)
{
    switch (code) {
#define KERR_CASE(name, value)                                                                     \
    case (value):                                                                                  \
        return #name;
        KERR_LIST(KERR_CASE)
#undef KERR_CASE
    default:
        return "UNKNOWN_SERVER_ERROR";
    }
}
