#!/usr/bin/env python3
"""Records one training job of PyTorch on this node alone, for `ddpbench predict --profile FILE`.

    pytorch_profile.py MODULE:FACTORY [-o FILE] [--steps 30] [--warmup 3] [--threads N] [--bucket-mb MB]

FACTORY is a function without arguments in MODULE (a name to import, or a path to a .py file). It returns three things:

    model       the torch.nn.Module that DistributedDataParallel would wrap
    optimizer   its optimizer
    loss        a function of the model: runs forward on the next batch and returns the loss, a scalar tensor

The script trains for a few steps and writes down, per step, what a prediction needs: forward, backward, the optimizer, and
when each parameter's gradient was complete, at the very hook at which DistributedDataParallel would hand it to its bucket. It
also trains in turn with DistributedDataParallel around the model in a group of one process, where nothing is sent: the
difference is what the wrapper itself costs (hooks, copies into buckets). No other process is started and nothing is sent
over a network. Needs torch 2.1 or later and nothing else.
"""
import argparse
import importlib
import importlib.util
import inspect
import json
import os
import platform
import statistics
import sys
import tempfile
import time

import torch

MIB = 1024 * 1024
SCHEMA = "ddpbench-pytorch-profile"


class Refused(Exception):
    """What the user can mend: one sentence, and the exit status."""

    def __init__(self, text, status=65):
        super().__init__(text)
        self.status = status


def find_factory(spec):
    module_name, colon, name = spec.rpartition(":")
    if not colon or not module_name or not name:
        raise Refused(f"'{spec}' is not MODULE:FACTORY, such as train:make or examples/mlp.py:make", 64)
    try:
        if module_name.endswith(".py"):
            if not os.path.exists(module_name):
                raise Refused(f"there is no file '{module_name}'", 66)
            sys.path.insert(0, os.path.dirname(os.path.abspath(module_name)))
            found = importlib.util.spec_from_file_location("profiled", module_name)
            module = importlib.util.module_from_spec(found)
            sys.modules["profiled"] = module
            found.loader.exec_module(module)
        else:
            sys.path.insert(0, os.getcwd())
            module = importlib.import_module(module_name)
    except ModuleNotFoundError as e:
        raise Refused(f"'{module_name}' cannot be imported: {e}", 66) from e
    factory = getattr(module, name, None)
    if not callable(factory):
        raise Refused(f"'{module_name}' has no function '{name}'", 66)
    return factory


def make_job(factory):
    made = factory()
    if not isinstance(made, tuple) or len(made) != 3:
        raise Refused("the factory has to return three things: model, optimizer, loss function")
    model, optimizer, loss = made
    if not isinstance(model, torch.nn.Module):
        raise Refused(f"the first thing the factory returns has to be a torch.nn.Module, not {type(model).__name__}")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise Refused(f"the second thing the factory returns has to be an optimizer, not {type(optimizer).__name__}")
    if not callable(loss):
        raise Refused("the third thing the factory returns has to be a function of the model that returns the loss")
    trained = [p for p in model.parameters() if p.requires_grad]
    if not trained:
        raise Refused("the model has no parameter to train, so there is nothing to send")
    elsewhere = next((p for p in trained if p.device.type != "cpu"), None)
    if elsewhere is not None:
        raise Refused(f"a parameter is on {elsewhere.device}: this profile is about training on CPUs")
    if any(p.layout != torch.strided for p in trained):
        raise Refused("a parameter is sparse: gloo's buckets are dense")
    return made


class Watch:
    """The instants at which gradients of the current step became complete."""

    def __init__(self, model):
        self.names, self.parameters = zip(*((n, p) for n, p in model.named_parameters() if p.requires_grad))
        self.at = [None] * len(self.parameters)
        self.handles = [p.register_post_accumulate_grad_hook(self.hook(i)) for i, p in enumerate(self.parameters)]

    def hook(self, i):
        def stamp(_parameter):
            self.at[i] = time.perf_counter()
        return stamp

    def begin(self):
        self.at = [None] * len(self.at)

    def end(self):
        for handle in self.handles:
            handle.remove()


