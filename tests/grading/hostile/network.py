"""Asks the network for the answer."""

import socket


def resume(world):
    for address in (("127.0.0.1", 80), ("192.0.2.1", 443)):
        try:
            socket.create_connection(address, 0.2).sendall(b"GET /answer")
        except OSError:
            pass
    return "done"
