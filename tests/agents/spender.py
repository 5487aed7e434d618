"""A process that spends from a shared purse and says what it has done, one line each.

``python spender.py PURSE NAME CAP_USD COUNT`` tries COUNT attempts of 0.01 USD at most. Printed
lines: ``sent KEY`` after a reservation, ``cost KEY USD`` after it was settled, ``full`` at the cap.
"""

import sys

from slowlab.agents.outages import CapReachedError
from slowlab.agents.prices import UNKNOWN_COST, Cost, CostSource
from slowlab.agents.purse import Amount, Caps, Purse

WORST = Amount(0.01, 1, 100)


def main(path: str, name: str, cap: str, count: str) -> None:
    with Purse.open(path, Caps(usd=float(cap))) as purse:
        for number in range(int(count)):
            key = f"{name}-{number}"
            try:
                purse.reserve(key, WORST)
            except CapReachedError:
                print("full", flush=True)
                return
            print("sent", key, flush=True)
            usd = None if number % 7 == 0 else 0.001 * (number % 10)
            cost = UNKNOWN_COST if usd is None else Cost(usd, CostSource.REPORTED)
            purse.settle(key, cost)
            print("cost", key, usd, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
