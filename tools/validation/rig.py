"""The test network and the programs on it. Everything that waits has a limit, and everything started is ended."""
import json
import os
import secrets
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TESTNET = os.path.join(TOP, "tools", "testnet.sh")
BENCH = os.path.join(TOP, "bench")
EXAMPLE = os.path.join(TOP, "doc", "examples", "gpt.py")
PROFILER = os.path.join(TOP, "tools", "pytorch_profile.py")
NET = "10.91.0"


class Failed(Exception):
    """One measurement did not work; the sentence says why."""


def environment():
    """Whoever set a kernel for OpenBLAS by hand did not mean this comparison."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    env["TESTNET"] = "validate"
    return env


class Rig:
    def __init__(self, folder, rehearse=False):
        self.folder = folder
        self.rehearse = rehearse  # runs predict themselves too, which costs some steps of each
        self.hosts = 0
        self.serving = []
        self.rate_now = self.slow_now = self.congestion = None
        self.env = environment()
        self.key = os.path.join(folder, "key")
        if not os.path.exists(self.key):
            with os.fdopen(os.open(self.key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
                f.write(secrets.token_hex(32))

    # ---- the network ----

    def testnet(self, *args, check=True):
        p = subprocess.run([TESTNET, *args], env=self.env, capture_output=True, text=True, timeout=60, check=False)
        if check and p.returncode:
            raise Failed(f"tools/testnet.sh {' '.join(args)}: {p.stderr.strip()}")
        return p.stdout.strip()

    def up(self, hosts, rate, congestion="cubic"):
        if (hosts, congestion) != (self.hosts, self.congestion):
            self.down()
            self.testnet("up", "--hosts", str(hosts), "--net", NET, "--rate", rate, "--congestion", congestion)
            self.hosts, self.congestion = hosts, congestion
            for host in "bcd"[:hosts - 1]:
                self.serving.append(self.start(host, [BENCH, "serve", "--key-file", self.key]))
            time.sleep(1.5)
        elif rate != self.rate_now:
            for host in "abcd"[:hosts]:
                self.testnet("rate", host, rate)
        self.rate_now = rate

    def down(self):
        for p in self.serving:
            stop(p)
        self.serving = []
        if self.hosts:
            self.testnet("down", check=False)
        self.hosts = 0
        self.slow_now = None

    def place(self, host):
        path = os.path.join(self.folder, "work", host)
        os.makedirs(path, exist_ok=True)
        return path

    # ---- programs ----

    def start(self, host, command, env=None, stdout=subprocess.DEVNULL):
        return subprocess.Popen([TESTNET, "run", host, *command], env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                                stdout=stdout, stderr=subprocess.PIPE if stdout == subprocess.PIPE else subprocess.DEVNULL,
                                text=True, start_new_session=True)

    def finish(self, p, limit_s, what):
        try:
            out, said = p.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            stop(p)
            raise Failed(f"{what}: not done after {limit_s:.0f} s") from None
        if p.returncode:
            raise Failed(f"{what}: status {p.returncode}: {(said or out or '').strip()[-300:]}")
        return out

    def bench(self, host, args, limit_s):
        p = self.start(host, [BENCH, *args, "--json", "--results-dir", self.place(host)], stdout=subprocess.PIPE)
        return p, lambda: json.loads(self.finish(p, limit_s, "bench " + " ".join(args)))

    def local(self, args, limit_s=120):
        """On no host: predict reads files only."""
        p = subprocess.run([BENCH, *args, "--json"], env=self.env, capture_output=True, text=True, timeout=limit_s,
                           stdin=subprocess.DEVNULL, check=False)
        if p.returncode:
            raise Failed(f"bench {' '.join(args)}: {p.stderr.strip()[-300:]}")
        return json.loads(p.stdout)

    # ---- a slow node ----

    def set_slow(self, host):
        """Another program has half of the host's CPU: what computes there is half as fast, and what moves bytes, which
        sleeps and wakes, is hardly held up. None: nobody is."""
        if host == self.slow_now:
            return
        if self.slow_now and self.hosts:
            self.testnet("slow", self.slow_now, "off")
        if host:
            self.testnet("slow", host, "busy")
        self.slow_now = host


def stop(p):
    for number in (signal.SIGTERM, signal.SIGKILL):
        if p.poll() is not None:
            return
        try:
            os.killpg(p.pid, number)
        except ProcessLookupError:
            return
        try:
            p.wait(5)
        except subprocess.TimeoutExpired:
            pass


def machine():
    about = {}
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            key, _, value = line.partition(":")
            about.setdefault(key.strip(), value.strip())
    # A hypervisor may call all its CPUs the same.
    part = "-".join(about.get(k, "?") for k in ("cpu family", "model", "stepping"))
    return {"cpu": about.get("model name"), "part": part, "cpus": len(os.sched_getaffinity(0)), "kernel": os.uname().release,
            "python": sys.version.split()[0]}
