#!/usr/bin/env python3
"""Counts the words of one paragraph.

A process plugin: the request is one line of JSON on stdin, the response one JSON object on stdout. What goes to
stderr is kept with the job.
"""

import json
import re
import sys
from collections import Counter


def count(text, top):
    """Words are runs of letters and digits, apostrophes inside them included; case does not matter."""
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower())
    # The most frequent first; those as frequent as each other in the order of the alphabet.
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
        # The same request would fail again.
        response = {"status": "error", "error": f"not a request that can be counted: {error!r}", "retry": False}
    # ASCII with \u escapes is safe in every locale.
    print(json.dumps(response))


if __name__ == "__main__":
    main()
