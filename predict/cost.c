/* predict/cost.c - see cost.h. */
#include "predict/cost.h"

#include <math.h>

double cost_sharing(enum cost_medium medium, int nodes)
{
    if (nodes < 2 || medium == COST_DUPLEX)
        return 1;
    return medium == COST_HALF ? 2 : nodes;
}

double cost_floor_s(double bytes, int nodes, double bytes_per_s, enum cost_medium medium)
{
    if (nodes < 2 || bytes <= 0)
        return 0;
    return 2.0 * (nodes - 1) / nodes * bytes / bytes_per_s * cost_sharing(medium, nodes);
}

double cost_allreduce_s(double bytes, int nodes, double bytes_per_s, enum cost_medium medium, double launch_s,
                        double latency_s, double sum_s_per_byte)
{
    if (nodes < 2)
        return 0;
    double floor_s = cost_floor_s(bytes, nodes, bytes_per_s, medium);
    if (nodes == 2)
        return launch_s + latency_s + floor_s + bytes * sum_s_per_byte;
    return launch_s + 2.0 * (nodes - 1) * latency_s + floor_s + (nodes - 1) * (bytes / nodes) * sum_s_per_byte;
}

double cost_naive_step_s(double forward_s, double backward_s, double optimizer_s, double communication_s)
{
    return forward_s + fmax(backward_s, communication_s) + optimizer_s;
}
