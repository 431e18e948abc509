/* cli/option_rows.c - see option_rows.h. */
#include "cli/option_rows.h"

#include <assert.h>
#include <math.h>

#include "comm/peer_list.h"

#define AT(member) offsetof(struct options, member)

enum { R = OPTIONS_RUN, P = OPTIONS_PROBE, I = OPTIONS_INFO };

enum {
    S = OPTIONS_SERVE,
    Q = OPTIONS_PEERS,
    T = OPTIONS_PREDICT,
    L = OPTIONS_LINK,
    TR = OPTIONS_TRACE,
    RE = OPTIONS_REPORT,
    K = OPTIONS_SOAK,
    DE = OPTIONS_DEMO
};

enum { C = OPTIONS_COMPARE, H = OPTIONS_HISTORY, D = OPTIONS_DOCTOR, W = OPTIONS_COMPLETION };

const struct option_row option_rows[] = {
    {"nodes", "LIST", TEXT, AT(predict.nodes), 0, 0, T, PREDICT, "numbers of nodes: 2 (default), 2,4,8, 1-16"},
    {"link", "RATE", TEXT, AT(predict.link), 0, 0, T, PREDICT,
     "what the link carries as TCP payload: 941.5Mbit, 117.7MB/s, or 100M-eth, 1G-eth, 2.5G-eth, 10G-eth, wifi "
     "(default: 1G-eth, assumed)"},
    {"rtt", "T", TEXT, AT(predict.rtt), 0, 0, T, PREDICT, "its round trip: 200us, 3ms (default: assumed)"},
    {"link-run", "FILE", TEXT, AT(predict.link_run), 0, 0, T, PREDICT,
     "a link that was measured, in place of --link: a file, or last for the newest one"},
    {"partner", "RUN", TEXT, AT(predict.partner), 0, 0, T, PREDICT,
     "a run of one of the other nodes (default: they are like this one)"},
    {"what-if", "K=V,..", TEXT, AT(predict.what_if), 0, 0, T, PREDICT, "also with these changes, of the keys above"},
    {"heat", "T:X,..", TEXT, AT(predict.heat), 0, 0, T, PREDICT,
     "how many times longer a step of each node takes once it is warm: 60s:1.05,600s:1.2"},
    {"soak", "FILE", TEXT, AT(predict.soak), 0, 0, T, PREDICT,
     "the same, as a soak of a node has measured it: a file, or last for the newest one"},
    {"target", "X", REAL, AT(predict.target), 0.01, 4096, T, PREDICT,
     "the speed-up to reach, for the rate, tokens, accumulation or slowest partner that are needed (default 1: break "
     "even)"},
    {"goal-steps", "N", INT, AT(predict.goal_steps), 1, 1000000000, T, PREDICT,
     "also how many hours a job of N steps takes"},
    {"steps", "N", INT, AT(predict.steps), 1, 1000000000, T, PREDICT,
     "steps of the run whose median is predicted (default 10; from 100 on the interval stays as it is)"},
    {"model", "NAME", TEXT, AT(predict.model), 0, 0, T, PREDICT,
     "the newest run of this model; with --step-s only the size of its gradients"},
    {"profile", "FILE", TEXT, AT(predict.profile), 0, 0, T, PREDICT,
     "no run: a job of PyTorch, recorded by tools/pytorch_profile.py; predicts DistributedDataParallel with gloo"},
    {"step-s", "S[,S]", TEXT, AT(predict.step_s), 0, 0, T, PREDICT,
     "no run: a step of this node alone takes S seconds, one of the others the second value"},
    {"bytes", "N", REAL, AT(predict.bytes), 0, 1e15, T, PREDICT, "no run: gradient bytes of a step"},
    {"overlap", "NAME", TEXT, AT(predict.overlap), 0, 0, T, PREDICT,
     "buckets (default with a run): as gradients become ready; none (always with --step-s): communication after "
     "computing"},
    {"score", NULL, ON, AT(predict.score), 0, 0, T, PREDICT,
     "no prediction: how those in saved runs compare with what was measured"},
    {"seed", "N", U64, AT(run.seed), 0, 0, T, PREDICT, "of the draws (default 1)"},

    {"model", "NAME", TEXT, AT(history.model), 0, 0, H, PREDICT, "runs of this model"},
    {"node", "NAME", TEXT, AT(history.node), 0, 0, H, PREDICT, "runs in which this node took part"},
    {"label", "TEXT", TEXT, AT(label), 0, 0, H, PREDICT, "runs with this label"},
    {"last", "N", INT, AT(history.last), 1, 1000000000, H, PREDICT, "list the newest N of them (default: all)"},
    {"check", NULL, ON, AT(history.check), 0, 0, H, PREDICT,
     "look for changes of level; exit status 1 if something became slower for good"},
    {"require-baseline", NULL, ON, AT(history.require_baseline), 0, 0, H, PREDICT,
     "with --check: exit status 66 if there are too few runs to see anything"},
    {"force", NULL, ON, AT(history.force), 0, 0, C, PREDICT,
     "compare runs of unlike machines or settings all the same"},
    {"noise-floor", "X", REAL, AT(history.noise_floor), 0, 1, C, PREDICT,
     "the smallest difference that counts: 0.02 for 2 % (default: chosen from the runs, see doc/METHOD.md)"},
    {"noise-floor", "X", REAL, AT(history.noise_floor), 0, 1, H, PREDICT,
     "the smallest change of level that counts (default 0.02, which is 2 %)"},
    {"plot", "WHERE", TEXT, AT(history.plot), 0, 0, H, PREDICT,
     "draw the newest of them over time: term, here; or a file whose name ends with .svg"},
    {"metric", "NAME", TEXT, AT(history.metric), 0, 0, H, PREDICT,
     "what is drawn: step (default), 'step / floor', speed-up, exposed, tokens/s and others"},
    {"format", "NAME", TEXT, AT(history.format), 0, 0, H, PREDICT,
     "print them for another program: csv, json, openmetrics, github-action-benchmark, bencher"},

    {"model", "NAME", TEXT, AT(run.model), 0, 0, R | I | K | C, NETWORK,
     "shakespeare-char (default), gpt2-124m, mlp-768 or linear-10x2"},
    {"batch", "N", INT, AT(run.batch), 1, 1 << 20, R | I | K | C, NETWORK,
     "sequences per micro-batch and rank (default: the model's own)"},
    {"seq", "N", INT, AT(run.seq), 1, 1 << 20, R | I | K | C, NETWORK,
     "tokens per sequence (default: the model's own)"},
    {"accum", "K", INT, AT(run.accum), 1, 1 << 20, R | K, NETWORK, "micro-batches per update (default 1)"},
    {"lr", "X", REAL, AT(run.lr), 0, 1000, R | K, NETWORK, "learning rate (default: the model's own)"},
    {"clip", "X", REAL, AT(run.clip), 0, 1e9, R | K, NETWORK,
     "largest norm of the gradient, 0 for no limit (default 0)"},
    {"dtype", "TYPE", TEXT, AT(dtype), 0, 0, R | K, NETWORK, "number format: fp32"},
    {"seed", "N", U64, AT(run.seed), 0, 0, L, DURATION, "of the order in which things are measured (default 1)"},
    {"seed", "N", U64, AT(run.seed), 0, 0, R | K, NETWORK, "of initial weights and data order (default 1)"},

    {"minutes", "M", REAL, AT(minutes), 0.01, 10080, K, DURATION, "hold the load for M minutes (default 10)"},
    {"steps", "N", INT, AT(run.steps), 0, 100000000, R | C, DURATION, "exactly N timed steps, whatever --time says"},
    {"time", "S", REAL, AT(run.time_s), 0, 1e8, R | C, DURATION,
     "timed steps for S seconds and at least 5 of them (default 60)"},
    {"warmup", "N", INT, AT(run.warmup), 0, 1000000, R | K | C, DURATION, "steps before the timed ones (default 2)"},
    {"no-floor", NULL, OFF, AT(run.floor), 0, 0, R, DURATION,
     "leave out the floor: the time of the same step's matrix products alone"},

    {"duration", "S", REAL, AT(survey.duration_s), 2, 3600, L | C, DURATION,
     "all measurements together take about S seconds (default for each interface: 20, with --allreduce 30, and longer "
     "if its sizes need that)"},
    {"warmup", "S", REAL, AT(survey.warmup_s), 0, 600, L, DURATION,
     "of each stream, counted nowhere (default: a part of the duration)"},
    {"window", "S", REAL, AT(survey.window_s), 0.05, 3600, L, DURATION,
     "of each stream: bytes and time that count (default: a part of the duration)"},
    {"allreduce", NULL, ON, AT(survey.allreduce), 0, 0, L, DURATION,
     "after the streams the all-reduce of every back-end from 4 B to 64 MiB, in place of messages"},
    {"no-compute", NULL, OFF, AT(survey.compute), 0, 0, L, DURATION,
     "leave out how much computing slows beside the link"},

    {"data", "FILE", TEXT, AT(run.data), 0, 0, R | S | K, DATA,
     "text, nanoGPT .bin or llm.c token file (default: a built-in text); peers need not have it"},
    {"split", "X", REAL, AT(run.split), 1e-6, 1, R, DATA,
     "share of the data that trains; the rest validates (default 1)"},
    {"eval", "N", INT, AT(run.eval_batches), 0, 1000000, R, DATA,
     "take the validation loss over N batches at the end; implies --split 0.9"},
    {"drop-last", NULL, ON, AT(run.drop_last), 0, 0, R, DATA, "drop an epoch's tail that does not divide by the ranks"},
    {"checkpoint", "FILE", TEXT, AT(run.checkpoint), 0, 0, R, DATA, "start from weights in llm.c's layout"},
    {"save", "FILE", TEXT, AT(run.save), 0, 0, R, DATA, "write the trained weights in llm.c's layout"},

    {"spawn", "N", INT, AT(run.world), 1, 4096, R, RANKS,
     "N ranks on this node, which share its processors and average their gradients over loopback (default 1)"},
    {"peers", "HOST[,..]", TEXT, AT(peers), 0, 0, R | C, RANKS,
     "train together with these nodes; this one is rank 0. HOST is [USER@]NAME[:PORT]. Each runs 'serve', or is "
     "started "
     "by ssh; ssh:HOST and tcp:HOST force one of the two"},
    {"spawn", "N", INT, AT(run.world), 2, 16, DE, RANKS,
     "N ranks on this node (default: 4 for straggler, 2 for the others), which sleep through recorded computing; the "
     "exchange is real and paced"},
    {"peers", "HOST[,..]", TEXT, AT(peers), 0, 0, DE, RANKS,
     "with these nodes, over the link to them, in place of --spawn; each runs 'serve'"},
    {"global-batch", "N", INT, AT(run.global_batch), 1, 1 << 20, R, RANKS,
     "sequences per update over all ranks, in place of --batch"},
    {"shares", "A:B:..", TEXT, AT(run.shares), 0, 0, R, RANKS,
     "divide the global batch in these proportions (default: equally)"},
    {"bucket-mb", "X", REAL, AT(run.bucket_mib), 1e-6, 1e6, R | T | I | C, RANKS,
     "size of a gradient bucket in MiB, as PyTorch's bucket_cap_mb (default: 1 for the first, 25 for the others)"},
    {"schedule", "NAME", TEXT, AT(schedule), 0, 0, R | T | I | C, RANKS,
     "ddp (default): buckets as PyTorch sends them; split: the tied embedding early, its touched rows last"},
    {"optimizer-per-bucket", "WHEN", TEXT, AT(optimizer_per_bucket), 0, 0, R, RANKS,
     "yes: update a bucket's parameters while later ones travel; no: all at the end; auto (default): yes with split, "
     "no "
     "with ddp, as PyTorch"},
    {"comm", "NAME", TEXT, AT(comm), 0, 0, R, RANKS,
     "tcp (default); gloo: as PyTorch does on CPUs; mpi: ranks that mpirun or srun started; null: nothing is "
     "exchanged, to "
     "see what the rest costs"},
    {"emulate", "LINK", TEXT, AT(emulate), 0, 0, R, RANKS,
     "pace what ranks send each other as a slower link would: rate=100Mbit,rtt=2ms,jitter=1ms,half-duplex (any of "
     "them)"},
    {"compute", "HOW", TEXT, AT(compute_text), 0, 0, R, RANKS,
     "real (default), or replay[:RUN.json][,slow=RANK:FACTOR]: sleep through recorded steps, of a saved run or of each "
     "rank "
     "alone, while communication is real"},
    {"verify", NULL, ON, AT(run.verify), 0, 0, R, RANKS,
     "compare the ranks' parameters after every step, also of large models"},
    {"no-baseline", NULL, OFF, AT(run.baseline), 0, 0, R, RANKS,
     "leave out each rank's steps alone, and with them the speed-up"},

    {"no-predict", NULL, OFF, AT(predict_first), 0, 0, R, RANKS,
     "with --peers: leave out the prediction before the first step, and the seconds for what it needs"},

    {"threads", "N", INT, AT(threads), 1, 4096, R | P | I | S | L | K | C | DE, NODE,
     "compute threads of each rank on this node (default: physical cores this process may use, divided by ranks)"},
    {"seconds", "S", REAL, AT(seconds), 0.05, 600, P | Q, NODE, "time for each measurement (default 0.5)"},
    {"sysroot", "DIR", TEXT, AT(sysroot), 0, 0, R | P | K | D, NODE, "read the machine from DIR/sys and DIR/proc"},

    {"once", NULL, ON, AT(once), 0, 0, S, NODE, "end after one session, with its exit status"},
    {"wait", "S", REAL, AT(wait_s), 0.1, 1e7, S, NODE, "end with status 69 when nobody has come for S seconds"},
    {"port", "N", INT, AT(port), 0, 65535, S, NODE, "listen here (default 27124; 0: any that is free)"},
    {"any-source", NULL, ON, AT(any_source), 0, 0, S, NODE, "answer callers outside the local networks too"},
    {"iface", "NAME", TEXT, AT(iface), 0, 0, R | Q | DE, NODE,
     "use this network interface (default: by the route to each peer)"},
    {"iface", "NAME[,NAME]", TEXT, AT(iface), 0, 0, L | C, NODE,
     "measure over this network interface (default: by the route to the peer), or compare two in turns"},
    {"key-file", "FILE", TEXT, AT(key_file), 0, 0, R | S | Q | L | C | DE, NODE,
     "share the key in FILE (64 hexadecimal digits, mode 0600; /dev/fd/N: inherited) instead of pairing"},
    {"key-stdin", NULL, ON, AT(key_stdin), 0, 0, S, NODE,
     "share the key on standard input, print the port on standard output, and end when the input does: for ssh"},
    {"remote", "PATH", TEXT, AT(remote), 0, 0, R, RANKS,
     "where ddpbench is on nodes that are started by ssh (default: in their PATH)"},
    {"no-ssh", NULL, ON, AT(no_ssh), 0, 0, R, RANKS, "never start a node by ssh"},
    {"encrypt", NULL, ON, AT(encrypt), 0, 0, R | Q | C, RANKS,
     "encrypt what travels between peers (TLS 1.3), and time that; --data, --checkpoint and --save imply it"},
    {"clear", NULL, ON, AT(clear), 0, 0, R | S, RANKS,
     "let private data and weights travel in clear, if the other end says so too"},
    {"require-encrypt", NULL, ON, AT(require_encrypt), 0, 0, S, NODE, "refuse work whose data travel in clear"},
    {"peer-timeout", "S", REAL, AT(peer_timeout_s), 4, 86400, R | S | Q | L | C, NODE,
     "give a peer up after S seconds without a sign of life (default 20)"},

    {"json", NULL, ON, AT(json), 0, 0, R | T | P | I | S | Q | L | TR | K | RE | C | H | D | DE, OUTPUT,
     "print one JSON document instead of a table"},
    {"output", "FILE", TEXT, AT(output), 0, 0, TR, OUTPUT, "write it here instead of printing it"},
    {"output", "FILE", TEXT, AT(output), 0, 0, C, OUTPUT, "write the comparison as a page (HTML) to FILE too"},
    {"output", "DIR", TEXT, AT(output), 0, 0, RE, OUTPUT,
     "folder of the page and its figures; with --format, or with --plot term, the file to write instead of printing"},
    {"format", "NAME", TEXT, AT(report.format), 0, 0, RE, OUTPUT,
     "html (default): the page; md, csv, json, jsonl or openmetrics: the fields, on standard output"},
    {"plot", "HOW", TEXT, AT(report.plot), 0, 0, RE, OUTPUT,
     "svg (default): figures in the page and beside it; png: these too, in pixels; term: figures in the terminal, no "
     "page; none: scripts and data only"},
    {"plot-timeout", "S", REAL, AT(report.deadline_s), 0.1, 3600, RE, OUTPUT,
     "give gnuplot up after S seconds; the page is there without its pictures (default 20)"},
    {"results-dir", "DIR", TEXT, AT(results_dir), 0, 0, R | T | L | TR | K | RE | C | H | D | DE, OUTPUT,
     "where results are (default: ./results if it is there and writable, else the XDG data folder)"},
    {"label", "TEXT", TEXT, AT(label), 0, 0, R | L | K | C, OUTPUT, "a note of yours to keep with the result"},

    {"help", NULL, ON, AT(help), 0, 0, R | T | P | I | S | Q | L | TR | K | RE | C | H | D | W | DE, OTHER,
     "print this text"},
    {"version", NULL, ON, AT(version), 0, 0, R | T | P | I | S | Q | L | TR | K | RE | C | H | D | W | DE, OTHER,
     "print the version"},

    /* Hooks for tests: a value in the plan of a serving node; peers on this host. */
    {"test-plan", "KEY=VALUE", TEXT, AT(test_plan), 0, 0, S, OTHER, NULL},
    {"test-this-host", NULL, ON, AT(test_this_host), 0, 0, R | Q | L | C | DE, OTHER, NULL},
    /* And for demonstrations: steps and their number, so many times as long. */
    {"test-scale", "X", REAL, AT(test_scale), 0.01, 1, DE, OTHER, NULL},

    /* Hooks for tests: poison one weight before this timed step, to see that a broken loss is noticed; alter one of the last
     * rank's weights after it, to see that ranks are compared. */
    {"test-nan-step", "N", INT, AT(run.poison_step), 0, 100000000, R, OTHER, NULL},
    {"test-alter-step", "N", INT, AT(run.alter_step), 0, 100000000, R, OTHER, NULL},
    /* In place of the minute that ranks wait for bytes at least. */
    {"test-patience", "S", REAL, AT(run.patience_s), 1, 60, R, OTHER, NULL},
    {"test-alter-element", "N", INT, AT(survey.alter), 0, 100000000, L, OTHER, NULL},
    /* The shape of data that only rank 0 has; see ddp/feed.h. */
    {"data-tokens", "N", U64, AT(run.data_tokens), 0, 0, R, OTHER, NULL},
    {"data-vocabulary", "N", INT, AT(run.data_vocabulary), 1, 65536, R, OTHER, NULL},
    /* What rank 0 has decided for all; see ddp/rehearse.h. */
    {"rehearse", NULL, ON, AT(run.rehearse), 0, 0, R, OTHER, NULL},
    /* How a rank finds its place; see ddp/spawn.h. */
    {"worker", "PLACE", TEXT, AT(worker), 0, 0, R, OTHER, NULL},
    /* A descriptor that is told of every step; see live.h. */
    {"live", "FD", INT, AT(live), 0, 65535, R, OTHER, NULL},
};

