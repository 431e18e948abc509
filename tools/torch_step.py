#!/usr/bin/env python3
"""One training step in PyTorch on the CPU, timed: the other side of `make bench`. Prints one JSON line.

    torch_step.py MODEL BATCH SEQ STEPS THREADS [--compile]

The network, initial values (std 0.02) and optimizer are those of ddpbench: fused AdamW, weight decay on matrices only.
`import_bytes` is the resident size with PyTorch imported and nothing done, `peak_bytes` the peak of the whole process.
"""
import json
import resource
import statistics
import sys
import time

import torch

from golden import Gpt

SHAPES = {"gpt2-124m": (12, 12, 768, 50257, 1024, True), "shakespeare-char": (6, 6, 384, 65, 256, False)}
WARMUP = 2


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    imported = peak_bytes()
    name, batch, seq, steps, threads = sys.argv[1], *map(int, sys.argv[2:6])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Gpt(*SHAPES[name])
    for p in model.parameters():
        if p.dim() > 1:
            torch.nn.init.normal_(p, 0.0, 0.02)
    optimizer = torch.optim.AdamW(model.groups(0.1), lr=3e-4, betas=(0.9, 0.95), fused=True)
    compute = torch.compile(model.loss) if "--compile" in sys.argv else model.loss
    tokens, targets = model.batch(torch.Generator().manual_seed(2), batch, seq)
    rows = []
    for _ in range(WARMUP + steps):
        start = time.perf_counter()
        loss = compute(tokens, targets)
        forward = time.perf_counter()
        loss.backward()
        backward = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        end = time.perf_counter()
        rows.append((end - start, forward - start, backward - forward, end - backward))
    step, forward, backward, update = (statistics.median(column) for column in zip(*rows[WARMUP:]))
    print(json.dumps({"step_s": step, "forward_s": forward, "backward_s": backward, "optimizer_s": update,
                      "loss": loss.item(), "peak_bytes": peak_bytes(), "import_bytes": imported,
                      "version": torch.__version__}))


if __name__ == "__main__":
    main()
