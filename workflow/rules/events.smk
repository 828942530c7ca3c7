# What a call does and says when it begins and when it ends. Progress is told by our logger plugin
# (src/snakemake_logger_plugin_qrt), which the profiles turn on.
import signal
import time

import psutil

from qrt.text.terminal import printable
from qrt_study.data.left_out import left_out, reasons
from qrt_study.running.attempts import given_up
from qrt_study.running.status import note_study

CALLED = time.time()


def end_with_terminal(number, frame):
    """End the jobs and the call, as Ctrl-C does: no job runs on, no lock stays."""
    for job in psutil.Process().children(recursive=True):
        job.terminate()
    raise KeyboardInterrupt


onstart:
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # not with nohup
        signal.signal(signal.SIGHUP, end_with_terminal)
    note_study(list(map(files_of, STUDY.scenarios)), config)


onerror:
    logger.info(
        "Not finished. Completed work is kept; run the same command to continue."
    )


onsuccess:
    for scenario in STUDY.scenarios:
        own_data = Path(LAYOUT.figure(scenario, "own_data", "txt"))
        if own_data.exists() and own_data.stat().st_mtime > CALLED:
            print(printable(f"\n{own_data.read_text(encoding='utf-8')}"))
    trained = [] if STUDY.networks == "published" else STUDY.datasets
    for message in (left_out(Path("data"), trained), given_up(Path("logs"))):
        if message:
            logger.warning(message)
    if unusable := reasons(Path("data"), STUDY.own_datasets):
        raise WorkflowError(
            "Data of your own could not be used: "
            + "; ".join(f"{name}: {reason}" for name, reason in unusable.items())
        )
