"""Hands its arguments, directory, environment and streams to the loaded program, and ends as that ends."""

import json
import os
import socket
import sys


def main() -> None:
    """Wait for the run; a signal that ended it ends this, too."""
    mask = os.umask(0)
    os.umask(mask)
    call = {"arguments": sys.argv[2:], "cwd": os.getcwd(), "env": dict(os.environ), "umask": mask}  # noqa: PTH109
    with socket.socket(socket.AF_UNIX) as program:
        program.connect(sys.argv[1])
        text = json.dumps(call).encode() + b"\n"
        sent = socket.send_fds(program, [text], [0, 1, 2])
        program.sendall(text[sent:])
        code = int(program.makefile().readline() or "70")
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
