"""An agent in plain Python; options go to the server: `agent.py --site 3 --feedback endpoint`."""

import itertools
import json
import subprocess
import sys

pipe, text = subprocess.PIPE, {"text": True, "encoding": "utf-8"}
server = subprocess.Popen(["slowlab", "serve", *sys.argv[1:]], stdin=pipe, stdout=pipe, **text)
ids = itertools.count(1)


def ask(op, **members):
    """Send one request and return the result of its reply; stop at an error."""
    print(json.dumps({"id": next(ids), "op": op, **members}), file=server.stdin, flush=True)
    reply = json.loads(server.stdout.readline() or '{"error": "the server is gone"}')
    return reply["result"] if "result" in reply else sys.exit(str(reply["error"]))


task = ask("hello")["task"]
middle = {row["name"]: (row["min"] + row["max"]) / 2 for row in task["policy"]["fields"]}
policies = [middle | {"day_temperature_c": warmth} for warmth in (20, 21.5, 23, 24.5)]
for unit, policy in enumerate(policies):
    ask("dispatch", action={"action": "start", "unit": unit, "policy": policy})
ask("dispatch", action={"action": "advance", "day": task["calendar"]["campaign_days"]})
crops = [ask("dispatch", action={"action": "observe", "unit": u})["crop"] for u in range(4)]
margins = [crop["margin_eur_m2"] for crop in crops]
best = policies[margins.index(max(margins))]
ask("dispatch", action={"action": "recommend", "policy": best})
print(f"margins {margins}, recommended {best}: {ask('close')['status']}")
