# Targets by name: the results that each figure and table of the paper stands on.


rule main:
    """The main comparison, tuned: what Figures 2 and 3 stand on."""
    input:
        f"{STUDY.results}/methods/main.parquet",


rule smoke:
    """The whole workflow on embedded datasets, with `--profile workflow/profiles/smoke`."""
    input:
        rules.all.input,


for artifact_name in ARTIFACTS:

    rule:
        name:
            artifact_name
        input:
            artifact_files(artifact_name),

    workflow.get_rule(artifact_name).docstring = (
        f"Results for {ARTIFACTS[artifact_name].title}."
    )
