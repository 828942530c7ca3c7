# Comparing: every statistic is computed here, once; figures, claims and pages read it.


rule maps:
    """The calibration maps of Figure 11, fitted to simulated PITs."""
    output:
        maps=LAYOUT.table("{scenario}", "maps"),
        sample=LAYOUT.table("{scenario}", "sample"),
    log:
        LAYOUT.log("{scenario}", "maps"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version(
            "results/simulated_maps", "qrt/engine/calibration_map", "qrt/engine/kernel"
        ),
        study=study,
    shell:
        "python -m qrt_study maps --study {params.study:q} --maps {output.maps} --sample {output.sample}"
        " > {log} 2> >(tee -a {log} >&2)"


rule compare:
    """The numbers of a figure or of a comparison that claims are about: tables, and what they are based on."""
    input:
        unpack(declared("comparison")),
    output:
        directory(LAYOUT.comparison("{scenario}", "{comparison}")),
    log:
        LAYOUT.log("{scenario}", "compare", "{comparison}"),
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_version(
            "statistics",
            "plan",
            "results",
            "published",
            "figures/kinds",
            "figures/compare_job",
            "figures/caption",
            "qrt/tuning",
        ),
        study=study,
    shell:
        "python -m qrt_study compare {wildcards.comparison} --study {params.study:q} --out {output}"
        " > {log} 2> >(tee -a {log} >&2)"
