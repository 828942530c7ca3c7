"""What OpenML answers about one small dataset, for the stand-in server to say."""

from __future__ import annotations

import hashlib

from support.stand_in_server import Behaviour, StandInServer, answer, gzipped

ARFF = b"""@relation abalone
@attribute number integer
@attribute Sex {M,F,I}
@attribute Length numeric
@attribute note string
@attribute Rings numeric
@attribute leak numeric
@data
1,M,0.455,'a, b',15,1
2,F,?,plain,7,2
3,?,0.53,?,9,3
"""
STUDY, LIST = "/api/v1/xml/study/269", "/api/v1/xml/data/list/*"
DESCRIPTION, FEATURES = "/api/v1/xml/data/44", "/api/v1/xml/data/features/44"
DATA = "/data/v1/download/7/abalone.arff"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
XMLNS = 'xmlns:oml="http://openml.org/openml"'


def study(*data_ids: int) -> Behaviour:
    members = "".join(f"<oml:data_id>{number}</oml:data_id>" for number in data_ids)
    return gzipped(
        f"{XML}<oml:study {XMLNS}><oml:id>269</oml:id><oml:main_entity_type>task</oml:main_entity_type>"
        "<oml:name>suite</oml:name><oml:description>a suite</oml:description><oml:status>active</oml:status>"
        "<oml:creation_date>2020-01-01 00:00:00</oml:creation_date><oml:creator>1</oml:creator>"
        f"<oml:data>{members}</oml:data><oml:tasks><oml:task_id>9</oml:task_id></oml:tasks></oml:study>".encode()
    )


def listing(names: dict[int, str]) -> Behaviour:
    datasets = "".join(
        f"<oml:dataset><oml:did>{number}</oml:did><oml:name>{name}</oml:name><oml:version>1</oml:version>"
        "<oml:status>active</oml:status><oml:format>ARFF</oml:format>"
        '<oml:quality name="NumberOfInstances">3</oml:quality>'
        '<oml:quality name="NumberOfFeatures">6</oml:quality></oml:dataset>'
        for number, name in names.items()
    )
    return gzipped(f"{XML}<oml:data {XMLNS}>{datasets}</oml:data>".encode())


def description(server: StandInServer, **changes: str) -> Behaviour:
    content = {
        "id": "44",
        "name": "abalone",
        "version": "3",
        "description": "shells",
        "format": "ARFF",
        "licence": "Public",
        "url": server.address + DATA,
        "parquet_url": "http://127.0.0.1:9/bucket/dataset_44.pq",  # must not be asked for
        "default_target_attribute": "Rings",
        "row_id_attribute": "number",
        "ignore_attribute": "leak",
        "status": "active",
        "md5_checksum": hashlib.md5(ARFF).hexdigest(),
        **changes,
    }
    elements = "".join(f"<oml:{name}>{value}</oml:{name}>" for name, value in content.items() if value)
    return gzipped(f"{XML}<oml:data_set_description {XMLNS}>{elements}</oml:data_set_description>".encode())


def features(**kinds: str) -> Behaviour:
    elements = "".join(
        f"<oml:feature><oml:index>{number}</oml:index><oml:name>{name}</oml:name>"
        f"<oml:data_type>{kind}</oml:data_type></oml:feature>"
        for number, (name, kind) in enumerate(kinds.items())
    )
    return gzipped(f"{XML}<oml:data_features {XMLNS}>{elements}</oml:data_features>".encode())


def refusal(code: int, message: str) -> Behaviour:
    body = f"{XML}<oml:error {XMLNS}><oml:code>{code}</oml:code><oml:message>{message}</oml:message></oml:error>"
    return answer(body.encode(), status=412)


def open_house(server: StandInServer) -> None:
    """Everything as it should be."""
    server.serve(STUDY, study(43, 44))
    server.serve(LIST, listing({43: "abalone2", 44: "abalone"}))
    server.serve(DESCRIPTION, description(server))
    server.serve(
        FEATURES,
        features(number="numeric", Sex="nominal", Length="numeric", note="string", Rings="numeric", leak="numeric"),
    )
    server.serve(DATA, answer(ARFF))
