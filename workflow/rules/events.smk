# What a call does and says when it begins and when it ends. Progress is told by our logger plugin
# (src/snakemake_logger_plugin_qrt), which the profiles turn on.
import time

from qrt_study.data.left_out import left_out, reasons
from qrt_study.running.attempts import given_up
from qrt_study.running.status import note_study

CALLED = time.time()


onstart:
    note_study(list(map(files_of, STUDY.scenarios)), config)


onerror:
    logger.info(
        "Not finished. Completed work is kept; run the same command to continue."
    )


onsuccess:
    for scenario in STUDY.scenarios:
        own_data = Path(LAYOUT.figure(scenario, "own_data", "txt"))
        if own_data.exists() and own_data.stat().st_mtime > CALLED:
            print(f"\n{own_data.read_text(encoding='utf-8')}")
    missing = (
        ""
        if STUDY.networks == "published"
        else left_out(Path("data"), STUDY.datasets)
    )
    for message in (missing, given_up(Path("logs"))):
        if message:
            logger.warning(message)
    if unusable := reasons(Path("data"), STUDY.own_datasets):
        raise WorkflowError(
            "Data of your own could not be used: "
            + "; ".join(f"{name}: {reason}" for name, reason in unusable.items())
        )
