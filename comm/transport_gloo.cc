/*
 * comm/transport_gloo.cc - gloo as a transport, in a module of its own; see transport.h and backend.h. Start at open_gloo().
 *
 * What is asked of gloo is what PyTorch's ProcessGroupGloo asks: all-reduce through AllreduceOptions in place, the algorithm
 * left to gloo (its ring), the sum from gloo's own template, a fresh tag for each operation. PyTorch keeps two operations
 * in flight on two threads; here it is one.
 *
 * Ranks find each other by their addresses, which gloo hands to a store and which travel over the ring that connects the
 * ranks already. gloo listens on the address of that ring's socket. It has one thread of its own for each transport, which
 * moves the bytes; sums are made on the calling thread. No exception leaves this file.
 *
 * gloo cannot be interrupted, but a wait that runs out of time breaks all its connections and so ends every other wait:
 * when stop_fd becomes readable, a thread waits a millisecond for what never comes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

extern "C" {
#include "comm/backend_module.h"
}

namespace
{

using milliseconds = std::chrono::milliseconds;

constexpr milliseconds connect_timeout{30000};
constexpr uint64_t never_sent = UINT64_MAX; /* a slot; those of operations begin with a small prefix */

/* An error of ours on its way through gloo. */
struct failed {
    struct err e;
};

/* Every rank sets as many values in the same order, each under a key with its number, and then wants those of the others:
 * setting a value is a gathering over the ring. */
class ring_store : public gloo::rendezvous::Store
{
  public:
    explicit ring_store(struct transport *ring) : ring_(ring)
    {
    }

    void set(const std::string &key, const std::vector<char> &data) override
    {
        for (int r = 0; r < ring_->world; r++) {
            bool own = r == ring_->rank;
            std::vector<char> name = share(own ? std::vector<char>(key.begin(), key.end()) : std::vector<char>(), r);
            value_[std::string(name.begin(), name.end())] = share(own ? data : std::vector<char>(), r);
        }
    }

    std::vector<char> get(const std::string &key) override
    {
        return value_.at(key);
    }
    void wait(const std::vector<std::string> &) override
    {
    }
    void wait(const std::vector<std::string> &, const milliseconds &) override
    {
    }

  private:
    static constexpr uint32_t most_bytes = 16 << 20;

    std::vector<char> share(std::vector<char> text, int root)
    {
        uint32_t bytes = static_cast<uint32_t>(text.size());
        broadcast(&bytes, sizeof bytes, root);
        if (bytes > most_bytes)
            throw failed{{ERR_PROTOCOL, "gloo's addresses of another rank are too long"}};
        text.resize(bytes);
        broadcast(text.data(), bytes, root);
        return text;
    }

    void broadcast(void *data, size_t bytes, int root)
    {
        struct call call = {};
        struct err e = {};
        if (transport_broadcast(ring_, data, bytes, root, &call, &e))
            throw failed{e};
    }

    struct transport *ring_;
    std::map<std::string, std::vector<char>> value_;
};

struct group {
    std::shared_ptr<gloo::rendezvous::Context> context;
    milliseconds timeout{600000};
    uint32_t tag = 0;
    struct err broken = {}; /* the first failure */

    int stop_fd = -1, end_fd = -1;
    std::thread watcher; /* of stop_fd */
    std::atomic<bool> stopped{false};

    ~group()
    {
        if (watcher.joinable()) {
            uint64_t one = 1;
            while (write(end_fd, &one, sizeof one) < 0 && errno == EINTR)
                ;
            watcher.join();
        }
        if (end_fd >= 0)
            close(end_fd);
    }
};

group *group_of(struct transport *t)
{
    return static_cast<group *>(t->state);
}

void watch(group *g)
{
    struct pollfd p[] = {{g->stop_fd, POLLIN, 0}, {g->end_fd, POLLIN, 0}};
    prctl(PR_SET_NAME, "ddp-watch");
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    if (!p[0].revents)
        return;
    g->stopped = true;
    try {
        char byte;
        auto buffer = g->context->createUnboundBuffer(&byte, sizeof byte);
        buffer->recv((g->context->rank + 1) % g->context->size, never_sent);
        buffer->waitRecv(milliseconds(1));
    } catch (...) {
    }
}

/* gloo puts its own source line before a message. */
const char *without_place(const char *text)
{
    const char *end = *text == '[' ? strstr(text, "] ") : nullptr;
    return end ? end + 2 : text;
}

/* Turns the exception in flight into an error. */
int explain(group *g, const struct call *call, struct err *e)
{
    try {
        throw;
    } catch (const failed &f) {
        *e = f.e;
    } catch (const std::bad_alloc &) {
        err_set(e, ERR_MEMORY, "no memory for gloo");
    } catch (const gloo::IoException &x) {
        if (g && g->stopped)
            err_set(e, ERR_INTERRUPTED, "stopped at step %u, bucket %u", call->step, call->bucket);
        else if (call)
            err_set(e, ERR_PEER_LOST, "gloo lost a rank at step %u, bucket %u: %s", call->step, call->bucket,
                    without_place(x.what()));
        else
            err_set(e, ERR_PEER_LOST, "gloo cannot connect the ranks: %s", without_place(x.what()));
    } catch (const std::exception &x) {
        err_set(e, ERR_IO, "gloo: %s", without_place(x.what()));
    } catch (...) {
        err_set(e, ERR_IO, "gloo failed without a reason");
    }
    return -1;
}

uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

template <typename work> int run(struct transport *t, struct call *call, struct err *e, work operation)
{
    group *g = group_of(t);
    struct call done = {};
    struct err ignored;
    int result = 0;
    done.step = call->step;
    done.bucket = call->bucket;
    done.opaque = true;
    uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    done.start_ns = now_ns(CLOCK_MONOTONIC);
    if (!g->broken.code) {
        try {
            operation(g);
        } catch (...) {
            explain(g, call, &g->broken);
        }
    }
    if (g->broken.code) {
        *(e ? e : &ignored) = g->broken;
        result = -1;
    }
    done.end_ns = now_ns(CLOCK_MONOTONIC);
    done.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    *call = done;
    return result;
}

/* gloo has no operation on nothing. */
int allreduce(struct transport *t, float *data, size_t n, struct call *call, struct err *e)
{
    return run(t, call, e, [=](group *g) {
        if (n == 0)
            return;
        gloo::AllreduceOptions o(g->context);
        o.setOutput(data, n);
        o.setReduceFunction(static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::sum<float>));
        o.setTag(g->tag++);
        o.setTimeout(g->timeout);
        gloo::allreduce(o);
    });
}

int broadcast(struct transport *t, void *data, size_t bytes, int root, struct call *call, struct err *e)
{
    if (root < 0 || root >= t->world)
        return err_set(e, ERR_USAGE, "no rank %d among %d to broadcast from", root, t->world);
    return run(t, call, e, [=](group *g) {
        if (bytes == 0)
            return;
        gloo::BroadcastOptions o(g->context);
        o.setOutput(static_cast<uint8_t *>(data), bytes);
        o.setRoot(root);
        o.setTag(g->tag++);
        o.setTimeout(g->timeout);
        gloo::broadcast(o);
    });
}

int barrier(struct transport *t, struct call *call, struct err *e)
{
    return run(t, call, e, [=](group *g) {
        gloo::BarrierOptions o(g->context);
        o.setTag(g->tag++);
        o.setTimeout(g->timeout);
        gloo::barrier(o);
    });
}

void set_timeout(struct transport *t, uint64_t timeout_ns)
{
    group_of(t)->timeout = milliseconds(timeout_ns / 1000000u + 1);
}

void close_group(struct transport *t)
{
    delete group_of(t);
    t->state = nullptr;
}

const struct transport_ops operations = {
    "gloo",      "gloo says when an all-reduce began and ended, and nothing of what happened in between",
    allreduce,   broadcast,
    barrier,     set_timeout,
    close_group,
};

/* This host's address on the ring, as getaddrinfo() takes it. */
int own_address(const struct transport *ring, char *text, size_t size, struct err *e)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    auto *any = reinterpret_cast<struct sockaddr *>(&address);
    if (getsockname(ring->ring.next.fd, any, &length) || (any->sa_family != AF_INET && any->sa_family != AF_INET6))
        return err_set(e, ERR_CONFIG, "the gloo back-end needs ranks connected by TCP");
    auto *six = reinterpret_cast<struct sockaddr_in6 *>(&address);
    if (any->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
        return err_set(e, ERR_CONFIG,
                       "gloo cannot use link-local IPv6 addresses, which mean another interface on each host; give "
                       "the peers' IPv4 addresses");
    if (any->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) /* gloo looks for an interface with it */
        return inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], text, static_cast<socklen_t>(size))
                   ? 0
                   : err_set(e, ERR_IO, "this host's address on the ring has no text");
    if (getnameinfo(any, length, text, static_cast<socklen_t>(size), nullptr, 0, NI_NUMERICHOST))
        return err_set(e, ERR_IO, "this host's address on the ring has no text");
    return 0;
}

void connect(group *g, struct transport *ring, const char *address)
{
    char own[16] = ""; /* its thread is told from those that compute by the name that it inherits */
    prctl(PR_GET_NAME, own);
    prctl(PR_SET_NAME, "ddp-gloo");
    gloo::transport::tcp::attr attr(address);
    auto device = gloo::transport::tcp::CreateDevice(attr);
    prctl(PR_SET_NAME, own);
    ring_store store(ring);
    g->context = std::make_shared<gloo::rendezvous::Context>(ring->rank, ring->world);
    g->context->setTimeout(connect_timeout);
    g->context->connectFullMesh(store, device);
}

int open_gloo(struct transport *t, struct transport *ring, int stop_fd, struct err *e)
{
    char address[NI_MAXHOST];
    struct err ignored;
    std::unique_ptr<group> g;
    if (ring->world < 2)
        return err_set(e, ERR_USAGE, "the gloo back-end needs two ranks at least");
    if (own_address(ring, address, sizeof address, e))
        return -1;
    try {
        g = std::make_unique<group>();
        connect(g.get(), ring, address);
        g->stop_fd = stop_fd;
        g->end_fd = stop_fd >= 0 ? eventfd(0, EFD_CLOEXEC) : -1;
        if (g->end_fd >= 0)
            g->watcher = std::thread(watch, g.get());
    } catch (...) {
        return explain(nullptr, nullptr, e ? e : &ignored);
    }
    t->ops = &operations;
    t->state = g.release();
    return 0;
}

} // namespace

extern "C" {
extern const struct backend_module ddpbench_backend __attribute__((visibility("default")));
const struct backend_module ddpbench_backend = {BACKEND_MODULE_VERSION, sizeof(struct transport), open_gloo, nullptr};
}
