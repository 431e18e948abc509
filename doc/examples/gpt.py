#!/usr/bin/env python3
"""GPT-2 and the small character model as PyTorch users write them, alone or under DistributedDataParallel over gloo.

    pytorch_profile.py gpt.py:gpt2          what `ddpbench predict --profile` reads (or gpt.py:char)
    python3 gpt.py                          this node alone
    torchrun --nnodes 2 --nproc_per_node 1 --node_rank R --master_addr A --master_port 29500 gpt.py

Environment: MODEL (gpt2, char), BATCH sequences of SEQ tokens per process, STEPS. Prints one line of JSON: seconds, medians.
The tokens are random numbers: times do not depend on them.
"""
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

# layers, heads, width, vocabulary, context, biases, sequences and tokens per step
MODELS = {"gpt2": (12, 12, 768, 50257, 1024, True, 4, 256), "char": (6, 6, 384, 65, 256, False, 16, 256)}


def setting(name, otherwise):
    return int(os.environ.get(name, otherwise))


class Attention(nn.Module):
    def __init__(self, heads, width, bias):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, heads, width, bias):
        super().__init__()
        self.before = nn.LayerNorm(width, bias=bias)
        self.attention = Attention(heads, width, bias)
        self.between = nn.LayerNorm(width, bias=bias)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width, bias=bias), nn.GELU(approximate="tanh"),
                                 nn.Linear(4 * width, width, bias=bias))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.mlp(self.between(x))


class GPT(nn.Module):
    """The head shares the embedding's weights, so its gradient is complete only when backward ends."""

    def __init__(self, layers, heads, width, vocabulary, context, bias):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(heads, width, bias) for _ in range(layers)])
        self.last = nn.LayerNorm(width, bias=bias)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        return self.head(self.last(self.blocks(x)))


def parts(name):
    *shape, batch, seq = MODELS[name]
    torch.manual_seed(1)
    model = GPT(*shape)
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), fused=True)
    rows = torch.randint(0, shape[3], (setting("BATCH", batch), setting("SEQ", seq) + 1))

    def loss(wrapped):
        logits = wrapped(rows[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
    return model, optimizer, loss


def gpt2():
    return parts("gpt2")


def char():
    return parts("char")


def main():
    world, rank = setting("WORLD_SIZE", 1), setting("RANK", 0)
    model, optimizer, loss_of = parts(os.environ.get("MODEL", "char"))
    if world > 1:
        dist.init_process_group("gloo")
        model = DistributedDataParallel(model)
    times = []
    for step in range(2 + setting("STEPS", 10)):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=False)
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        if step >= 2:
            times.append(time.perf_counter() - start)
    if rank == 0:
        print(json.dumps({"processes": world, "threads": torch.get_num_threads(), "step_s": statistics.median(times),
                          "steps_s": times, "loss": loss.item()}))
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
