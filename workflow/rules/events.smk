# What a run does and says when it begins and when it ends.
from snakemake.logging import logger

from qrt.data.summary import left_out, reasons
from qrt.running.attempts import given_up
from qrt.running.ending import what_was_made
from qrt.running.forgotten_steps import refuse_unusable_claims
from qrt.running.interruption import stop_jobs_when_interrupted
from qrt.running.status import note_study, tell_progress, training_jobs
from qrt.running.terminal import job_words, quieten


def planned_trainings():
    """Dataset, seed, split and family of every training job that this call is about to run."""
    return [
        tuple(job.wildcards[name] for name in ("dataset", "seed", "split", "family"))
        for job in workflow.dag.needrun_jobs()
        if job.rule.name.startswith("train")
    ]


def job_in_words(number):
    """A job by its number in words, for the terminal."""
    job = next((job for job in workflow.dag.jobs if job.jobid == number), None)
    return (
        job_words(job.rule.name, dict(job.wildcards.items()))
        if job and not job.is_group()
        else f"job {number}"
    )


def say_how_to_continue():
    print(
        "Not finished. Completed work is kept; run the same command to continue.",
        flush=True,
    )


def leave_unlocked():
    workflow.persistence.unlock()
    say_how_to_continue()


onstart:
    # With a limit on jobs per second, Snakemake 9.27 adds with every finished job one more timer that wakes its
    # scheduler each second: after a thousand jobs it does little else (docs/cluster.md, "Under load").
    workflow.scheduler.job_rate_limiter = None
    try:
        refuse_unusable_claims()
    except UserError as error:
        raise WorkflowError(str(error))
    stop_jobs_when_interrupted(leave_unlocked)
    note_study(STUDY)
    quieten(logger.handlers, job_in_words)
    tell_progress(training_jobs(FILES, planned_trainings()))


onerror:
    say_how_to_continue()


onsuccess:
    made = {job.rule.name for job in workflow.dag.finished_jobs}
    own_data = Path(LAYOUT.figure("own_data", "txt"))
    if "own_data" in made and own_data.exists():
        print(f"\n{own_data.read_text(encoding='utf-8')}")
    for message in (
        left_out(Path("data"), STUDY.datasets),
        given_up(Path("logs")),
        *what_was_made(made, LAYOUT, Path.cwd()),
    ):
        if message:
            print(message)
    if unusable := reasons(Path("data"), STUDY.own_datasets):
        raise WorkflowError(
            "Data of your own could not be used: "
            + "; ".join(f"{name}: {reason}" for name, reason in unusable.items())
        )
