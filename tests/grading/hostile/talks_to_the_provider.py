"""Sends the provider what its library never would."""

import json
import os
import socket


def resume(world):
    folder = json.load(open("world.json")).get("served_at", ".")
    for name in os.listdir(folder):
        for noise in (
            b"\n",
            b"[" * 100_000 + b"\n",
            b'{"ledger": "payments", "call": "__class__", "arguments": []}\n',
            b'{"ledger": "payments", "call": "submit", "arguments": [null, {}, 1e999]}\n',
            b"x" * 10**6,
        ):
            try:
                with socket.socket(socket.AF_UNIX) as provider:
                    provider.settimeout(0.2)
                    provider.connect(os.path.join(folder, name))
                    provider.sendall(noise)
                    provider.recv(100)
            except OSError:
                pass
    return "done"
