"""Small logs of every format, written by hand after the formats' descriptions.

Not imported by name (tests share nothing that way): ``conftest`` loads it as a fixture. Each sample
carries the planted secrets where its format has room for text, names, keys or addresses.
"""

from __future__ import annotations

import json

SECRETS = (
    "S3CRETPROMPT",
    "S3CRETUSER",
    "sk-S3CRETKEY0123456789",
    "10.11.12.13",
    "s3cret@example.org",
)
PROMPT = f"{SECRETS[0]} please write to {SECRETS[4]}. " * 40
USER, KEY, ADDRESS = SECRETS[1], SECRETS[2], SECRETS[3]


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


MESSAGES = [{"role": "system", "content": PROMPT}, {"role": "user", "content": USER}]

SAMPLES: dict[str, tuple[str, str]] = {
    "azure-csv": (
        "a.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2024-05-10 00:00:00.009930+00:00,10,3\r\n2024-05-10 00:00:01+00:00,20,5",
    ),
    "burstgpt": (
        "b.csv",
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
        f"Log Type\n5,{USER},2.5,GPT-4,10,3,13,Conversation log\n7.5,,1,ChatGPT,20,0,20,API log\n",
    ),
    "mooncake": (
        "m.jsonl",
        jsonl(
            {"timestamp": 0, "input_length": 1000, "output_length": 3, "hash_ids": [1, 2]},
            {"timestamp": 1500, "input_length": 600, "output_length": 4, "hash_ids": [1, 3]},
        ),
    ),
    "qwen-bailian": (
        "q.jsonl",
        jsonl(
            {"chat_id": 5, "parent_chat_id": -1, "timestamp": 1.5, "input_length": 40,
             "output_length": 3, "type": "text", "turn": 1, "hash_ids": [1, 2, 3]},
            {"chat_id": 6, "parent_chat_id": 5, "timestamp": 9, "input_length": 60,
             "output_length": 4, "type": "text", "turn": 2, "hash_ids": [1, 2, 4, 5]},
        ),
    ),
    "vidur": ("v.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,10,3\n1.25,20,4\n"),
    "claude-sessions": (
        "trace_1.json",
        json.dumps(
            {"id": "t", "models": ["m"], "block_size": 64, "hash_id_scope": "local",
             "requests": [
                 {"t": 0.0, "type": "s", "model": "m", "in": 130, "out": 7, "hash_ids": [1, 2],
                  "output_types": ["tool_use"], "stop": "tool_use", "api_time": 2.0,
                  "think_time": 0.0, "ttft": 0.5},
                 {"t": 9.0, "type": "subagent", "agent_id": USER, "requests": [
                     {"t": 1.0, "type": "n", "model": "m", "in": 200, "out": 9,
                      "hash_ids": [1, 2, 3], "output_types": ["text"], "stop": ""}]},
             ]},
        ),
    ),
    "ragpulse": (
        "r.jsonl",
        jsonl(
            {"timestamp": "3", "input_length": 100, "output_length": 3, "session_id": USER,
             "hash_ids": {"sys": [1], "passages": [7, 8], "history": [], "web": [], "user": [9]}},
            {"timestamp": "8", "input_length": 90, "output_length": 3, "session_id": USER,
             "hash_ids": {"sys": [1], "passages": [8, 7], "history": [], "web": [], "user": [4]}},
        ),
    ),
    "lmcache-agents": (
        "l.jsonl",
        jsonl(
            {"timestamp": 1760428221546118, "input": PROMPT, "output": "ok", "session_id": USER},
            {"timestamp": 1760428222546118, "input": PROMPT + "more", "output": "fine",
             "session_id": USER},
        ),
    ),
    "lengths": (
        "n.csv", "num_prefill_tokens,num_decode_tokens,num_total_tokens\n10,3,13\n20,4,24\n",
    ),
    "lmsys-lora": (
        "o.jsonl",
        jsonl(
            {"req_id": 0, "req_time": 0.5, "model": "m", "adapter": KEY, "prompt_len": 10,
             "output_len": 3},
            {"req_id": 1, "req_time": 1.0, "model": "m", "adapter": "b", "prompt_len": 20,
             "output_len": 4},
        ),
    ),
    "semantic-router": (
        "p.csv", "timestamp,prompt_tokens,generated_tokens,selected_model\n0.5,10,3,m\n1,20,4,n\n",
    ),
    "otel": (
        "spans.json",
        json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [
            {"spanId": "a", "name": "chat", "startTimeUnixNano": "1700000000000000000",
             "endTimeUnixNano": "1700000002000000000", "status": {"code": 1}, "attributes": [
                 {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
                 {"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "10"}},
                 {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "3"}},
                 {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(MESSAGES)}},
                 {"key": "gen_ai.latency.time_to_first_token", "value": {"doubleValue": 0.5}},
             ]},
            {"spanId": "b", "name": "execute_tool", "startTimeUnixNano": "1700000003000000000",
             "attributes": [
                 {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                 {"key": "gen_ai.request.model", "value": {"stringValue": "m"}}]},
            {"spanId": "c", "name": "chat", "startTimeUnixNano": "1700000005000000000",
             "endTimeUnixNano": "1700000006000000000", "status": {"code": 2}, "attributes": [
                 {"key": "gen_ai.response.model", "value": {"stringValue": "m"}},
                 {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "20"}},
                 {"key": "gen_ai.conversation.id", "value": {"stringValue": USER}}]},
        ]}]}]}),
    ),
    "openai-batch": (
        "batch.jsonl",
        jsonl(
            {"custom_id": USER, "method": "POST", "url": "/v1/chat/completions",
             "body": {"model": "m", "messages": MESSAGES,
                      "response_format": {"type": "json_schema", "json_schema": {}}}},
            {"custom_id": "2", "method": "POST", "url": "/v1/chat/completions",
             "body": {"model": "m", "messages": MESSAGES, "tools": [{}]}},
        ),
    ),
    "litellm": (
        "spend.jsonl",
        jsonl(
            {"request_id": "1", "call_type": "acompletion", "api_key": KEY, "spend": 0.1,
             "prompt_tokens": 1841, "completion_tokens": 212, "model_group": "chat-8b",
             "startTime": "2026-11-30T07:14:12.105Z", "endTime": "2026-11-30T07:14:14.980Z",
             "completionStartTime": "2026-11-30T07:14:12.480Z", "session_id": USER,
             "status": "success", "cache_hit": "False", "requester_ip_address": ADDRESS,
             "messages": MESSAGES, "end_user": USER},
            {"request_id": "2", "call_type": "acompletion", "prompt_tokens": 5, "spend": 0,
             "completion_tokens": 2, "model_group": "chat-8b", "status": "failure",
             "startTime": 1764486860.25, "endTime": 1764486861.0,
             "completionStartTime": 1764486861.0, "cache_hit": "False"},
        ),
    ),
    "langfuse": (
        "lf.json",
        json.dumps([
            {"id": "a", "traceId": USER, "type": "GENERATION", "model": "m",
             "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:02Z",
             "completionStartTime": "2026-01-01T00:00:00.5Z", "modelParameters": {},
             "usageDetails": {"input": 10, "output": 3}, "input": MESSAGES, "output": PROMPT,
             "level": "DEFAULT"},
            {"id": "b", "traceId": USER, "type": "SPAN", "startTime": "2026-01-01T00:00:00Z",
             "usageDetails": {}, "modelParameters": {}},
            {"id": "c", "traceId": USER, "type": "GENERATION", "model": "m",
             "startTime": "2026-01-01T00:00:04Z", "endTime": "2026-01-01T00:00:05Z",
             "usageDetails": {"input": 20, "output": 4}, "level": "ERROR"},
        ]),
    ),
    "helicone": (
        "h.jsonl",
        jsonl(
            {"request_created_at": "2026-01-01T00:00:00Z", "prompt_tokens": 10, "latency": 2000,
             "completion_tokens": 3, "status": 200, "model": "m", "user_id": USER,
             "time_to_first_token": 500, "properties": {"Helicone-Session-Id": USER},
             "request_body": json.dumps({"messages": MESSAGES, "stream": True})},
            {"request_created_at": "2026-01-01T00:00:03Z", "prompt_tokens": 20, "latency": 900,
             "completion_tokens": 0, "status": 500, "model": "m"},
        ),
    ),
    "vllm-log": (
        "vllm.log",
        "INFO 11-30 07:14:12 [logger.py:39] Received request chatcmpl-1: prompt: "
        f"'{PROMPT}', params: SamplingParams(n=1, guided_decoding=None), prompt_token_ids: "
        "[1, 2, 3], lora_request: None.\n"
        "INFO 11-30 07:14:13 [metrics.py:1] Avg prompt throughput: 1.0\n"
        "INFO 11-30 07:14:15 [logger.py:42] Received request chatcmpl-2: params: "
        "SamplingParams(structured_outputs=StructuredOutputsParams(x)), lora_request: Lora(a).\n",
    ),
    "sglang": (
        "sg.log",
        jsonl(
            {"timestamp": "2026-01-01T00:00:00", "event": "request.received", "rid": "1",
             "obj": {"text": PROMPT}},
            {"timestamp": "2026-01-01T00:00:02", "event": "request.finished", "rid": "1",
             "obj": {"text": PROMPT, "stream": True, "sampling_params": {"json_schema": "{}"},
                     "input_ids": list(range(32))},
             "out": {"meta_info": {"prompt_tokens": 32, "completion_tokens": 3, "cached_tokens": 0,
                                   "e2e_latency": 2.0, "finish_reason": {"type": "stop"}}}},
            {"timestamp": "2026-01-01T00:00:09", "event": "request.finished", "rid": "2",
             "obj": {}, "out": {"meta_info": {"prompt_tokens": 20, "completion_tokens": 4,
                                              "e2e_latency": 1.0, "finish_reason": "abort"}}},
        ),
    ),
    "tgi": (
        "tgi.log",
        jsonl(
            {"timestamp": "2026-01-01T00:00:02Z", "level": "INFO", "message": "Success",
             "span": {"name": "generate_stream", "total_time": "2s", "inference_time": "1.5s",
                      "queue_time": "87.1ms", "time_per_token": "500ms", "parameters": PROMPT}},
            {"timestamp": "2026-01-01T00:00:05Z", "level": "INFO", "message": "Success",
             "span": {"name": "generate", "total_time": "1s", "inference_time": "900ms",
                      "queue_time": "1µs", "time_per_token": "100ms"}},
        ),
    ),
    "llama.cpp": (
        "ll.jsonl",
        jsonl(
            {"created": 1764486860, "model": "m", "content": PROMPT,
             "timings": {"cache_n": 30, "prompt_n": 10, "prompt_ms": 500.0, "predicted_n": 3,
                         "predicted_ms": 1500.0}},
            {"created": 1764486864, "model": "m",
             "timings": {"cache_n": 0, "prompt_n": 20, "prompt_ms": 50.5, "predicted_n": 4,
                         "predicted_ms": 100.0}},
        ),
    ),
    "ollama": (
        "ol.jsonl",
        jsonl(
            {"model": "m", "created_at": "2026-01-01T00:00:02.5Z", "done": True,
             "done_reason": "stop", "total_duration": 2_000_000_000, "load_duration": 1_000_000_000,
             "prompt_eval_count": 10, "prompt_eval_duration": 300_000_000, "eval_count": 3,
             "eval_duration": 700_000_000, "message": {"content": PROMPT}},
            {"model": "m", "created_at": "2026-01-01T00:00:05Z", "done": True,
             "total_duration": 1_000_000_000, "prompt_eval_count": 20, "eval_count": 4},
        ),
    ),
    "envoy-ai-gateway": (
        "eg.jsonl",
        jsonl(
            {"start_time": "2026-01-01T00:00:00Z", "method": "POST", "response_code": 200,
             "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10,
             "gen_ai.usage.output_tokens": 3, "session.id": USER},
            {"start_time": "2026-01-01T00:00:03Z", "method": "POST", "response_code": 0,
             "response_flags": "DC", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 20},
        ),
    ),
    "kong": (
        "kong.jsonl",
        jsonl(
            {"started_at": 1764486860250, "client_ip": ADDRESS, "response": {"status": 200},
             "ai": {"proxy": {"meta": {"request_model": "m", "llm_latency": 2000},
                              "usage": {"prompt_tokens": 10, "completion_tokens": 3},
                              "payload": {"request": PROMPT}}}},
            {"started_at": 1764486863250, "client_ip": ADDRESS, "response": {"status": 429},
             "ai": {"proxy": {"meta": {"request_model": "m"}, "usage": {"prompt_tokens": 20}}}},
        ),
    ),
    "portkey": (
        "pk.jsonl",
        jsonl(
            {"time": "2026-01-01 00:00:00", "method": "POST", "endpoint": "/v1/chat/completions",
             "status": 200, "duration": 2000, "requestOptions": [
                 {"requestParams": {"model": "m", "messages": MESSAGES},
                  "response": {"usage": {"prompt_tokens": 10, "completion_tokens": 3}}}]},
            {"time": "2026-01-01 00:00:03", "method": "POST", "endpoint": "/v1/chat/completions",
             "status": 499, "duration": 10, "requestOptions": [
                 {"requestParams": {"model": "m", "stream": True},
                  "response": {"usage": {"prompt_tokens": 20}}}]},
        ),
    ),
    "access-log": (
        "access.log",
        f'{ADDRESS} - - [30/Nov/2026:07:14:14 +0000] "POST /v1/chat/completions HTTP/1.1" 200 512 '
        f'"-" "{USER}" rt=2.500 uht=0.250\n'
        f'{ADDRESS} - - [30/Nov/2026:07:14:15 +0000] "POST /v1/chat/completions HTTP/1.1" 499 0 '
        '"-" "curl" rt=1.000\n'
        f'{ADDRESS} - - [30/Nov/2026:07:14:16 +0000] "POST /login HTTP/1.1" 200 0 "-" "c" rt=1\n',
    ),
    "aiperf": (
        "profile_export.jsonl",
        jsonl(
            {"metadata": {"request_start_ns": 1764486860000000000, "conversation_id": USER},
             "metrics": {"input_sequence_length": {"value": 10, "unit": "tokens"},
                         "output_sequence_length": {"value": 3, "unit": "tokens"},
                         "request_latency": {"value": 2000.0, "unit": "ms"},
                         "time_to_first_token": {"value": 500.0, "unit": "ms"}}, "error": None},
            {"metadata": {"request_start_ns": 1764486863000000000}, "error": {"message": PROMPT},
             "metrics": {"input_sequence_length": {"value": 20, "unit": "tokens"}}},
        ),
    ),
    "guidellm": (
        "benchmarks.json",
        json.dumps({"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": [
            {"type_": "generative", "requests": {
                "successful": [{"request_start_time": 1764486860.5, "prompt_tokens": 10,
                                "request_end_time": 1764486862.5, "output_tokens": 3,
                                "time_to_first_token_ms": 500.0, "prompt": PROMPT}],
                "errored": [{"request_start_time": 1764486863.5, "prompt_tokens": 20,
                             "output_tokens": 0}],
                "incomplete": []}}]}),
    ),
    "vllm-bench": (
        "vllm-result.json",
        json.dumps({"date": "20260101", "input_lens": [10, 20], "output_lens": [3, 4],
                    "ttfts": [0.5, 0.25], "itls": [[0.5, 1.0], [0.1]], "errors": ["", ""],
                    "start_times": [1764486860.5, 1764486863.5], "generated_texts": [PROMPT, ""]}),
    ),
    "generic": (
        "g.csv",
        "time,isl,osl,user,session_id,model,status\n"
        f"2026-01-01T00:00:00Z,10,3,{USER},{ADDRESS},m,completed\n"
        f"2026-01-01T00:00:03Z,20,4,{KEY},x,m,completed\n",
    ),
}  # fmt: skip