const int option_rows_n = sizeof option_rows / sizeof *option_rows;
static_assert(sizeof option_rows / sizeof *option_rows <= OPTION_ROWS_MAX, "cli/options.c has room for so many");

const char *const option_headings[OTHER + 1] = {
    [PREDICT] = NULL, /* differs; see heading() */
    [NETWORK] = "What is trained:",
    [DURATION] = "How long:",
    [DATA] = "Data and weights:",
    [RANKS] = "Several ranks:",
    [NODE] = "This node:",
    [OUTPUT] = "Output:",
    [OTHER] = NULL,
};

const struct options option_defaults = {
    .run = {.model = "shakespeare-char",
            .steps = -1,
            .time_s = 60,
            .warmup = 2,
            .seed = 1,
            .lr = -1,
            .accum = 1,
            .split = NAN, /* not given */
            .world = 1,
            .floor = true,
            .baseline = true,
            .poison_step = -1,
            .alter_step = -1},
    .dtype = "fp32",
    .schedule = "ddp",
    .comm = "tcp",
    .optimizer_per_bucket = "auto",
    .compute_text = "real",
    .predict_first = true,
    .minutes = 10,
    .seconds = 0.5,
    .port = PEER_PORT,
    .peer_timeout_s = 20,
    .live = -1,
    .test_scale = 1,
    .predict = {.bytes = NAN, .target = 1},
    .report = {.format = "html", .plot = "svg", .deadline_s = 20},
    .history = {.noise_floor = NAN},
    .survey = {.duration_s = NAN, .warmup_s = NAN, .window_s = NAN, .compute = true, .alter = -1},
};
