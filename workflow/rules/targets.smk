# Targets by name: what a user asks for without knowing the files behind it.


rule main:
    """The main comparison, tuned: what Figures 2 and 3 stand on."""
    input:
        expand(
            f"{STUDY.results}/methods/{{experiment}}.parquet",
            experiment=[
                one for one in ("main", "regularised") if one in PLAN.experiments
            ],
        ),


rule figures:
    """Every figure of the paper."""
    input:
        expand("paper_figures/{figure}.{form}", figure=FIGURES, form=["pdf", "png"]),


rule tables:
    """Every table of the paper."""
    input:
        expand("paper_figures/{table}.csv", table=TABLES),


rule smoke:
    """The whole workflow on embedded datasets, with `--profile workflow/profiles/smoke`."""
    input:
        rules.all.input,


for artifact_name in ARTIFACTS:

    rule:
        name:
            short_target(artifact_name)
        input:
            getattr(rules, artifact_name).output,

    workflow.get_rule(short_target(artifact_name)).docstring = (
        f"{ARTIFACTS[artifact_name].number}: {ARTIFACTS[artifact_name].title}."
    )
