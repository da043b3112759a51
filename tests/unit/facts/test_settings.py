import pytest

from seatrial.core.errors import PrerequisiteError
from seatrial.facts.reach import settings

HELP = "  -i, --index-url <url>  Base URL (default https://index.invalid/simple). This should\n"


@pytest.fixture
def pip(monkeypatch):
    """pip answers from a dictionary: arguments -> stdout."""
    answers = {("download", "--help"): HELP, ("config", "list"): ""}
    monkeypatch.setattr(settings, "_pip", lambda *a: answers.get(a, ""))
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_OFFLINE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(settings, "_uv_toml", lambda: None)
    return answers


def test_pips_own_default_when_nothing_is_set(pip):
    found = settings.read_settings()
    assert found.indexes == ["https://index.invalid/simple"]
    assert found.said_by == "pip's built-in default"


def test_configuration_wins_over_the_default_and_environment_over_files(pip):
    pip["config", "list"] = (
        "global.index-url='https://global.invalid/simple/'\n"
        ":env:.index-url='https://env.invalid/simple'\n"
        "global.extra-index-url='https://one.invalid file:///two'\n"
    )
    found = settings.read_settings()
    assert found.indexes == ["https://env.invalid/simple", "https://one.invalid", "file:///two"]


def test_uv(pip, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv.invalid/simple")
    assert settings.read_settings().indexes == ["https://uv.invalid/simple"]


def test_no_index_means_local_files_alone(pip):
    pip["config", "list"] = "global.no-index='true'\n"
    with pytest.raises(PrerequisiteError, match="switched off"):
        settings.read_settings()


def test_without_pip_and_settings(pip):
    pip["download", "--help"] = ""
    with pytest.raises(PrerequisiteError, match="no package index is set"):
        settings.read_settings()


def test_no_host_stands_in_our_source():
    import re
    from pathlib import Path

    import seatrial.facts as package

    for path in Path(package.__file__).parent.rglob("*.py"):
        hosts = re.findall(r"https?://[a-z0-9.-]+\.[a-z]{2,}", path.read_text())
        # The name of a JSON schema's dialect is an identifier; nothing is fetched from it.
        assert [h for h in hosts if h != "https://json-schema.org"] == [], path
