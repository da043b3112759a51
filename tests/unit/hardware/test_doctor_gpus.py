"""``doctor --gpus``: what confirms each figure is on the screen and in the document."""

import io
import json

import pytest

from seatrial.cli import doctor_gpus
from seatrial.cli.console import Console
from seatrial.core.errors import UsageError
from seatrial.hardware import all_gpus, gpu


def said(name=None, *, as_json=False):
    out = io.StringIO()
    code = doctor_gpus.show(Console(as_json=as_json, stdout=out, stderr=io.StringIO()), name)
    assert code == 0
    return out.getvalue()


def test_the_table_lists_every_accelerator_and_names_what_is_unread():
    text = said()
    assert all(f"{name} " in text for name in all_gpus())
    [line] = [x for x in text.splitlines() if x.startswith("h20-96gb")]
    assert "capability" in line


def test_one_accelerator_shows_each_figure_with_its_sources():
    text = said("h100")
    assert "nvidia-cuda-gpus" in text
    assert "developer.nvidia.com/cuda-gpus" in text
    [line] = [x for x in text.splitlines() if x.startswith("reported_gib")]
    assert "unread" in line


def test_the_document_carries_every_standing():
    found = {
        figure["standing"]
        for g in json.loads(said(as_json=True))["gpus"]
        for figure in g["figures"].values()
    }
    assert found == {"confirmed", "disputed", "contradicted", "unread"}


def test_a_disputed_figure_shows_the_other_value():
    document = json.loads(said("gaudi3", as_json=True))
    [one] = document["gpus"]
    assert one["figures"]["bf16"]["value"] == 1835
    assert one["figures"]["bf16"]["differs"] == {"ml-engineering": 1677}
    assert "ml-engineering" in document["sources"]


def test_an_unknown_accelerator_is_bad_input():
    with pytest.raises(UsageError):
        doctor_gpus.show(Console(), "h1000")


def test_bandwidths_as_devices_have_them():
    assert gpu("b200").bandwidth_gb_s == 7700
    assert gpu("b300").bandwidth_gb_s == 7750
