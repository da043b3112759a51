"""Order of service and reuse, from made-up times whose answer is known."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from seatrial.dossier import service, sql

MS = 1_000_000
# scheduled, first token, done (ms), input, cached tokens
FAIR = [(0, 100, 300, 10, 0), (10, 200, 400, 10, 8), (20, 300, 500, 10, 8)]
OVERTAKING = [(0, 300, 400, 500, 0), (10, 50, 90, 10, 0), (20, 60, 350, 10, -1)]


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """Two candidates, one start each, written as the cells write them."""
    con = duckdb.connect()
    for name, rows in (("fair", FAIR), ("overtaking", OVERTAKING)):
        cell = tmp_path / "cells" / name / "001"
        cell.mkdir(parents=True)
        (cell / "cell.json").write_text(
            f'{{"candidate": "{name}", "start": 1, "valid": true, "ttft_ms": {{}},'
            ' "tpot_ms": {}, "e2e_ms": {}}'
        )
        values = ", ".join(
            f"('completed', {s * MS}, {f * MS}, {d * MS}, {d * MS}, {i}, 5, {c})"
            for s, f, d, i, c in rows
        )
        con.execute(
            f"COPY (SELECT * FROM (VALUES {values}) AS t(status, scheduled_ns, first_token_ns,"
            " last_token_ns, done_ns, input_tokens, output_tokens, cached_tokens))"
            f" TO '{cell / 'requests.parquet'}' (FORMAT parquet)"
        )
    return tmp_path


def test_who_overtakes_whom(trial: Path) -> None:
    with sql.database(trial) as con:
        fair, overtaking = sql.rows(con, service.ORDER)
    assert (fair["n"], fair["value"]) == (3, 0.0)
    # the second and the third both pass the first; the third does not pass the second
    assert overtaking["n"] == 3
    assert overtaking["value"] == pytest.approx(2 / 3)
    assert (fair["waiting"], fair["waiting_most"], fair["answering"]) == (1.5, 2, 0.0)


def test_what_is_reused(trial: Path) -> None:
    with sql.database(trial) as con:
        rows = {str(r["candidate"]): r for r in sql.rows(con, service.REUSE)}
    fair = rows["fair"]
    assert (fair["n"], fair["hits"]) == (3, 2)
    assert fair["value"] == pytest.approx(16 / 30)
    assert (fair["hit_p50"], fair["miss_p50"]) == (235.0, 100.0)
    assert rows["overtaking"]["n"] == 2  # usage of the third does not tell what was cached
