"""A real Dask scheduler with worker processes."""

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

TESTS = str(Path(__file__).parent)


def start(*command):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *sys.path])}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


class Cluster:
    """A scheduler and its workers, for all tests: what one of them killed, the next starts anew."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0
        self.scheduler, self.workers = None, []

    def running(self, n_workers):
        """See that there is a scheduler with so many workers; return its address."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.end()
            self.number += 1
            self.file = ["--scheduler-file", str(self.folder / f"scheduler-{self.number}.json")]
            places = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
            self.scheduler = start("dask_scheduler", *self.file, *places)
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        for worker in self.workers[n_workers:]:
            worker.kill()
            worker.wait()
        del self.workers[n_workers:]
        settings = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        while len(self.workers) < n_workers:
            place = ["--local-directory", str(self.folder)]
            self.workers.append(start("dask_worker", *self.file, *settings, *place))
        import distributed

        gc.collect()  # clients that failed to open close themselves now, not while this one starts
        with distributed.Client(scheduler_file=self.file[1], timeout=60) as client:
            deadline = time.monotonic() + 60
            while len(client.scheduler_info()["workers"]) != n_workers:
                assert time.monotonic() < deadline, "the workers do not come, or do not go"
                time.sleep(0.05)
            return client.scheduler.address

    def end(self):
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()
        self.workers = []
