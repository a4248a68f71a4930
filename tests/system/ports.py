"""Ports of 127.0.0.1 for servers that tests stop and start again: nobody takes one while its server is down."""

import random
import socket

# Below those that the kernel gives to connections.
FIRST = 10000
LAST = 32767

_names = []  # sockets, bound until this process ends


def _claim(port):
    """False when another test has it: each that is taken has a name that only one process can hold."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind("\0klamm-test-port-%d" % port)
    except OSError:
        name.close()
        return False
    _names.append(name)
    return True


def _is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    ports = []
    while len(ports) < count:
        port = random.randint(FIRST, LAST)
        if _claim(port) and _is_free(port):
            ports.append(port)
    return ports


def free_row(count):
    """The first of so many ports that follow each other."""
    while True:
        first = random.randint(FIRST, LAST - count + 1)
        if all(_claim(port) and _is_free(port) for port in range(first, first + count)):
            return first
