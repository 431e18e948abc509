#!/usr/bin/env python3
"""Writes the golden files of the engine tests: what PyTorch computes for four small networks.

    python3 tools/golden.py --write            regenerate tests/golden/*.gold
    python3 tools/golden.py                    compare with the tracked files, write nothing, exit 1 if they differ

Needs PyTorch on the CPU and nothing else. The networks are those of model/spec.h in sizes that leave remainders
in every vectorised loop; the initial values are large enough that attention is far from uniform and no norm or bias
is 1 or 0. Everything runs in fp32 on one thread; a second pass in fp64 from the same values tells how much of each
result is rounding, and the script refuses to write a golden whose own rounding is near the tests' tolerances.

File format, little-endian, read by tests/golden.c:

    char magic[8] = "ddpgold1"; uint32 records
    per record: char name[16] (zero-padded); uint32 type (0: float32, 1: int32); uint32 count; count x 4 bytes

Records. "shape": kind (0 GPT, 1 MLP), L, NH, C, V, context, bias, layers, dim0, dim1, dim2, B, T, optimizer (0
AdamW, 1 SGD), batches. "optimizer": lr, beta1, beta2, eps, weight decay, clip. "inputs" [batches][B][T or dim0],
"targets" [batches][B][T] (GPT only), "param" the initial values in the flat order of model/spec.h.
Then per variant, updates u = 0, 1, ...:
    plain   one batch per update:                       "plain.loss", "plain.grad" (of update 0), "plain.param" (final)
    clip    the same with the gradient's norm limited:  "clip.loss", "clip.norm" (before clipping), "clip.param"
    accum   two batches per update:                     "accum.loss" (mean of both), "accum.grad"
"""
import argparse
import copy
import pathlib
import struct
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCHES = 10
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"


class Block(nn.Module):
    """Pre-norm transformer block of GPT-2; registration order is the flat order of model/spec.h."""

    def __init__(self, heads, width, bias):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width, bias=bias)
        self.qkv = nn.Linear(width, 3 * width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)
        self.ln2 = nn.LayerNorm(width, bias=bias)
        self.up = nn.Linear(width, 4 * width, bias=bias)
        self.down = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        heads = [h.unflatten(-1, (self.heads, -1)).transpose(1, 2) for h in self.qkv(self.ln1(x)).chunk(3, dim=-1)]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2 with the head tied to the token embedding."""

    kind, has_targets = 0, True

    def __init__(self, layers, heads, width, vocab, context, bias):
        super().__init__()
        self.shape = (layers, heads, width, vocab, context, int(bias), 0, 0, 0, 0)
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(heads, width, bias) for _ in range(layers))
        self.lnf = nn.LayerNorm(width, bias=bias)

    def loss(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(F.linear(self.lnf(x), self.wte.weight).flatten(0, 1), targets.flatten())

    def batch(self, rng, size, length):
        text = torch.randint(0, self.wte.num_embeddings, (size, length + 1), generator=rng)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def groups(self, decay):
        """Weight decay on matrices only."""
        matrices = [p for p in self.parameters() if p.dim() > 1]
        vectors = [p for p in self.parameters() if p.dim() < 2]
        return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]

    def is_noise(self, name, size):
        """Elements whose true gradient is 0: a key bias moves all scores of a query alike, which softmax cancels."""
        mask = torch.zeros(size, dtype=torch.bool)
        if name.endswith("qkv.bias"):
            mask[size // 3 : 2 * size // 3] = True
        return mask


class Mlp(nn.Module):
    """One or two linear layers with nn.GELU (the exact, erf form) between them; loss is the mean of squares."""

    kind, has_targets = 1, False

    def __init__(self, *dims):
        super().__init__()
        self.shape = (0, 0, 0, 0, 0, 1, len(dims) - 1, *dims, *[0] * (3 - len(dims)))
        layers = [nn.Linear(a, b) for a, b in zip(dims, dims[1:])]
        self.net = nn.Sequential(*(layers[:1] + [m for layer in layers[1:] for m in (nn.GELU(), layer)]))

    def loss(self, inputs, _targets):
        return self.net(inputs).square().mean()

    def batch(self, rng, size, _length):
        return torch.randn(size, self.net[0].in_features, generator=rng), torch.zeros(0)

    def groups(self, decay):
        """PyTorch's default: one group, so biases decay too."""
        return [{"params": list(self.parameters()), "weight_decay": decay}]

    def is_noise(self, _name, size):
        return torch.zeros(size, dtype=torch.bool)


ADAMW_GPT = ("adamw", 1e-3, 0.9, 0.95, 1e-8, 0.1)
ADAMW_MLP = ("adamw", 1e-3, 0.9, 0.999, 1e-8, 0.01)
SGD = ("sgd", 1e-2, 0.0, 0.0, 0.0, 0.0)

