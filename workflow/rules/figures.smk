# Figures of the paper: one job each, from result tables to numbers, caption and picture.


rule maps:
    """The calibration maps of Figure 11, fitted to simulated PITs."""
    output:
        maps=LAYOUT.table("maps"),
        sample=LAYOUT.table("sample"),
    log:
        LAYOUT.log("maps"),
    priority: 5  # the verdict waits for it, no figure does
    retries: 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_version("qrt.commands.maps"),
        protocol=PROTOCOL_JSON,
    shell:
        "python -m qrt maps --protocol {params.protocol:q} --maps {output.maps} --sample {output.sample} > {log} 2> >(tee -a {log} >&2)"


for figure_name in FIGURES:

    rule:
        name:
            figure_name
        input:
            **FILES.figure_inputs(figure_name),
        output:
            statistics=multiext(
                LAYOUT.statistics(figure_name, ""),
                "summary.json",
                "caption.rst",
                *[f"{table}.csv" for table in statistics_tables(FIGURES[figure_name])],
            ),
            pdf=LAYOUT.figure(figure_name, "pdf"),
            png=report(
                LAYOUT.figure(figure_name, "png"),
                caption=f"{Path.cwd()}/{LAYOUT.statistics(figure_name, 'caption.rst')}",
                category="Figures",
                labels={
                    "figure": in_order(FIGURES[figure_name]),
                    "shows": FIGURES[figure_name].title_in(STUDY.datasets),
                },
            ),
        log:
            LAYOUT.log("figures", figure_name),
        retries: 0
        localrule: True
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=2000,
            runtime=20,
        params:
            code=code_version("qrt.commands.figure"),
            name=figure_name,
            study=STUDY_JSON,
            folder=subpath(output[0], parent=True),
        shell:
            "python -m qrt figure {params.name} --study {params.study:q} --records {input.records}"
            " --methods {input.methods} --curves {input.curves} --predictions {input.predictions}"
            " --maps {input.maps} --sample {input.sample}"
            " --statistics {params.folder} --pdf {output.pdf} --png {output.png} > {log} 2> >(tee -a {log} >&2)"

    describe_last_rule(FIGURES[figure_name])
