"""An agent that needs nothing of SlowLab's code.

A study starts it as a method. By hand, `python examples/agent.py --site 3 --feedback endpoint`
starts a server of its own; the options are those of `slowlab serve`.
"""

import itertools
import json
import os
import subprocess
import sys

pipe, out, source, ids = subprocess.PIPE, sys.stdout, sys.stdin, itertools.count(1)
if "SLOWLAB_WIRE" not in os.environ:
    command = ["slowlab", "serve", *sys.argv[1:]]
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
    out, source = server.stdin, server.stdout


def ask(op, **members):
    """Send one request and return the result of its reply; stop at an error."""
    print(json.dumps({"id": next(ids), "op": op, **members}), file=out, flush=True)
    reply = json.loads(source.readline() or '{"error": "nobody answers"}')
    return reply["result"] if "result" in reply else sys.exit(str(reply["error"]))


task = ask("hello")["task"]
units, days = range(task["compartments"]["count"]), task["calendar"]["campaign_days"]
middle = {row["name"]: (row["min"] + row["max"]) / 2 for row in task["policy"]["fields"]}
tried = [middle | {"day_temperature_c": 20 + 1.5 * unit} for unit in units]
for unit in units:
    ask("dispatch", action={"action": "start", "unit": unit, "policy": tried[unit]})
ask("dispatch", action={"action": "advance", "day": days})
for unit in units:
    ask("dispatch", action={"action": "observe", "unit": unit})
runs = ask("tool", tool="runs", arguments={})["runs"]
best = max(runs, key=lambda run: run["margin_eur_m2"])["policy"]
ask("dispatch", action={"action": "recommend", "policy": best})
print(f"recommended {best}: {ask('close')['status']}", file=sys.stderr)