def take_step(model, optimizer, loss_of):
    """One update: the instants of its start, after forward, after backward, at its end; and the loss."""
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=False)  # part of every step of a training loop; counted with forward
    loss = loss_of(model)
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise Refused("the loss function has to return one number (a scalar tensor)")
    forward = time.perf_counter()
    loss.backward()
    backward = time.perf_counter()
    optimizer.step()
    return start, forward, backward, time.perf_counter(), float(loss.detach())


def sample(model, optimizer, loss_of, watch):
    watch.begin()
    start, forward, backward, end, loss = take_step(model, optimizer, loss_of)
    if not loss - loss == 0:  # NaN or infinite
        raise Refused(f"the loss became {loss}: times of such steps say nothing about training", 70)
    return {
        "step_s": end - start, "forward_s": forward - start, "backward_s": backward - forward,
        "optimizer_s": end - backward, "loss": loss,
        "ready_s": [None if t is None else round(t - start, 9) for t in watch.at],
    }


def check_gradients(watch, wrapped):
    """Of the first step: what DistributedDataParallel with gloo would not send as predicted."""
    sparse = next((n for n, p in zip(watch.names, watch.parameters) if p.grad is not None and p.grad.is_sparse), None)
    if sparse:
        raise Refused(f"the gradient of '{sparse}' is sparse: what travels then differs from step to step, and this profile "
                      "knows dense buckets only")
    idle = [n for n, t in zip(watch.names, watch.at) if t is None]
    if idle and wrapped:
        more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
        raise Refused(f"'{idle[0]}'{more} got no gradient, which DistributedDataParallel takes for an error unless it is told to "
                      "look for such parameters: leave it out (requires_grad=False), or record without the wrapper (--no-wrapper)")


def arrival_order(samples, count):
    """Parameters in the order in which their gradients arrived (medians); those that never do, last, in registration's
    reverse order as DistributedDataParallel's first plan has them."""
    medians = []
    for i in range(count):
        seen = [s["ready_s"][i] for s in samples if s["ready_s"][i] is not None]
        medians.append(statistics.median(seen) if seen else float("inf"))
    return sorted(range(count), key=lambda i: (medians[i], -i))


def first_bucket_is_small():
    """Until the limit's default became None, the first bucket had 1 MiB whatever the limit was."""
    try:
        parameters = inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters
        return parameters["bucket_cap_mb"].default is not None
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def plan_buckets(sizes, order, first_bytes, cap_bytes):
    """DistributedDataParallel's rule: in the given order, a bucket is closed when it holds its limit or more; no tensor is
    divided; the first bucket has a limit of its own."""
    buckets, members, held = [], [], 0
    limit = first_bytes
    for i in order:
        members.append(i)
        held += sizes[i]
        if held >= limit:
            buckets.append({"parameters": members, "bytes": held})
            members, held, limit = [], 0, cap_bytes
    if members:
        buckets.append({"parameters": members, "bytes": held})
    return buckets


class Alone:
    """DistributedDataParallel in a group of one process, reached through a file: it sends nothing."""

    def __init__(self, model, bucket_mb):
        self.folder = tempfile.TemporaryDirectory()
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + os.path.join(self.folder.name, "group"), rank=0, world_size=1)
        limit = {} if bucket_mb is None else {"bucket_cap_mb": bucket_mb}
        self.model = torch.nn.parallel.DistributedDataParallel(model, **limit)

    def end(self):
        torch.distributed.destroy_process_group()
        self.folder.cleanup()


def summary(values):
    middle = statistics.median(values)
    return {"median": middle, "mad": statistics.median(abs(v - middle) for v in values), "n": len(values)}


