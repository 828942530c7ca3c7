"""A real Slurm of one node on loopback: unpacked, run and removed in one folder, beside whatever the machine has."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from processes import all_processes, command_line, environment, own_processes, program

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge")
DAEMONS = {
    "munged": "munged",
    "slurmctld": "slurmctld-wlm",
    "slurmd": "slurmd-wlm",
    "slurmstepd": "slurmstepd-wlm",
}
BATCH_START_TIMEOUT = 1  # seconds
# No database, no cgroups. A job that takes more memory than it asked for is found and killed within a second or two.
# `config_overrides`: the node offers what is written here, whatever the machine has; three jobs run at a time.
# A cancelled job ends with its process group, as with the cgroups of a cluster: by `linuxproc` Slurm loses who has lost
# its parent, and SIGTERM may leave a Snakemake in its own handler for ever (docs/cluster.md).
# Jobs of a dead daemon fail instead of being queued anew, so that it is Snakemake who has to see to them.
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
PluginDir={plugins}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
JobRequeue=0
KillWait=5
BatchStartTimeout={batch_start_timeout}
ReturnToService=2
MinJobAge=600
SchedulerParameters=sched_interval=5,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=3 RealMemory=32000 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class PackagesUnavailableError(Exception):
    """apt cannot fetch the packages of Slurm here."""


@dataclass(frozen=True)
class Job:
    """What the controller knows of a job: its state, the memory it asked for (as 400M or 8000M), when it started."""

    state: str
    memory: str
    start: str


def reason_to_skip() -> str | None:
    """Why there can be no Slurm of our own here; None if there can."""
    missing = [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]
    if not sys.platform.startswith("linux") or missing:
        return "needs Linux with apt (Debian, Ubuntu)"
    return None if os.geteuid() == 0 else "needs root, as which the daemons of Slurm run"


def running_slurm() -> list[str]:
    """The daemons of Slurm that run on this machine."""
    programs = {process.name: program(process).name for process in all_processes()}
    return [f"{name} (pid {pid})" for pid, name in programs.items() if name.startswith(("slurmctld", "slurmd"))]


def unpack_slurm(folder: Path) -> None:
    """Fetch the packages with what they need and lack here, and unpack them in `folder`; nothing is installed."""
    cache, lists = folder / "cache", folder / "lists"
    for part in (cache / "archives", lists):
        (part / "partial").mkdir(parents=True)
    options = ["--yes", "--quiet", "--no-install-recommends", "--reinstall", "--download-only", f"-oDir::Cache={cache}"]
    if _apt_get("install", *options, *PACKAGES) is not None:  # a fresh container has no lists of packages yet
        options.append(f"-oDir::State::lists={lists}")
        error = _apt_get("update", *options[-2:]) or _apt_get("install", *options, *PACKAGES)
        if error is not None:
            raise PackagesUnavailableError(f"apt cannot fetch {' '.join(PACKAGES)}: {error}")
    for archive in (cache / "archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", archive, folder / "root"], timeout=60, check=True)


def _apt_get(*arguments: str) -> str | None:
    """Call apt-get; its last words if it fails."""
    patience = ["-oAcquire::http::Timeout=20", "-oAcquire::Retries=1", "-oDPkg::Lock::Timeout=60"]
    variables = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run = subprocess.run(
            ["apt-get", *arguments, *patience], env=variables, capture_output=True, text=True, timeout=180, check=False
        )
    except subprocess.TimeoutExpired:
        return "no end after 180 s"
    return None if run.returncode == 0 else run.stderr.strip().rpartition("\n")[2] or f"status {run.returncode}"


class OneNodeSlurm:
    """Slurm's daemons in a folder with its packages; they end with the context. Use it in `nothing_left`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> OneNodeSlurm:
        try:
            self._configure()
            for name in ("munged", "slurmctld", "slurmd"):
                self.start(name)
            wait_for(lambda: self.call("sinfo", "--noheader", "--format=%T").strip() == "idle", 60, self._logs)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """Environment of a process that uses this Slurm."""
        libraries = [str(self._libraries), str(self._libraries / "slurm-wlm")]
        programs = [str(self.folder / "bin"), str(self.root / "usr/bin"), str(Path(sys.executable).parent)]
        return os.environ | {
            "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "SLURM_CONF": str(self.folder / "slurm.conf"),
        }

    @property
    def _libraries(self) -> Path:
        return next((self.root / "usr/lib").glob("*/slurm-wlm")).parent

    def call(self, *command: str) -> str:
        """Output of a command of Slurm; nothing if it fails, as all do while the controller starts."""
        run = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder
        )
        return run.stdout if run.returncode == 0 else ""

    def jobs(self) -> dict[str, Job]:
        """Every job that the controller knows, finished ones included."""
        lines = self.call("squeue", "--noheader", "--states=all", "--sort=i", "--format=%i %T %m %S").splitlines()
        return {number: Job(*rest) for number, *rest in map(str.split, lines)}

    def running_jobs(self) -> list[str]:
        return [number for number, job in self.jobs().items() if job.state == "RUNNING"]

    def job_processes(self, job: str, pattern: str) -> list[int]:
        """Processes of a job whose command line matches."""
        mark = f"SLURM_JOB_ID={job}".encode()
        processes = (process for process in own_processes() if mark in environment(process))
        return [int(process.name) for process in processes if re.search(pattern, command_line(process))]

    def lose(self, job: str) -> int:
        """Let the node fail under a job: all its daemons and processes are killed, the node's daemon comes back.

        Gives the number of the job's daemons. Its processes must not live on, as they do not on a node that fails: they
        would write the files of the job that takes its place.
        """
        title = re.compile(rf"slurmstepd\S*: \[{job}\.")
        steps = [int(process.name) for process in own_processes() if title.match(command_line(process))]
        for pid in [self.daemons["slurmd"].pid, *steps]:
            os.kill(pid, signal.SIGKILL)
        for pid in self.job_processes(job, ""):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.daemons["slurmd"].wait()
        # When a node comes back without a job that is older than this, the controller believes that it is lost.
        lost = datetime.fromisoformat(self.jobs()[job].start) + timedelta(seconds=BATCH_START_TIMEOUT + 11)
        time.sleep(max(0.0, (lost - datetime.now()).total_seconds()))
        self.start("slurmd")

        def is_noticed() -> bool:
            # The node says at its start which jobs it has. The controller may doubt it, so it is made to ask again.
            self.call("scontrol", "reconfigure")
            time.sleep(2)
            return self.jobs()[job].state != "RUNNING"

        wait_for(is_noticed, 60, self._logs)
        return len(steps)

    def start(self, name: str) -> None:
        """Start a daemon in the foreground, so that its pid is known from the beginning."""
        munge = self.folder / "munge"
        files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        command = {
            "munged": ["munged", "--foreground", *(f"--{option}={munge / file}" for option, file in files.items())],
            "slurmctld": ["slurmctld", "-D"],
            "slurmd": ["slurmd", "-D", "-d", str(self.folder / "bin/slurmstepd")],
        }[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                [self.folder / "bin" / command[0], *command[1:]],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if name == "munged":
            wait_for((munge / "socket").exists, 30, self._logs)

    def stop(self) -> None:
        """End the jobs, then the daemons, by pid; what a killed daemon left running ends with `nothing_left`."""
        if "slurmctld" in self.daemons and self.daemons["slurmctld"].poll() is None:
            self.call("scancel", "--full", *self.running_jobs())
        for name in reversed(self.daemons):
            daemon = self.daemons[name]
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _configure(self) -> None:
        for name in ("munge", "controller", "node", "bin"):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge/key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        controller_port, node_port = _free_ports(2)
        configuration = CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            folder=self.folder,
            plugins=self._libraries / "slurm-wlm",
            batch_start_timeout=BATCH_START_TIMEOUT,
            controller_port=controller_port,
            node_port=node_port,
        )
        (self.folder / "slurm.conf").write_text(configuration)
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        # By their names the daemons know what they are; Debian's end in -wlm, and are linked at installation.
        for name, file in DAEMONS.items():
            (self.folder / "bin" / name).symlink_to(self.root / "usr/sbin" / file)
        # The executor removes SLURM_CONF from the environment of the `srun` that it calls inside a job.
        wrapper = self.folder / "bin/srun"
        wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {self.root}/usr/bin/srun "$@"\n')
        wrapper.chmod(0o755)

    def _logs(self) -> str:
        return "\n".join(f"== {name}\n{_tail(self.folder / f'{name}.log')}" for name in self.daemons)


def wait_for(condition: Callable[[], bool], seconds: float, explanation: Callable[[], str]) -> None:
    """Wait until `condition` holds, for so many seconds at most."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing happened for {seconds:.0f} s\n{explanation()}")
        time.sleep(0.2)


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [server.getsockname()[1] for server in sockets]
    for server in sockets:
        server.close()
    return ports


def _tail(file: Path, lines: int = 30) -> str:
    return "\n".join(file.read_text(errors="replace").splitlines()[-lines:]) if file.is_file() else ""
