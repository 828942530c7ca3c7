# Predictions: the mixtures of the main comparison, for everybody. Published results are metrics alone, so the tuned
# networks behind them are trained again. The same bytes come out with the instructions that PyTorch had then: published
# networks are of processors without AVX-512.


rule predictions:
    """Every file of predictions that the study has networks for."""
    input:
        lambda wildcards: [
            LAYOUT.predictions(dataset)
            for dataset in STUDY.datasets
            if predicted_families(STUDY, dataset)
        ],
    localrule: True


rule retrain:
    """The tuned networks of a published family, trained again for their outputs."""
    input:
        record=prepared_data("{dataset}"),
        arrays=ancient(multiext(prepared_data("{dataset}", ""), "x.npy", "y.npy")),
    output:
        [LAYOUT.retrained("{dataset}", split, "{family}") for split in STUDY.splits],
    log:
        LAYOUT.retraining_log("{dataset}", "{family}"),
    priority: lambda wildcards: -files_of(STUDY.scenario).shape(wildcards.dataset)[0]
    conda:
        ENVIRONMENT
    resources:
        mem_mb=lambda wildcards, attempt: job_of(wildcards).memory(attempt),
        runtime=lambda wildcards, attempt: job_of(wildcards).minutes(attempt),
    params:
        version=TRAINING_VERSION,
        folder=subpath(input.record, parent=True),
        family=lambda wildcards: family_of(wildcards).for_training.json,
        training=json.dumps(STUDY.training),
        splits=list(STUDY.splits),
        study=facts(STUDY.scenario, to_judge=True),
    shell:
        "ATEN_CPU_CAPABILITY=avx2 python -m qrt_study retrain {wildcards.dataset} --study {params.study:q} --data {params.folder}"
        " --family {params.family:q} --training {params.training:q} --splits {params.splits} --out {output}"
        " > {log} 2> >(tee -a {log} >&2)"


rule predict:
    """The mixtures of the main comparison on one dataset, as a file for everybody."""
    input:
        networks=lambda wildcards: [
            path
            for by_split in prediction_files(STUDY, wildcards.dataset).values()
            for path in by_split.values()
        ],
        record=ancient(prepared_data("{dataset}")),
        targets=ancient(prepared_data("{dataset}", "y.npy")),
    output:
        LAYOUT.predictions("{dataset}"),
    log:
        LAYOUT.log("predict", "{dataset}"),
    priority: 1
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
    params:
        version=EVALUATION_VERSION,
        code=code_version(
            "results/predicted_methods",
            "results/predicted_network",
            "results/prediction_file",
            "results/prediction_job",
        ),
        folder=subpath(input.record, parent=True),
        study=facts(STUDY.scenario, to_judge=True),
    shell:
        "python -m qrt_study predict {wildcards.dataset} --study {params.study:q} --data {params.folder}"
        " --out {output} 2>&1 | tee {log}"


rule score:
    """Every metric of the main comparison on one dataset from its predictions: no data, no training, no network."""
    input:
        lambda wildcards: prediction_file(STUDY, wildcards.dataset),
    output:
        LAYOUT.from_predictions("scores", "{protocol}", "{dataset}"),
    log:
        LAYOUT.log("{protocol}", "score", "{dataset}"),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
    params:
        version=EVALUATION_VERSION,
        code=code_version(
            "results/predicted_network", "results/score_job", "results/score_parts"
        ),
    shell:
        "python -m qrt_study score {wildcards.protocol} --predictions {input} --out {output} 2>&1 | tee {log}"


rule condition:
    """For whom the intervals of the main comparison on one dataset cover: from its predictions and x."""
    input:
        predictions=lambda wildcards: prediction_file(STUDY, wildcards.dataset),
        record=prepared_data("{dataset}"),
        x=ancient(prepared_data("{dataset}", "x.npy")),
    output:
        LAYOUT.from_predictions("conditional", "{protocol}", "{dataset}"),
    log:
        LAYOUT.log("{protocol}", "condition", "{dataset}"),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
    params:
        code=code_version(
            "results/predicted_network",
            "results/conditional_job",
            "results/conditional_coverage",
        ),
    shell:
        "python -m qrt_study condition {wildcards.protocol} --predictions {input.predictions} --x {input.x}"
        " --out {output} 2>&1 | tee {log}"


rule pits:
    """PITs of the published predictions, counted: PIT histograms and reliability curves for the explorer."""
    input:
        files_of(STUDY.scenario).counted_predictions(),
    output:
        LAYOUT.pits,
    log:
        LAYOUT.log("pits"),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
    params:
        version=EVALUATION_VERSION,
        code=code_version(
            "results/pit_job",
            "results/pit_table",
            "results/predicted_network",
            "qrt/estimator/diagnosis",
        ),
    shell:
        "python -m qrt_study pits --predictions {input} --out {output} > {log} 2> >(tee -a {log} >&2)"


rule scores:
    """The scores of every protocol in one table."""
    input:
        [LAYOUT.table(scenario, "scores") for scenario in STUDY.scenarios],
    localrule: True


rule conditional:
    """Conditional coverage of every protocol in one table."""
    input:
        [LAYOUT.table(scenario, "conditional") for scenario in STUDY.scenarios],
    localrule: True
