"""The control service of a plugin (plugins/proto/method.proto), and the services of go-plugin."""

from __future__ import annotations

import asyncio
import datetime
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable

import grpc

import handshake
import method_pb2 as pb
from loop import EAGER_MAX, EXPECTED_MAX, NAME, UNEXPECTED_MAX, Endpoint, Failure, Network, name_of
from method_pb2_grpc import MethodServicer, add_MethodServicer_to_server
from session import Session

VERSION = "1.0"
PIECES_MAX = 1024  # of a message; the program joins them
RECORD_MAX = 64 << 10  # bytes of a record besides its message

log = logging.getLogger(NAME)


class Method(MethodServicer):
    """The service: sessions by their numbers."""

    def __init__(self) -> None:
        self.network = Network()
        self.sessions: dict[int, Session] = {}

    async def session(self, number: int, context: grpc.aio.ServicerContext) -> Session:
        """Finds a session, or ends the call."""
        if number not in self.sessions:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no session {number}")
        return self.sessions[number]

    async def Describe(self, request: pb.DescribeRequest, context: grpc.aio.ServicerContext) -> pb.DescribeReply:
        log.info("loaded by version %s of the program", request.program)
        return pb.DescribeReply(version=VERSION, methods=[pb.Offer(name=NAME)], rings=False)

    async def Open(self, request: pb.OpenRequest, context: grpc.aio.ServicerContext) -> pb.OpenReply:
        try:
            if request.session in self.sessions:
                raise Failure(pb.INVALID, f"session {request.session} is open already")
            self.sessions[request.session] = Session(self.open(request))
        except Failure as failure:
            return pb.OpenReply(failure=said(failure))
        return pb.OpenReply(info=info(request.listen))

    def open(self, request: pb.OpenRequest) -> Endpoint:
        if request.method != NAME or request.rings:
            raise Failure(pb.NOT_SUPPORTED, f"this plugin has the method {NAME} without shared memory, and nothing else")
        if request.options:
            raise Failure(pb.INVALID, f"{NAME} has no options, got {sorted(request.options)}")
        if len(request.listen) > 1:
            raise Failure(pb.INVALID, f"{len(request.listen)} addresses to listen on: an endpoint of {NAME} has one name")
        return Endpoint(self.network, request.listen[0] if request.listen else None)

    async def Close(self, request: pb.CloseRequest, context: grpc.aio.ServicerContext) -> pb.CloseReply:
        session = await self.session(request.session, context)
        await session.close(max(request.drain, 0) / 1e9)
        self.sessions.pop(request.session, None)
        return pb.CloseReply()

    async def Resolve(self, request: pb.ResolveRequest, context: grpc.aio.ServicerContext) -> pb.ResolveReply:
        try:
            return pb.ResolveReply(address=f"{NAME}://{name_of(request.address)}")
        except Failure as failure:
            return pb.ResolveReply(failure=said(failure))

    async def Check(self, request: pb.CheckRequest, context: grpc.aio.ServicerContext) -> pb.CheckReply:
        session = await self.session(request.session, context)
        try:
            session.endpoint.check(name_of(request.address))
        except Failure as failure:
            return pb.CheckReply(failure=said(failure))
        return pb.CheckReply()

    async def InRange(self, request: pb.InRangeRequest, context: grpc.aio.ServicerContext) -> pb.InRangeReply:
        session = await self.session(request.session, context)
        try:
            return pb.InRangeReply(inside=session.endpoint.in_range(name_of(request.address), request.pattern))
        except Failure as failure:
            return pb.InRangeReply(failure=said(failure))

    async def Stats(self, request: pb.StatsRequest, context: grpc.aio.ServicerContext) -> pb.StatsReply:
        session = await self.session(request.session, context)
        return pb.StatsReply(json=json.dumps(session.endpoint.stats()).encode())

    async def Ping(self, request: pb.PingRequest, context: grpc.aio.ServicerContext) -> pb.PingReply:
        await self.session(request.session, context)
        return pb.PingReply()  # there is one loop, and it runs this call

    async def Data(
        self, records: AsyncIterator[pb.Record], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.Record]:
        first = await anext(aiter(records), pb.Record())
        session = await self.session(first.session, context)
        if first.kind != pb.ATTACH or session.attached:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a stream begins with ATTACH, and a session has one")
        session.attached = True
        heard = asyncio.create_task(session.hear(records))
        try:
            async for record in session.tell():
                yield record
        finally:
            heard.cancel()
            session.endpoint.close()
            session.told_all.set()
        if session.broken:
            log.error("the program broke the rules: %s", session.broken)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, session.broken)


def said(failure: Failure) -> pb.Failure:
    return pb.Failure(status=failure.status, text=str(failure))


def info(listen: list[str]) -> pb.Info:
    return pb.Info(
        name=NAME,
        description="endpoints of one plugin process, in Python",
        provider="memory of the plugin",
        max_expected_size=EXPECTED_MAX,
        max_unexpected_size=UNEXPECTED_MAX,
        eager_size=EAGER_MAX,
        max_pieces=PIECES_MAX,
        classes=True,
        addresses=listen,
        details=[pb.Detail(name="python", value=sys.version.split()[0]), pb.Detail(name="grpcio", value=grpc.__version__)],
        drops=True,
        checks=True,
        ranges=True,
        counts=True,
    )


def generic(service: str, method: str, answer: Callable[[bytes], bytes | None]) -> grpc.GenericRpcHandler:
    """Makes a service of one call, whose messages are short enough to write by hand."""

    async def call(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        reply = answer(request)
        if reply is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return reply

    return grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(call)})


def health(request: bytes) -> bytes | None:
    """Answers HealthCheckRequest{service: "plugin"} with HealthCheckResponse{status: SERVING}."""
    return b"\x08\x01" if request == b"\x0a\x06plugin" else None


async def serve() -> None:
    """Serves until the program calls Shutdown, or has ended."""
    over = asyncio.Event()

    def shutdown(_: bytes) -> bytes:
        over.set()
        return b""

    if (lifeline := handshake.lifeline(os.environ)) is not None:
        # This plugin needs no descriptors, so it discards everything before the end of file.
        asyncio.get_running_loop().add_reader(lifeline, lambda: os.read(lifeline, 64) or over.set())
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", EXPECTED_MAX + RECORD_MAX)])
    add_MethodServicer_to_server(Method(), server)
    server.add_generic_rpc_handlers((
        generic("grpc.health.v1.Health", "Check", health),
        generic("plugin.GRPCController", "Shutdown", shutdown),
    ))
    line = handshake.listen(server, os.environ)
    await server.start()
    print(line, flush=True)
    await over.wait()
    await server.stop(grace=0.1)


class HclogFormatter(logging.Formatter):
    """Writes a line of JSON as go-hclog does; it becomes a record in the program's log."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps({
            "@level": record.levelname.lower().replace("warning", "warn"),
            "@message": super().format(record),
            "@module": record.name,
            "@timestamp": datetime.datetime.fromtimestamp(record.created, datetime.timezone.utc).isoformat(),
        })


def main() -> None:
    handshake.check_cookie(os.environ)
    handler = logging.StreamHandler()
    handler.setFormatter(HclogFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    asyncio.run(serve())
