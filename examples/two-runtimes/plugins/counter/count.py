#!/usr/bin/env python3
"""Counts the words of one paragraph.

A process plugin: the request is one line of JSON on stdin, the response one JSON object on stdout. stderr is
stored with the job.
"""

import json
import re
import sys
from collections import Counter


def count(text, top):
    """Words are runs of letters and digits, with apostrophes inside; case is ignored."""
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower())
    # The most frequent first; equally frequent words in alphabetical order.
    ranked = sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0]))
    return {"words": len(words), "different": len(ranked), "top": [{"word": word, "count": n} for word, n in ranked[:top]]}


def answer(request):
    payload = request["event"]["payload"]
    result = {"index": payload.get("index", 0), **count(payload["item"], request["config"].get("top", 3))}
    return {"status": "ok", "result": result}


def main():
    try:
        response = answer(json.loads(sys.stdin.buffer.readline()))
    except (ValueError, KeyError, TypeError) as error:
        # A retry would fail in the same way.
        response = {"status": "error", "error": f"not a request that can be counted: {error!r}", "retry": False}
    # ASCII with \u escapes is safe in every locale.
    print(json.dumps(response))


if __name__ == "__main__":
    main()