def record(args):
    if args.threads:
        torch.set_num_threads(args.threads)
    model, optimizer, loss_of = make_job(find_factory(args.job))
    watch = Watch(model)
    group = None
    if torch.distributed.is_available() and not args.no_wrapper:
        group = Alone(model, args.bucket_mb)
    bare, wrapped = [], []
    for step in range(args.warmup + args.steps):
        row = sample(model, optimizer, loss_of, watch)
        if step == 0:
            check_gradients(watch, bool(group))
        if step >= args.warmup:
            bare.append(row)
        if group:  # in turn, so that both see the same weather
            row = sample(group.model, optimizer, loss_of, watch)
            if step >= args.warmup:
                wrapped.append({k: row[k] for k in ("step_s", "forward_s", "backward_s", "optimizer_s")})
        if sys.stderr.isatty():
            print(f"\rstep {step + 1} of {args.warmup + args.steps}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if group:
        group.end()
    watch.end()

    sizes = [p.numel() * p.element_size() for p in watch.parameters]
    order = arrival_order(bare, len(sizes))
    first = MIB if args.bucket_mb is None or first_bucket_is_small() else args.bucket_mb * MIB
    cap = 25 * MIB if args.bucket_mb is None else args.bucket_mb * MIB
    unused = [watch.names[i] for i in range(len(sizes)) if all(s["ready_s"][i] is None for s in bare)]
    reasons = {}
    if not wrapped:
        reasons["wrapped"] = ("not asked for (--no-wrapper)" if args.no_wrapper
                              else "this torch is built without torch.distributed")
    return {
        "schema": SCHEMA, "schema_version": 1,
        "framework": {"name": "pytorch", "version": torch.__version__, "python": platform.python_version()},
        "job": args.job,
        "node": {"name": platform.node(), "cpu": cpu_name(), "threads": torch.get_num_threads()},
        "gradient_bytes": sum(sizes),
        "bucket_mb": args.bucket_mb,
        "parameters": [{"name": n, "bytes": b} for n, b in zip(watch.names, sizes)],
        "unused": unused,
        "buckets": plan_buckets(sizes, order, first, cap),
        "summary": {k: summary([s[k] for s in bare]) for k in ("step_s", "forward_s", "backward_s", "optimizer_s")},
        "wrapped": {k: summary([s[k] for s in wrapped]) for k in wrapped[0]} if wrapped else None,
        "samples": bare,
        "wrapped_samples": wrapped,
        "reasons": reasons,
    }


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or None


def write(path, document):
    text = json.dumps(document, allow_nan=False)
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "w", encoding="utf-8") as f:
            f.write(text + "\n")
            f.flush()
            os.fsync(f.fileno())
        os.replace(beside, path)
    except OSError as e:
        if os.path.exists(beside):
            os.unlink(beside)
        raise Refused(f"'{path}' cannot be written: {e.strerror}", 73) from e


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="The three things a factory returns are "
                                "described at the top of this file; doc/pytorch.md has worked examples.")
    p.add_argument("job", metavar="MODULE:FACTORY", help="train:make, or a path: examples/mlp.py:make")
    p.add_argument("-o", "--output", default="pytorch-profile.json", help="where the profile goes (%(default)s)")
    p.add_argument("--steps", type=int, default=30, help="recorded steps (%(default)s)")
    p.add_argument("--warmup", type=int, default=3, help="steps before them (%(default)s)")
    p.add_argument("--threads", type=int, default=0, help="compute threads (default: PyTorch's choice)")
    p.add_argument("--bucket-mb", type=float, help="bucket_cap_mb of the job (default: unset, as in PyTorch)")
    p.add_argument("--no-wrapper", action="store_true", help="do not measure what DistributedDataParallel itself costs")
    args = p.parse_args()
    if args.steps < 1 or args.warmup < 0 or args.threads < 0 or (args.bucket_mb is not None and not args.bucket_mb > 0):
        p.error("--steps has to be at least 1, --warmup and --threads at least 0, --bucket-mb above 0")
    document = record(args)
    write(args.output, document)
    s = document["summary"]
    print(f"{args.output}: step {s['step_s']['median']:.4g} s (forward {s['forward_s']['median']:.4g}, backward "
          f"{s['backward_s']['median']:.4g}, optimizer {s['optimizer_s']['median']:.4g}), "
          f"{document['gradient_bytes'] / 1e6:.1f} MB of gradients in {len(document['buckets'])} buckets, "
          f"{document['node']['threads']} threads")
    if document["wrapped"]:
        extra = document["wrapped"]["step_s"]["median"] - s["step_s"]["median"]
        print(f"DistributedDataParallel itself adds {extra * 1e3:.2f} ms to a step")
    print(f"next: ddpbench predict --profile {args.output} --nodes 2 --link 1G-eth")


if __name__ == "__main__":
    try:
        main()
    except Refused as refusal:
        print(f"pytorch_profile.py: {refusal}", file=sys.stderr)
        sys.exit(refusal.status)
    except KeyboardInterrupt:
        print("pytorch_profile.py: interrupted, nothing written", file=sys.stderr)
        sys.exit(130)
