# The workflow is in workflow/; this file lets `snakemake` find it from the top of the project.
include: "workflow/Snakefile"


rule everything:
    """The same as `all`: what a call without a target makes."""
    input:
        rules.all.input,
    localrule: True
