"""Which combinations are measured. A cell is one of them; every cell is measured in several rounds."""
import re
from dataclasses import dataclass

# What the shaper of the test network is told, so that TCP carries the named rate: it counts Ethernet frames, of which
# 1448 of 1514 bytes are payload. 984.4mbit is Gigabit Ethernet's 941.5 Mbit/s of payload; the others in proportion.
RATES = {"100M-eth": "98.44mbit", "300Mbit": "313.7mbit", "1G-eth": "984.4mbit", "2.5G-eth": "2461mbit"}
FRAMES_OVER_PAYLOAD = 984.4 / 941.5

# Where deciding is hard: at the rate at which two nodes are predicted to be so much faster than one, whatever this machine is.
HARD = {"for-0.85x": 0.85, "for-1x": 1.0, "for-1.15x": 1.15}

# Name, sequences and tokens of each; tokens per node and step are their product.
BATCHES = {256: 1, 1024: 4, 4096: 16}
SEQUENCE = 256


@dataclass(frozen=True)
class Cell:
    engine: str  # "bench", or "torch": DistributedDataParallel over gloo
    model: str
    tokens: int  # per node and step
    rate: str
    schedule: str = "ddp"
    steps: int = 10
    nodes: int = 2
    slow: int = 0  # per cent of its CPU that another program leaves to the second node; 0: all (there is none)
    shares: str = ""  # of a global batch of nodes x batch, as the command takes them
    replay: bool = False
    congestion: str = "cubic"  # what TCP does where a program does not choose: PyTorch does not, we do

    @property
    def batch(self):
        return BATCHES[self.tokens]

    @property
    def name(self):
        parts = [self.engine, self.model, str(self.tokens), self.rate, self.schedule]
        if self.nodes > 2:
            parts.append(f"{self.nodes}-nodes")
        if self.replay:
            parts.append("replay")
        if self.slow:
            parts.append(f"slow{self.slow}")
        if self.shares:
            parts.append("shares" + self.shares.replace(":", "-"))
        if self.congestion != "cubic":
            parts.append(self.congestion)
        return "/".join(parts)

    @property
    def group(self):
        """Cells of one group share their single-node profiles."""
        return (self.engine, self.model, self.tokens, self.nodes, self.slow, self.replay)


def engine_cells():
    cells = []
    for tokens in (256, 1024):
        for rate in ("300Mbit", "1G-eth", "2.5G-eth"):
            for schedule in ("ddp", "split"):
                cells.append(Cell("bench", "gpt2-124m", tokens, rate, schedule, 10))
        cells.append(Cell("bench", "gpt2-124m", tokens, "100M-eth", "ddp", 5))
    cells.append(Cell("bench", "gpt2-124m", 4096, "1G-eth", "ddp", 5))
    for tokens in (256, 1024, 4096):
        for rate in [*RATES, *(HARD if tokens < 4096 else ["for-1x"])]:
            cells.append(Cell("bench", "shakespeare-char", tokens, rate, "ddp", 20))
    return cells


def torch_cells():
    cells = [Cell("torch", "char", tokens, rate, "ddp", 20) for tokens in (256, 1024, 4096) for rate in RATES]
    cells += [Cell("torch", "gpt2", tokens, rate, "ddp", 8)
              for tokens in (256, 1024) for rate in ("300Mbit", "1G-eth", "2.5G-eth")]
    cells += [Cell("torch", "char", 4096, rate, "ddp", 20, congestion="bbr") for rate in RATES]
    return cells


def can_congest(name):
    """Whether this kernel has that congestion control."""
    try:
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="utf-8") as f:
            return name in f.read().split()
    except OSError:
        return False


def unequal_cells():
    """The second node computes at half speed: equal shares, then several divisions of the same global batch."""
    cells = [Cell("bench", "shakespeare-char", tokens, rate, "ddp", 20, slow=50)
             for tokens in (1024, 4096) for rate in ("300Mbit", "1G-eth")]
    cells += [Cell("bench", "shakespeare-char", 4096, "1G-eth", "ddp", 20, slow=50, shares=shares)
              for shares in ("suggested", "16:16", "18:14", "20:12", "21:11", "22:10", "24:8")]
    return cells


def replay_cells():
    return [Cell("bench", "shakespeare-char", tokens, rate, "ddp", 20, nodes=nodes, replay=True)
            for nodes in (3, 4) for tokens in (1024, 4096) for rate in ("100M-eth", "1G-eth")]


def quick_cells():
    """Ten minutes: one decision that is hard, one that hurts, one that helps, both models, both schedules."""
    return [Cell("bench", "shakespeare-char", 256, "1G-eth", "ddp", 10),
            Cell("bench", "shakespeare-char", 1024, "300Mbit", "ddp", 10),
            Cell("bench", "shakespeare-char", 1024, "1G-eth", "ddp", 10),
            Cell("bench", "shakespeare-char", 1024, "2.5G-eth", "ddp", 10),
            Cell("bench", "gpt2-124m", 256, "1G-eth", "ddp", 5),
            Cell("bench", "gpt2-124m", 256, "2.5G-eth", "split", 5)]


def everything():
    return engine_cells() + unequal_cells() + replay_cells() + torch_cells()


def choose(size, engine, only, with_torch):
    """quick, default or long; the default leaves out what takes longest for its say."""
    if size == "quick":
        cells = quick_cells()
        if with_torch:
            cells += [Cell("torch", "char", 1024, "1G-eth", "ddp", 10), Cell("torch", "char", 1024, "300Mbit", "ddp", 10)]
    elif size == "default":
        cells = [c for c in engine_cells() if not (c.rate == "100M-eth" and c.model == "gpt2-124m" and c.tokens == 1024)]
    else:
        cells = engine_cells() + unequal_cells() + replay_cells()
    if size == "long" and with_torch or engine == "torch":
        cells = [c for c in cells if c.engine != "torch"] + torch_cells()
    if engine == "unequal":
        cells = unequal_cells()
    elif engine == "replay":
        cells = replay_cells()
    elif engine != "all":
        cells = [c for c in cells if c.engine == engine]
    return [c for c in cells if (not only or re.search(only, c.name)) and (c.congestion == "cubic" or can_congest(c.congestion))]
