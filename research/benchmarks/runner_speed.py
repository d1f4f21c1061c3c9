"""Measure how fast a model on a server is asked, compared with clients that only send the requests.

    python -m research.benchmarks.runner_speed data/release/sample/1.0.0
    python -m research.benchmarks.runner_speed data/release/sample/1.0.0 --rate 200     a server that answers 200 requests per second

All send the same requests, with the same images, to the same server on this machine, which runs in a process of its own. The
reply is always "red". `rgqa run` also reads the replies, classifies abstentions and writes its journal; the other clients throw the replies away. The
time of `rgqa run` is that from the first request to the last journal entry, and in a second line that of the whole command.
`inspect eval` is the same run by the release's own task of inspect_ai. lmms-eval (0.7.3, its model `openai`) runs the release's own tasks of
lmms-eval in an environment of its own; it asks an item again if several items share a question.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import typer

from pipeline.inference.chat_model import Message
from pipeline.inference.openai_server import make_request_fields
from pipeline.inference.release_questions import choose_questions
from pipeline.scoring.benchmark_reader import read_benchmark
from research.benchmarks.harness import run_benchmark

CONNECTIONS = 32
REPLY = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "net",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "red"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 30, "completion_tokens": 1, "total_tokens": 31},
}


def serve(port: int, rate: float) -> None:
    """Answer every request with the same reply, at most `rate` per second; 0 for no limit."""
    from aiohttp import web

    body, next_at = json.dumps(REPLY).encode(), time.monotonic()

    async def answer(request: web.Request) -> web.Response:
        nonlocal next_at
        await request.read()
        if rate:
            next_at = max(next_at, time.monotonic()) + 1 / rate
            await asyncio.sleep(next_at - time.monotonic())
        return web.Response(body=body, content_type="application/json")

    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/v1/chat/completions", answer)
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


async def make_requests(release: Path, limit: int) -> list[dict[str, Any]]:
    """Return the requests that `rgqa run` sends."""
    chosen = choose_questions(read_benchmark(release), release, split="all", limit=limit)
    run = chosen.prompted_run
    requests = []
    for question in chosen.rows:
        image = await run.images.get_data_uri(question.item.image) if run.images else ""
        message = Message("user", run.prompt.format_question(question.item.question_text), image)
        requests.append({"model": "net"} | make_request_fields([message], run.settings))
    return requests


async def send_all(
    requests: list[dict[str, Any]], send: Callable[[dict[str, Any]], Awaitable[object]]
) -> float:
    """Send all requests, `CONNECTIONS` at the same time. Return the seconds."""
    remaining, started = iter(requests), time.perf_counter()

    async def work() -> None:
        for request in remaining:
            await send(request)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return time.perf_counter() - started


async def time_aiohttp(address: str, requests: list[dict[str, Any]]) -> float:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def send(request: dict[str, Any]) -> None:
            data = json.dumps(request).encode()
            async with session.post(f"{address}/chat/completions", data=data) as response:
                json.loads(await response.read())

        return await send_all(requests, send)


async def time_httpx(address: str, requests: list[dict[str, Any]]) -> float:
    import httpx

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=CONNECTIONS), timeout=300) as client:

        async def send(request: dict[str, Any]) -> None:
            (await client.post(f"{address}/chat/completions", json=request)).json()

        return await send_all(requests, send)


async def time_openai(address: str, requests: list[dict[str, Any]]) -> float:
    import openai

    async with openai.AsyncOpenAI(base_url=address, api_key="none", timeout=300) as client:

        async def send(request: dict[str, Any]) -> None:
            await client.chat.completions.create(**request)

        return await send_all(requests, send)


def time_command(command: list[str], folder: str, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=os.environ | environment, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return time.perf_counter() - started


def main(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    rate: Annotated[
        float, typer.Option(help="Requests that the server answers per second; 0: all at once.")
    ] = 0,
    limit: Annotated[int, typer.Option(help="Maximum number of questions; 0: all.")] = 0,
    with_inspect: Annotated[bool, typer.Option(help="Also time `inspect eval`.")] = False,
    lmms_eval: Annotated[
        Path | None,
        typer.Option(help="Also time this program: `bin/lmms-eval` of an environment with lmms-eval 0.7.3."),
    ] = None,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(port, rate), daemon=True)
    server.start()
    address = f"http://127.0.0.1:{port}/v1"
    requests = asyncio.run(make_requests(release.resolve(), limit))
    size = sum(len(json.dumps(request)) for request in requests) / len(requests)
    print(f"{len(requests):,} requests of {size / 1000:,.0f} kB on average, {CONNECTIONS} at the same time")

    def report(what: str, seconds: float, count: int = len(requests)) -> None:
        note = f"   ({count:,} requests)" if count != len(requests) else ""
        print(f"  {what:<48} {seconds:8.2f} s   {count / seconds:8,.0f} per second{note}", flush=True)

    try:
        for name, measure in (
            ("aiohttp alone", time_aiohttp),
            ("httpx alone", time_httpx),
            ("OpenAI's client alone", time_openai),
        ):
            report(name, asyncio.run(measure(address, requests)))
        with tempfile.TemporaryDirectory() as folder:
            own = {"PYTHONPATH": str(Path.cwd())}
            command = [sys.executable, "-m", "pipeline.cli", "run", str(release.resolve()), "--model", "net"]
            command += ["--server", address, "--split", "all", "--limit", str(limit), "--out", "run"]
            command += ["--max-connections", str(CONNECTIONS)]
            whole = time_command(command, folder, own)
            record = json.loads(Path(folder, "run/run.json").read_text())
            report("rgqa run, from the first to the last question", record["sessions"][0]["seconds"])
            report("rgqa run, the whole command with scores", whole)
            report("rgqa run, the finished run once more", time_command(command, folder, own))
            if with_inspect:
                service = {"LOCAL_BASE_URL": address, "LOCAL_API_KEY": "none"}
                command = [str(Path(sys.executable).with_name("inspect")), "eval", "rgqa/all"]
                command += ["--model", "openai-api/local/net", "-T", f"release={release.resolve()}"]
                command += ["-T", "split=all", "-T", f"limit={limit}", "--display", "none", "--no-log-images"]
                command += ["--max-connections", str(CONNECTIONS)]
                report("inspect eval, the whole command", time_command(command, folder, own | service))
            if lmms_eval:
                options = (
                    f"model=net,base_url={address},api_key=none,max_retries=1,num_concurrent={CONNECTIONS}"
                )
                tasks = release.resolve() / "harness/lmms_eval"
                command = [str(lmms_eval), "--include_path", str(tasks), "--tasks", "rgqa,rgqa_validation"]
                command += ["--model", "openai", "--model_args", options, "--limit", str(limit or -1)]
                command += ["--log_samples", "--output_path", "logs"]
                seconds = time_command(command, folder, {"HF_HUB_OFFLINE": "1", "HOME": folder})
                logs = [*Path(folder, "logs").rglob("*_samples_*.jsonl")]
                asked = sum(len(log.read_bytes().splitlines()) for log in logs)
                report("lmms-eval, the whole command", seconds, asked)
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    run_benchmark(main)
