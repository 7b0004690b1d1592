#!/usr/bin/env python3
"""Watches a table of stock in a SQLite file."""

import json
import sqlite3
import sys


def poll(request, connection):
    threshold = request["config"].get("threshold", 5)
    rows = connection.execute("SELECT item, left FROM stock WHERE left < ? ORDER BY item", (threshold,)).fetchall()
    known = request["state"].get("low", {})
    events = [
        {"type": "stock.low", "payload": {"item": item, "left": left}, "dedupe_key": f"{item}:{left}"}
        for item, left in rows
        if known.get(item) != left
    ]
    return {
        "status": "ok",
        "result": f"{len(rows)} low, {len(events)} new",
        "events": events,
        "state_updates": {"low": dict(rows)},
        "logs": [{"level": "info", "message": f"looked for less than {threshold}"}],
    }


def handle(request, connection):
    delivery = request["event"]["payload"]
    with connection:
        changed = connection.execute(
            "UPDATE stock SET left = left + ? WHERE item = ?", (delivery["count"], delivery["item"])
        ).rowcount
    if changed == 0:
        return {"status": "error", "error": f"there is no {delivery['item']}", "retry": False}
    return {"status": "ok", "result": "booked", "state_updates": {"last_delivery": delivery["item"]}}


def health(request, connection):
    return {"status": "ok", "result": json.dumps(request["state"], sort_keys=True)}


def main():
    request = json.load(sys.stdin)
    commands = {"poll": poll, "handle": handle, "health": health}
    try:
        with sqlite3.connect(f"file:{request['config']['db_path']}?mode=rw", uri=True) as connection:
            response = commands[request["command"]](request, connection)
    except sqlite3.OperationalError as error:
        response = {"status": "error", "error": f"the database cannot be used: {error}", "retry": True}
    json.dump(response, sys.stdout)


if __name__ == "__main__":
    main()
