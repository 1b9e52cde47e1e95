"""Worst responses by the analyses of the Prosa project (https://prosa.mpi-sws.org), as PyPI's response-time-analysis has them.

A line of input is a set of tasks, of which the last is asked for: `fp` or `edf`, `preemptive` or `not`, and then cost, period and
deadline of each, the most urgent one first: `edf preemptive 1,4,4 2,9,8`. A line of output is its longest response, or `none`.
"""

import sys

from response_time_analysis import edf, fp
from response_time_analysis.model import (
    WCET,
    Deadline,
    FullyNonPreemptive,
    FullyPreemptive,
    IdealProcessor,
    Periodic,
    Priority,
    Task,
    taskset,
)

# Beyond it no busy period of these small numbers ends.
HORIZON = 100_000

for line in sys.stdin:
    policy, preemptive, *numbers = line.split()
    execution = FullyPreemptive if preemptive == "preemptive" else FullyNonPreemptive
    tasks = []
    for place, task in enumerate(numbers):
        cost, period, deadline = map(int, task.split(","))
        # The larger number is the higher priority.
        priority = Priority(len(numbers) - place)
        tasks.append(Task(Periodic(period), execution(WCET(cost)), Deadline(deadline), priority))
    analysis = {"fp": fp, "edf": edf}[policy]
    found = analysis.rta(taskset(tasks), tasks[-1], IdealProcessor(), horizon=HORIZON)
    print(found.response_time_bound if found.bound_found() else "none")
