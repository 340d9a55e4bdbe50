#!/usr/bin/env python3
"""bench/cluster/plan_billion.py: what 10^9 vectors and 10^10 events take on a stated cluster: time, memory, network, money.

Costs of one core were measured (docs/design/billion.md names the commands); everything else is arithmetic that this
program does, so that other sizes, clusters and prices can be tried. An efficiency says how much of n cores' work n
cores do; bench_mpi.py measures it.
"""
import argparse
import json
from dataclasses import dataclass


@dataclass
class Costs:
    """Of one core of a Xeon with AVX-512, in seconds and bytes; M 32, 128 dimensions, rank 8, 39 features a row"""
    assign: float = 5.47e-10      # k-means: a vector against a list, one round (1,048,576 vectors, 4,096 lists, 10 rounds: 23.5 s)
    add_flat: float = 4.11e-6     # adding a vector with 4,096 lists (2,000,000 vectors: 8.2 s)
    add_graph: float = 66e-6      # adding a vector with 65,536 lists found by a graph (2,000,000 vectors, 16 threads: 8.3 s)
    scan: float = 4.4e-9          # a code that a search looks at (4,096 lists of 488: nprobe 16 and 256: 53 and 567 us)
    graph: float = 20e-6          # finding the lists of a query
    text: float = 1 / 1.475e9     # a byte of libsvm text
    fm_row: float = 1.94e-6       # a row of an epoch of FM, batches of 8,192
    deepfm_row: float = 6.81e-6   # the same of DeepFM
    row_bytes: int = 328          # a row of the click log as text
    uses: int = 39                # its features
    factors: int = 8


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=8, help="of the cluster (8)")
    parser.add_argument("--cores", type=int, default=16, help="of a machine; a rank each (16)")
    parser.add_argument("--memory", type=float, default=128, help="of a machine, GiB (128)")
    parser.add_argument("--disk", type=float, default=1.0, help="of a machine, GB/s (1)")
    parser.add_argument("--shared-disk", type=float, default=2.0, help="of the shared file system, GB/s (2)")
    parser.add_argument("--network", type=float, default=3.0, help="of a machine, GB/s: 25 Gbit/s (3)")
    parser.add_argument("--price", type=float, default=0.05, help="of a core for an hour, dollars (0.05)")
    parser.add_argument("--efficiency", type=float, default=0.8, help="share of the cores' work that counts (0.8)")
    parser.add_argument("--vectors", type=float, default=1e9, help="of the index (1e9)")
    parser.add_argument("--lists", type=int, default=65536, help="of the index (65536)")
    parser.add_argument("--nprobe", type=int, default=64, help="lists that a search probes (64)")
    parser.add_argument("--events", type=float, default=1e10, help="of the log (1e10)")
    parser.add_argument("--features", type=float, default=1e9, help="different ones in the log (1e9)")
    parser.add_argument("--distinct", type=float, default=0.3, help="different features of a batch for each use (0.3)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


class Plan:
    """Steps with their seconds; those of work are divided among all cores, those of traffic among machines"""

    def __init__(self, options, name):
        self.options, self.name, self.steps = options, name, []

    def work(self, what, core_seconds):
        o = self.options
        self.steps.append((what, core_seconds / (o.machines * o.cores * o.efficiency), f"{core_seconds:,.0f} core s"))

    def traffic(self, what, gigabytes, rate, among=1):
        self.steps.append((what, gigabytes / (rate * among), f"{gigabytes:,.1f} GB at {rate * among:g} GB/s"))

    def seconds(self):
        return sum(step[1] for step in self.steps)

    def money(self):
        o = self.options
        return self.seconds() / 3600 * o.machines * o.cores * o.price


def plan_index(o, c):
    d, m, ranks = 128, 32, o.machines * o.cores
    plan = Plan(o, f"an index of {o.vectors:.0e} x {d}, {o.lists} lists, M {m}")
    sample = min(256 * o.lists, o.vectors)
    plan.traffic("read the vectors, twice", 2 * o.vectors * d * 4 / 1e9, o.disk, o.machines)
    plan.work("k-means of the lists, 10 rounds", sample * o.lists * 10 * c.assign)
    # each rank sends and receives its slice of the sums and of their result: twice the sums, 10 rounds
    plan.traffic("sums of k-means, per machine", 10 * 2 * o.lists * (d + 1) * 8 * o.cores / 1e9, o.network)
    plan.work("find the list, encode, add", o.vectors * (c.add_graph if o.lists > 16384 else c.add_flat))
    plan.traffic("write codes and ids", o.vectors * (m + 8) / 1e9, o.shared_disk)
    codes = o.vectors * (m + 8 + 4)
    scanned = o.nprobe * o.vectors / o.lists
    query = c.graph + scanned * c.scan
    facts = {"memory of a rank while building, GiB": (codes / ranks + sample / ranks * d * 4 + o.lists * d * 4) / 2**30,
             "memory of the loaded index, GiB": codes / 2**30,
             f"codes that a query looks at, nprobe {o.nprobe}": scanned,
             "a query on one core, ms": query * 1e3,
             "a query, shards on all machines, one core each, ms": (c.graph + scanned / o.machines * c.scan) * 1e3,
             "queries a second, all cores": ranks * o.efficiency / query}
    return plan, facts


def exchange_bytes(o, c, deep):
    """What a rank sends for one row of its own, on average: see docs/cluster.md"""
    remote = 1 - 1 / (o.machines * o.cores)
    uses = c.uses * (8 + 4)                                   # key and position, to the owner
    keys = c.uses * o.distinct * 8                            # keys that are asked for
    weights = c.uses * o.distinct * 4 * (1 + c.factors)       # weights that come back
    gradients = c.uses * 4 * c.factors if deep else 0         # to the owner, of embeddings with slots
    return remote * (uses + keys + weights + gradients)


def plan_training(o, c, deep):
    ranks = o.machines * o.cores
    plan = Plan(o, f"an epoch of {'DeepFM' if deep else 'FM'} over {o.events:.0e} events")
    plan.traffic("read the text", o.events * c.row_bytes / 1e9, o.disk, o.machines)
    plan.work("parse it", o.events * c.row_bytes * c.text)
    plan.work("train", o.events * (c.deepfm_row if deep else c.fm_row))
    crossing = 1 - 1 / o.machines
    plan.traffic("uses, weights and gradients, per machine",
                 o.events / o.machines * exchange_bytes(o, c, deep) * crossing / 1e9, o.network)
    # gradients of rows: every machine gets those of the rows of all others, each rank's copy once
    row = 4 * (1 + (0 if deep else 2 * c.factors))
    plan.traffic("gradients of all rows, per machine", o.events * row * crossing * o.cores / 1e9, o.network)
    records = o.features * 4 * (1 + c.factors) * 2
    facts = {"bytes that a rank sends for a row": exchange_bytes(o, c, deep),
             "memory of the records of a machine, GiB": records / o.machines / 2**30,
             "model on disk, GB": o.features * 4 * (1 + c.factors) / 1e9}
    return plan, facts


def show(plan, facts):
    print(f"\n{plan.name}\n")
    for what, seconds, why in plan.steps:
        print(f"  {seconds:10,.0f} s  {what} ({why})")
    print(f"  {plan.seconds():10,.0f} s  in all, {plan.money():,.2f} dollars")
    for name, value in facts.items():
        print(f"  {value:12,.4g}  {name}")


def main():
    options, costs = read_arguments(), Costs()
    plans = [plan_index(options, costs), plan_training(options, costs, False), plan_training(options, costs, True)]
    if options.json:
        print(json.dumps([{"name": plan.name, "steps": [{"what": w, "seconds": s, "of": y} for w, s, y in plan.steps],
                           "seconds": plan.seconds(), "dollars": plan.money(), **facts} for plan, facts in plans],
                         indent=1))
        return
    print(f"{options.machines} machines of {options.cores} cores, {options.memory:g} GiB, {options.disk:g} GB/s of disk, "
          f"{options.network:g} GB/s of network, {options.price:g} dollars for a core and an hour")
    for plan, facts in plans:
        show(plan, facts)


if __name__ == "__main__":
    main()
