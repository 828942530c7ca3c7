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
DESCRIPTION, FEATURES = "/api/v1/xml/data/44", "/api/v1/xml/data/features/44"
DATA = "/data/v1/download/7/abalone.arff"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
XMLNS = 'xmlns:oml="http://openml.org/openml"'


def description(server: StandInServer, **changes: str | list[str]) -> Behaviour:
    """What the server says about the dataset, in the form of its documentation; a list is one element for each."""
    content: dict[str, str | list[str]] = {
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
    elements = "".join(
        f"<oml:{name}>{value}</oml:{name}>"
        for name, values in content.items()
        for value in ([values] if isinstance(values, str) else values)
        if value
    )
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
    server.serve(DESCRIPTION, description(server))
    server.serve(
        FEATURES,
        features(number="numeric", Sex="nominal", Length="numeric", note="string", Rings="numeric", leak="numeric"),
    )
    server.serve(DATA, answer(ARFF))


# Forms that the real server has sent, after its documentation and its public issues, in our own words.
FORMS: dict[str, dict[str, str | list[str]]] = {
    "deactivated": {"status": "deactivated"},
    "several ignored columns": {"ignore_attribute": ["leak", "note"]},
    "several ignored columns in one": {"ignore_attribute": "leak,note"},
    "several row identifiers": {"row_id_attribute": ["number", "leak"], "ignore_attribute": ""},
    "no md5": {"md5_checksum": ""},
    "no usable md5": {"md5_checksum": "NotApplicable"},
    "md5 in capitals": {"md5_checksum": hashlib.md5(ARFF).hexdigest().upper()},
    "2025": {
        "description_version": "1",
        "creator": ["A. Author", "B. Author"],
        "contributor": "Somebody",
        "collection_date": "1995-12-01",
        "upload_date": "2022-07-08T12:00:00",
        "language": "English",
        "file_id": "22103270",
        "minio_url": "https://data.openml.org/datasets/0000/0044/dataset_44.pq",
        "parquet_url": "https://data.openml.org/datasets/0000/0044/dataset_44.pq",
        "processing_date": "2025-03-01 10:00:00",
        "version_label": "1",
        "citation": "A paper &amp; a book",
        "visibility": "public",
        "original_data_url": "https://archive.ics.uci.edu/dataset/1/abalone",
        "paper_url": "https://example.org/paper",
        "tag": ["study_1", "OpenML-Reg19"],
    },
}
