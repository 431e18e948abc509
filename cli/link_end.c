/* cli/link_end.c - see link_end.h. */
#include "cli/link_end.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "comm/backend.h"
#include "comm/link_reduce.h"
#include "comm/wire.h"
#include "model/gemm.h"

static double known(double x)
{
    return x >= 0 ? x : NAN;
}

static void list_backends(struct link_end *end)
{
    for (const struct backend *b = backends; b->name; b++) {
        size_t used = strlen(end->backends);
        if (link_reduce_can(b) && backend_check(b, NULL) == 0)
            snprintf(end->backends + used, sizeof end->backends - used, "%s%s", used ? " " : "", b->name);
    }
}

bool link_end_has(const struct link_end *end, const char *backend)
{
    size_t n = strlen(backend);
    for (const char *at = end->backends; (at = strstr(at, backend)); at += n)
        if ((at == end->backends || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

void link_end_read(struct link_end *end, int fd, const struct probe *probe)
{
    struct link_socket socket;
    struct netif netif;
    const char *cpu = probe_cpu_name(probe);
    link_socket_read(&socket, fd);
    netif_read(&netif, &probe->root, socket.interface, (int)if_nametoindex(socket.interface));
    *end = (struct link_end){.threads = probe->threads,
                             .nominal_bytes_per_s = netif.nominal_bytes_per_s,
                             .mtu_bytes = known(socket.mtu_bytes),
                             .segment_bytes = known(socket.segment_bytes),
                             .retransmits = known(socket.retransmits)};
    snprintf(end->cpu, sizeof end->cpu, "%s", cpu ? cpu : "");
    snprintf(end->blas, sizeof end->blas, "%s", gemm_core());
    snprintf(end->kind, sizeof end->kind, "%s", netif_kind_names[netif.kind]);
    memcpy(end->interface, socket.interface, sizeof end->interface);
    memcpy(end->owner, socket.owner, sizeof end->owner);
    memcpy(end->address, socket.local, sizeof end->address);
    memcpy(end->duplex, netif.duplex, sizeof end->duplex);
    memcpy(end->congestion, socket.congestion, sizeof end->congestion);
    memcpy(end->why, netif.why, sizeof end->why);
    list_backends(end);
}

json_t *link_end_message(const struct link_end *end)
{
    json_t *m = json_object();
    json_object_set_new(m, "type", json_string("end"));
    json_object_set_new(m, "threads", json_integer(end->threads));
    json_object_set_new(m, "cpu", output_string(end->cpu));
    json_object_set_new(m, "blas_kernel", output_string(end->blas));
    json_object_set_new(m, "interface", output_string(end->interface));
    json_object_set_new(m, "owner", output_string(end->owner));
    json_object_set_new(m, "address", output_string(end->address));
    json_object_set_new(m, "kind", output_string(end->kind));
    json_object_set_new(m, "duplex", output_string(end->duplex));
    json_object_set_new(m, "congestion_control", output_string(end->congestion));
    json_object_set_new(m, "backends", output_string(end->backends));
    json_object_set_new(m, "why", output_string(end->why));
    json_object_set_new(m, "nominal_bytes_per_s", json_num(end->nominal_bytes_per_s));
    json_object_set_new(m, "mtu_bytes", json_num(end->mtu_bytes));
    json_object_set_new(m, "segment_bytes", json_num(end->segment_bytes));
    json_object_set_new(m, "retransmits", json_num(end->retransmits));
    return m;
}

static double hear_num(const json_t *m, const char *key)
{
    const json_t *value = json_object_get(m, key);
    return json_is_number(value) ? known(json_number_value(value)) : NAN;
}

void link_end_hear(struct link_end *end, const json_t *m)
{
    double threads = hear_num(m, "threads");
    *end = (struct link_end){.threads = threads >= 1 && threads <= LINK_END_THREADS_MAX ? (int)threads : 1,
                             .nominal_bytes_per_s = hear_num(m, "nominal_bytes_per_s"),
                             .mtu_bytes = hear_num(m, "mtu_bytes"),
                             .segment_bytes = hear_num(m, "segment_bytes"),
                             .retransmits = hear_num(m, "retransmits")};
    wire_text(m, "cpu", end->cpu, sizeof end->cpu);
    wire_text(m, "blas_kernel", end->blas, sizeof end->blas);
    wire_text(m, "interface", end->interface, sizeof end->interface);
    wire_text(m, "owner", end->owner, sizeof end->owner);
    wire_text(m, "address", end->address, sizeof end->address);
    wire_text(m, "kind", end->kind, sizeof end->kind);
    wire_text(m, "duplex", end->duplex, sizeof end->duplex);
    wire_text(m, "congestion_control", end->congestion, sizeof end->congestion);
    wire_text(m, "backends", end->backends, sizeof end->backends);
    wire_text(m, "why", end->why, sizeof end->why);
}

static const char unsaid[] = "the system does not say";

/* A whole number where it is one. */
static json_t *number(double x)
{
    return isfinite(x) && x < 9e15 && x == floor(x) ? json_integer((json_int_t)x) : json_num(x);
}

json_t *link_end_json(json_t *root, const char *path, const struct link_end *end, const struct link_end *before)
{
    json_t *o = json_object();
    json_object_set_new(o, "threads", json_integer(end->threads));
    json_known(root, o, path, "cpu", output_string_if(end->cpu), unsaid);
    json_known(root, o, path, "blas_kernel", output_string_if(end->blas), unsaid);
    json_known(root, o, path, "address", output_string_if(end->address), unsaid);
    json_known(root, o, path, "interface", output_string_if(end->interface), unsaid);
    json_known(root, o, path, "backends", output_string_if(end->backends), unsaid);
    json_known(root, o, path, "interface_kind", output_string_if(end->kind), unsaid);
    json_known(root, o, path, "nominal_bytes_per_s", number(end->nominal_bytes_per_s), *end->why ? end->why : unsaid);
    json_known(root, o, path, "duplex", output_string_if(end->duplex), unsaid);
    json_known(root, o, path, "mtu_bytes", number(end->mtu_bytes), unsaid);
    json_known(root, o, path, "segment_bytes", number(end->segment_bytes), unsaid);
    json_known(root, o, path, "congestion_control", output_string_if(end->congestion), unsaid);
    json_known(root, o, path, "retransmits", number(end->retransmits - before->retransmits), unsaid);
    return o;
}
