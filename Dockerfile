# The workflow for users without Python 3.11, on the CPU: docs/reproducing.md says how to build and run it.
FROM python:3.11-slim AS packages
# An index with PyTorch's CPU build (README.md, "A smaller PyTorch"); without it the image holds the CUDA build, gigabytes
# that nothing here needs.
ARG PIP_EXTRA_INDEX_URL=
WORKDIR /build
COPY pyproject.toml requirements.lock ./
# What the study needs, by the versions of the lock; linters and test tools stay outside.
RUN python -m venv /venv \
    && python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; print(*project['dependencies'], *project['optional-dependencies']['study'], sep='\n')" > needed.txt \
    && /venv/bin/pip install --no-cache-dir --no-compile --constraint requirements.lock --requirement needed.txt

FROM python:3.11-slim
COPY --from=packages /venv /venv
WORKDIR /qrt
COPY Snakefile environment.yml README.md LICENSE ./
COPY config ./config
COPY src ./src
COPY workflow ./workflow
RUN ln -s workflow/profiles profiles
# Caches go to /tmp, so that the image runs as any user.
ENV PATH=/venv/bin:$PATH PYTHONPATH=/qrt/src PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 HOME=/tmp
# The study, its data and its results are in the folder that the user mounts here.
WORKDIR /study
ENTRYPOINT ["snakemake", "--snakefile", "/qrt/Snakefile"]
CMD ["--list-target-rules"]
