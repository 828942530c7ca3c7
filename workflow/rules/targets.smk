# Targets by name: what a user asks for without knowing the files behind it.
from snakemake.logging import logger

# Not at the end: where nothing is to be drawn, Snakemake runs nothing of ours.
if missing_results := without_results(FILES):
    logger.warning(missing_results)


rule main:
    """The results of the main comparison, tuned: those of Figures 2, 3, 13 and 21, without drawing them."""
    input:
        FILES.tuned(["main", "regularised"]),


rule networks:
    """Every network trained and evaluated, and no figure."""
    input:
        FILES.evaluated("runs"),


rule timed:
    """The training times of Table 2, and no table."""
    input:
        FILES.times(),


rule figures:
    """Every figure of the paper."""
    input:
        [
            LAYOUT.figure(name, form)
            for name in FILES.drawable(FIGURES)
            for form in ("pdf", "png")
        ],


rule tables:
    """Every table of the paper."""
    input:
        [LAYOUT.figure(name, "csv") for name in FILES.drawable(TABLES)],


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

    describe_last_rule(ARTIFACTS[artifact_name])


rule unknown:
    """No target: says what was probably meant by a name that is none, such as fig3."""
    input:
        lambda wildcards: what_was_meant(
            wildcards.name, [rule.name for rule in workflow.rules]
        ),
    output:
        "{name}",
    wildcard_constraints:
        name="[A-Za-z0-9_]+",
