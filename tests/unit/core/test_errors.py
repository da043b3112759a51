from __future__ import annotations

import pytest

from seatrial.core import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UsageError, 2),
        (errors.PrerequisiteError, 3),
        (errors.EngineError, 4),
        (errors.MeasurementInvalid, 5),
        (errors.IntegrityError, 6),
    ],
)
def test_exit_codes_are_those_of_the_contract(kind: type[errors.SeatrialError], code: int) -> None:
    error = kind("it broke", where="file:3", remedy="mend it")
    assert error.exit_code == code
    assert error.as_dict()["exit_code"] == code


def test_an_error_says_what_where_what_is_unchanged_and_what_to_do() -> None:
    text = str(errors.UsageError("it broke", where="f:3", unchanged="all", remedy="mend it"))
    assert text.splitlines() == ["it broke", "  where: f:3", "  unchanged: all", "  do: mend it"]
