"""How to do it again: commands, versions, hashes, seeds; and what the files are."""

from __future__ import annotations

from seatrial.core.ids import sha256_file
from seatrial.dossier.record import FileLine, Recipe
from seatrial.dossier.trial import Trial

OWN = ("dossier.html", "dossier.md", "dossier.json", "manifest.json")


def recipe(trial: Trial) -> Recipe:
    """Commands in the order in which a reader runs them."""
    tool = _tool_version(trial)
    engines = {
        f"{row.engine}=={row.version}": row.engine
        for row in (trial.gate.candidates if trial.gate else [])
        if row.version and any(c.candidate == row.candidate for c in trial.cells)
    }
    commands = [
        f"python -m pip install seatrial=={tool}" if tool else "python -m pip install seatrial"
    ]
    commands += [f"seatrial engines install {engine}" for engine in engines]
    commands += [f"seatrial run workload.yaml --out {trial.folder.name}-again"]
    commands += [f"seatrial diff {trial.folder.name} {trial.folder.name}-again"]
    return Recipe(
        commands=commands,
        versions={"seatrial": tool, **{engine: engine.split("==")[1] for engine in engines}},
        hashes=_inputs(trial),
        seeds=_seeds(trial),
        check=["sha256sum workload.yaml", "duckdb < figure.sql"],
    )


def _tool_version(trial: Trial) -> str:
    versions = {c.provenance.tool_version for c in trial.cells}
    if trial.gate:
        versions.add(trial.gate.provenance.tool_version)
    return ", ".join(sorted(versions))


def _inputs(trial: Trial) -> dict[str, str]:
    """Hashes of what went in, as the artefacts state them, and of the workload file itself."""
    found: dict[str, str] = {}
    workload = trial.folder / "workload.yaml"
    if workload.is_file():
        found["workload.yaml"] = sha256_file(workload)
    if trial.gate:
        found.update({f"gate: {k}": v for k, v in trial.gate.provenance.inputs.items()})
    for cell in trial.cells[:1]:
        found.update({f"cell: {k}": v for k, v in cell.provenance.inputs.items()})
    return found


def _seeds(trial: Trial) -> dict[str, int]:
    seeds: dict[str, int] = {}
    for cell in trial.cells:
        seeds.update(cell.provenance.seeds)
    stated = (trial.workload.get("trial") or {}).get("seed")
    return {**({"master": stated} if isinstance(stated, int) else {}), **seeds}


def file_lines(trial: Trial) -> list[FileLine]:
    """Every file of the trial by its path, the dossier's own files apart."""
    lines = []
    for path in sorted(trial.folder.rglob("*")):
        inside = path.relative_to(trial.folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        if hidden or path.is_symlink() or not path.is_file() or str(inside) in OWN:
            continue
        name = str(inside)
        lines.append(
            FileLine(path=name, bytes=path.stat().st_size, sha256=trial.hashes.get(name, ""))
        )
    return lines
