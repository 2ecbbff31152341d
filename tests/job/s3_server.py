"""A real S3 server of a test's own: Versity's gateway over a directory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
INSTALLED = Path(tempfile.gettempdir()) / "rebalance-forensics-go"
BUILD = "REBALANCE_FORENSICS_BUILD_SERVERS"
KEY, SECRET = "test-key", "test-secret"
NOBODY = 65534


def installed_by_go(name: str, module: str) -> str:
    """A server's program. `make test-long` and CI have Go build it, in two minutes; else its tests are skipped."""
    places = (None, Path.home() / "go" / "bin", INSTALLED)
    found = next(filter(None, (shutil.which(name, path=place and str(place)) for place in places)), None)
    if found is None and shutil.which("go") and os.environ.get(BUILD):
        subprocess.run(
            ["go", "install", module], env={**os.environ, "GOBIN": str(INSTALLED)}, check=False, capture_output=True,
            timeout=600,
        )  # fmt: skip
        found = shutil.which(name, path=str(INSTALLED))
    if found is None:
        pytest.skip(f"the server {name} is not installed; make test-long builds it where Go is")
    return found


def settings(port: int) -> dict[str, str]:
    """What tells a program where the server is, and who it is."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def serving(bucket: str) -> Iterator[tuple[Path, int]]:
    """The directory behind a bucket, and the server's port. The server is nobody: it may not read everything."""
    program, root = installed_by_go("versitygw", MODULE), Path(tempfile.mkdtemp(prefix="s3-"))
    try:
        for directory in (root, root / "data", root / "meta", root / "data" / bucket):
            directory.mkdir(exist_ok=True)
            directory.chmod(0o777)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        if os.getuid() == 0:
            # Nobody may not look into the home of root.
            program = str(shutil.copy2(program, str(root / "server")))
        command = [program, "--access", KEY, "--secret", SECRET, "--port", f"127.0.0.1:{port}"]
        with subprocess.Popen(
            [*command, "posix", "--sidecar", str(root / "meta"), str(root / "data")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root,
            env={"PATH": os.environ["PATH"], "HOME": str(root)}, user=NOBODY if os.getuid() == 0 else None,
        ) as process:  # fmt: skip
            try:
                _wait_for(port)
                yield root / "data" / bucket, port
            finally:
                # Else a test that fails would wait for the server's end for ever.
                process.terminate()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the S3 server does not answer")
