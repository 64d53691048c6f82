import grpc

import seen

channel = grpc.secure_channel("more.metroon.test:443", grpc.ssl_channel_credentials())
answer, call = channel.unary_unary("/frogs.Pond/Croak").with_call(b"loud", timeout=20)
seen.line("croak", answer)
seen.line("trailers", sorted(call.trailing_metadata()))
ticks = channel.unary_stream("/frogs.Pond/Ticks")(b"", timeout=20)
try:
    for tick in ticks:
        seen.line("tick", tick)
except grpc.RpcError as error:
    seen.line("ended", (error.code().name, error.details()))
    seen.line("trailers", sorted(error.trailing_metadata()))
