"""The roll-back trigger as a Prometheus rule file."""

from __future__ import annotations

import re

import yaml

from seatrial.decide.record import Decision, Trigger

HOLD = "5m"
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]+")


def rule_file(decision: Decision, workload: str) -> str:
    """A rule file with the trigger (severity ``page``) and its warnings (``warning``).

    What the engine exports no metric for stands in the head as a comment, so that nobody takes the
    file for more than it is. Raises ValueError where nothing was selected.
    """
    if decision.selected is None or decision.rollback.trigger is None:
        raise ValueError("nothing was selected: there is nothing to watch")
    triggers = [(decision.rollback.trigger, "page")]
    triggers += [(warning, "warning") for warning in decision.rollback.warnings]
    back = decision.rollback.previous or "the previous deployment"
    made = decision.provenance
    head = [
        f"Roll-back trigger of {decision.selected}, workload {workload}; made by seatrial",
        f"{made.tool_version} from a trial decided {made.created_at}.",
        f"When it fires, go back to {back}.",
    ]
    head += [f"NOT WATCHED HERE: {t.says}" for t, _ in triggers if t.promql is None]
    rules = [
        _rule(trigger, severity, decision.selected, back)
        for trigger, severity in triggers
        if trigger.promql is not None
    ]
    groups = {"groups": [{"name": f"seatrial-{_name(workload, '-')}", "rules": rules}]}
    comment = "".join(f"# {_one_line(line)}\n" for line in head)
    return comment + yaml.safe_dump(groups, sort_keys=False, width=100, allow_unicode=True)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def _rule(trigger: Trigger, severity: str, selected: str, back: str) -> dict[str, object]:
    word = "Rollback" if severity == "page" else "Warning"
    return {
        "alert": f"Seatrial{word}{_name(trigger.metric.title(), '')}",
        "expr": trigger.promql,
        "for": HOLD,
        "labels": {"severity": severity, "candidate": selected},
        "annotations": {"summary": trigger.says, "action": f"go back to {back}"},
    }


def _name(text: str, between: str) -> str:
    return _NOT_A_NAME.sub(between, text).strip(between or None) or "x"
