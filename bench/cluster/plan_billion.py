#!/usr/bin/env python3
"""bench/cluster/plan_billion.py: what 10^9 vectors and 10^10 events take on a stated cluster: time, memory, network, money.

The costs of a machine were measured (docs/design/billion.md names the commands); everything else is arithmetic, done
here so that other sizes, clusters and prices can be tried. A machine is one rank with a thread for each core: that sends
the least.
"""
import argparse
import json
from dataclasses import dataclass


@dataclass
class Costs:
    """Seconds of a machine of 16 Xeon cores with AVX-512; 128 dimensions, M 32; rank 8, 39 features in a row"""
    assign: float = 4.59e-11   # k-means: a vector and a list, one round (1,048,576 vectors, 4,096 lists, 10 rounds: 1.97 s)
    add: float = 4.14e-6       # adding a vector: 65,536 lists, found by a graph (2,000,000 vectors: 8.28 s)
    scan: float = 4.4e-9       # of one core: a code that a search looks at (lists of 488, nprobe 16 and 256: 53 and 567 us)
    graph: float = 20e-6       # of one core: finding the lists of a query
    text: float = 1 / 10.6e9   # a byte of libsvm text
    fm_row: float = 1.22e-6    # a row of an epoch of FM, batches of 8,192
    deepfm_row: float = 1.72e-6  # the same of DeepFM
    row_bytes: int = 328       # a row of the click log as text
    uses: int = 39             # its features
    factors: int = 8
    dense: int = 312 * 100 + 100 * 100 + 100  # weights of DeepFM's fc layers


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=8, help="of 16 cores (8)")
    parser.add_argument("--disk", type=float, default=1.0, help="of a machine, GB/s (1)")
    parser.add_argument("--shared-disk", type=float, default=2.0, help="of the file system that has the result, GB/s (2)")
    parser.add_argument("--network", type=float, default=3.0, help="of a machine, GB/s: 25 Gbit/s (3)")
    parser.add_argument("--latency", type=float, default=50e-6, help="of an exchange, seconds (50e-6)")
    parser.add_argument("--price", type=float, default=0.80, help="of a machine for an hour, dollars (0.80)")
    parser.add_argument("--efficiency", type=float, default=0.7, help="share of the machines' work that counts (0.7)")
    parser.add_argument("--vectors", type=float, default=1e9, help="of the index (1e9)")
    parser.add_argument("--lists", type=int, default=65536, help="of the index (65536)")
    parser.add_argument("--nprobe", type=int, default=64, help="lists that a search probes (64)")
    parser.add_argument("--events", type=float, default=1e10, help="of the log (1e10)")
    parser.add_argument("--features", type=float, default=1e9, help="different ones in the log (1e9)")
    parser.add_argument("--batch", type=int, default=65536, help="rows of an update (65536)")
    parser.add_argument("--distinct", type=float, default=0.3, help="different features of a batch for each use (0.3)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


class Plan:
    """Steps with their seconds"""

    def __init__(self, options, name):
        self.options, self.name, self.steps = options, name, []

    def work(self, what, machine_seconds):
        o = self.options
        self.steps.append((what, machine_seconds / (o.machines * o.efficiency), f"{machine_seconds:,.0f} machine s"))

    def traffic(self, what, gigabytes, rate):
        self.steps.append((what, gigabytes / rate, f"{gigabytes:,.1f} GB at {rate:g} GB/s"))

    def waits(self, what, exchanges):
        self.steps.append((what, exchanges * self.options.latency, f"{exchanges:,.0f} exchanges"))

    def seconds(self):
        return sum(step[1] for step in self.steps)

    def money(self):
        return self.seconds() / 3600 * self.options.machines * self.options.price


def plan_index(o, c):
    d, m = 128, 32
    plan = Plan(o, f"an index of {o.vectors:.0e} x {d}, {o.lists} lists, M {m}")
    sample = min(256 * o.lists, o.vectors)
    plan.traffic("read the vectors twice, each machine its part", 2 * o.vectors * d * 4 / 1e9 / o.machines, o.disk)
    plan.work("k-means of the lists, 10 rounds", sample * o.lists * 10 * c.assign)
    plan.traffic("sums of k-means, sent by each machine", 10 * 16 * o.lists * (d + 1) / 1e9, o.network)
    plan.work("find the list, encode, add", o.vectors * c.add)
    plan.traffic("write codes and ids", o.vectors * (m + 8) / 1e9, o.shared_disk)
    codes = o.vectors * (m + 8 + 4)
    scanned = o.nprobe * o.vectors / o.lists
    part = c.graph + scanned / o.machines * c.scan
    facts = {"GiB of a machine while building: its sample, codes and ids": (sample * d * 4 + codes) / o.machines / 2**30,
             "GiB of the loaded index": codes / 2**30,
             f"codes that a query looks at, nprobe {o.nprobe}": scanned,
             "ms of a query on one core": (c.graph + scanned * c.scan) * 1e3,
             "ms of a query over shards, one core of each machine": part * 1e3,
             "queries a second over shards, all cores": 16 * o.efficiency / part}
    return plan, facts


def sent_for_a_row(o, c, deep):
    """Bytes that cross the network for one row: docs/cluster.md has the table"""
    others = o.machines - 1
    distinct = c.uses * o.distinct
    to_all = 12 + 8 + 4 + (0 if deep else 8 * c.factors)
    to_owners = 4 * distinct + 4 * c.uses + 4 * (1 + c.factors) * distinct + (4 * c.factors * c.uses if deep else 0)
    return to_all * others + to_owners * others / o.machines


def plan_training(o, c, deep):
    plan = Plan(o, f"an epoch of {'DeepFM' if deep else 'FM'} over {o.events:.0e} events")
    rows, updates = o.events / o.machines, o.events / o.batch
    plan.traffic("read the text, each machine its part", rows * c.row_bytes / 1e9, o.disk)
    plan.work("parse it", o.events * c.row_bytes * c.text)
    plan.work("train", o.events * (c.deepfm_row if deep else c.fm_row))
    plan.traffic("rows, weights and gradients, sent by each machine", rows * sent_for_a_row(o, c, deep) / 1e9, o.network)
    if deep:
        plan.traffic("fc layers, sent by each machine", updates * 2 * 4 * c.dense / 1e9, o.network)
    plan.waits("waits of updates", updates * 9)
    records = o.features * 4 * (1 + c.factors) * 2
    facts = {"bytes that cross the network for a row": sent_for_a_row(o, c, deep),
             "GiB of a machine for weights and state": records / o.machines / 2**30,
             "GB of the model on disk": o.features * 4 * (1 + c.factors) / 1e9}
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
    print(f"{options.machines} machines of 16 cores, {options.disk:g} GB/s of disk and {options.network:g} GB/s of network "
          f"each, {options.price:g} dollars for a machine and an hour")
    for plan, facts in plans:
        show(plan, facts)


if __name__ == "__main__":
    main()
