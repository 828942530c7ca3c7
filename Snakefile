# The workflow is in workflow/; this file lets `snakemake` find it from the top of the project.
include: "workflow/Snakefile"
