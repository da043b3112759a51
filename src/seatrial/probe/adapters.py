"""LoRA: adapters that were given are served under their names, also mixed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from seatrial.probe.record import Answer, failed, passed, unknown
from seatrial.probe.subject import Subject, content_of, refusal


def lora(subject: Subject) -> Answer:
    """Each adapter of the settings answers by its name, all of them at once as well."""
    given = subject.engine.settings.lora
    if not given:
        return unknown("no adapter was given: the route alone proves nothing")
    names = [adapter.name for adapter in given]
    extra = [subject.engine.adapter.lora_request(name, i) for i, name in enumerate(names)]
    texts: dict[str, str] = {}
    plain = content_of(subject.chat("Describe yourself.", 16))
    with ThreadPoolExecutor(max(1, len(names))) as pool:
        replies = list(pool.map(lambda e: subject.chat("Describe yourself.", 16, **e), extra))
    for name, reply in zip(names, replies, strict=True):
        text = content_of(reply)
        if not reply.ok or text is None:
            return failed(f"adapter {name} does not answer", **refusal(reply))
        texts[name] = text
    changed = [name for name, text in texts.items() if text != plain]
    return passed(adapters=len(names), answers_unlike_the_base_model=changed)
