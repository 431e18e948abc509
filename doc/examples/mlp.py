#!/usr/bin/env python3
"""The network people start with: 768-3072-768 with GELU, mean squared error, AdamW, a DistributedSampler.

    python3 mlp.py                                                  this node alone
    torchrun --nnodes 2 --nproc_per_node 1 ... mlp.py               the same job on two nodes, DDP over gloo
    OMP_NUM_THREADS=1 torchrun --nproc_per_node 4 mlp.py            four local processes with one thread each
    pytorch_profile.py mlp.py:make                                  what `ddpbench predict --profile` reads
"""
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = int(os.environ.get("BATCH", "64"))


def dataset():
    made = torch.Generator().manual_seed(0)
    x = torch.randn(4096, 768, generator=made)
    return TensorDataset(x, torch.tanh(x))


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(768, 3072), torch.nn.GELU(), torch.nn.Linear(3072, 768))


def batches(rank, world):
    """Endless: a new order every epoch, each rank its own part of it."""
    data = dataset()
    sampler = DistributedSampler(data, num_replicas=world, rank=rank, drop_last=True)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from DataLoader(data, batch_size=BATCH, sampler=sampler, drop_last=True)
        epoch += 1


def loss_on(source):
    def loss(model):
        x, y = next(source)
        return torch.nn.functional.mse_loss(model(x), y)
    return loss


def make():
    model = network()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3), loss_on(batches(0, 1))


def main():
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    model = network()
    if world > 1:
        dist.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = loss_on(batches(rank, world))
    times = []
    for step in range(60):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        if step >= 10:
            times.append(time.perf_counter() - start)
    if rank == 0:
        step_s = statistics.median(times)
        print(f"{world} processes of {torch.get_num_threads()} threads: step {step_s * 1e3:.2f} ms, "
              f"{world * BATCH / step_s:.0f} samples/s, loss {loss.item():.4f}")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