# name: network, batch, sequence, optimizer, clipping norm. The gpt case has heads of 11, the char case more positions
# than one block of keys in the attention kernels and no biases.
CASES = {
    "gpt": (lambda: Gpt(2, 2, 22, 53, 16, True), 3, 13, ADAMW_GPT, 1.0),
    "char": (lambda: Gpt(2, 3, 18, 31, 80, False), 2, 71, ADAMW_GPT, 1.0),
    "mlp": (lambda: Mlp(24, 40, 24), 5, 1, ADAMW_MLP, 1.2),
    "linear": (lambda: Mlp(10, 2), 7, 1, SGD, 1.0),
}


def fill(model, rng):
    for p in model.parameters():
        x = torch.randn(p.shape, generator=rng)
        norm_weight = any(p is m.weight for m in model.modules() if isinstance(m, nn.LayerNorm))
        p.data = 1 + 0.1 * x if norm_weight else (0.2 if p.dim() > 1 else 0.1) * x


def flat(tensors):
    return torch.cat([t.detach().flatten() for t in tensors])


def train(model, batches, optimizer, per_update=1, clip=None):
    """One variant: its records, in the precision of the model's parameters."""
    name, lr, beta1, beta2, eps, decay = optimizer
    groups = model.groups(decay)
    opt = (torch.optim.AdamW(groups, lr=lr, betas=(beta1, beta2), eps=eps) if name == "adamw"
           else torch.optim.SGD(groups, lr=lr))
    params = list(model.parameters())
    out = {"loss": [], "norm": []}
    for first in range(0, len(batches), per_update):
        opt.zero_grad()
        losses = [model.loss(*batch) / per_update for batch in batches[first : first + per_update]]
        for loss in losses:
            loss.backward()
        if not first:
            out["grad"] = flat(p.grad for p in params).clone()
        if clip:
            out["norm"].append(nn.utils.clip_grad_norm_(params, clip))
        opt.step()
        out["loss"].append(sum(loss.detach() for loss in losses))
    out["param"] = flat(params)
    return {key: value if key in ("grad", "param") else torch.stack(value) for key, value in out.items() if len(value)}


def distance(model, what, a, b):
    """Largest difference between two precisions, as the tests measure it."""
    if what in ("loss", "norm"):
        return ((a - b).abs() / b.abs()).max().item()
    worst, at = 0.0, 0
    for name, p in model.named_parameters():
        x, y = a[at : at + p.numel()], b[at : at + p.numel()]
        at += p.numel()
        worst = max(worst, ((x - y).abs() / y.abs().max())[~model.is_noise(name, p.numel())].max().item())
    return worst


def golden(make, size, length, optimizer, clip, seed):
    rng = torch.Generator().manual_seed(seed)
    model = make()
    fill(model, rng)
    batches = [model.batch(rng, size, length) for _ in range(BATCHES)]
    shape = (model.kind, *model.shape, size, length, int(optimizer[0] == "sgd"), BATCHES)
    records = {
        "shape": torch.tensor(shape, dtype=torch.int32),
        "optimizer": torch.tensor([*optimizer[1:], clip]),
        "inputs": torch.stack([b[0] for b in batches]),
        "param": flat(model.parameters()),
    }
    if model.has_targets:
        records["targets"] = torch.stack([b[1] for b in batches])
    report = []
    variants = {"plain": {}, "clip": {"clip": clip}, "accum": {"per_update": 2}}
    for variant, options in variants.items():
        single = train(copy.deepcopy(model), batches, optimizer, **options)
        wide = [tuple(t.double() if t.is_floating_point() else t for t in b) for b in batches]
        double = train(copy.deepcopy(model).double(), wide, optimizer, **options)
        for what in single:
            if (variant, what) in (("clip", "grad"), ("accum", "param")):
                continue  # the one equals plain's, the other shows in the later losses
            error = distance(model, what, single[what].double(), double[what])
            report.append(f"{variant}.{what} {error:.1e}")
            limit = 1e-5 if what in ("loss", "norm") else 3e-5
            if error > limit:
                sys.exit(f"{variant}.{what}: fp32 and fp64 differ by {error:.1e}; a test could not tell it from an error")
            records[f"{variant}.{what}"] = single[what]
        if "norm" in single:
            report.append(f"norms {single['norm'].min():.3g} .. {single['norm'].max():.3g}")
    return records, report


def encode(records):
    out = [b"ddpgold1", struct.pack("<I", len(records))]
    for name, values in records.items():
        real = values.is_floating_point()
        data = values.detach().to(torch.float32 if real else torch.int32).contiguous().flatten().numpy()
        out.append(struct.pack("<16sII", name.encode(), 0 if real else 1, data.size))
        out.append(data.astype("<f4" if real else "<i4").tobytes())
    return b"".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the tracked files")
    args = parser.parse_args()
    torch.set_num_threads(1)
    same = True
    for seed, (name, case) in enumerate(CASES.items()):
        records, report = golden(*case, seed + 1)
        data, path = encode(records), FOLDER / f"{name}.gold"
        if args.write:
            path.write_bytes(data)
        elif not path.exists() or path.read_bytes() != data:
            same = False
            print(f"{path}: differs")
        print(f"{name}: {len(data)} bytes, PyTorch {torch.__version__}; fp32 against fp64: {', '.join(report)}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
