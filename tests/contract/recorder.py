"""A proxy on loopback that keeps every request as it came and passes the answer on as it comes, its end included.

The first component of a path names the provider that asked, so that a request is told from another:
/NAME/v1/messages is recorded as NAME's and asked of the server behind as /v1/messages.
"""

import http.client
import http.server
import socketserver
import threading
from dataclasses import dataclass

ANSWER_SECONDS = 60
HOP_BY_HOP = ("host", "connection", "keep-alive", "transfer-encoding")


@dataclass
class Request:
    provider: str
    method: str
    path: str
    headers: dict  # names in lower case
    body: bytes


class Recorder:
    def __init__(self, upstream_port):
        self._lock = threading.Lock()
        self._requests = []
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.upstream = ("127.0.0.1", upstream_port)
        self._server.record = self._record
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def requests(self, provider=None):
        with self._lock:
            return [each for each in self._requests if provider in (None, each.provider)]

    def _record(self, request):
        with self._lock:
            self._requests.append(request)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = ANSWER_SECONDS

    def do_POST(self):
        self._forward()

    def do_GET(self):
        self._forward()

    def _forward(self):
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        provider, _, rest = self.path.lstrip("/").partition("/")
        self.server.record(Request(provider, self.command, "/" + rest,
                                   {name.lower(): value for name, value in self.headers.items()}, body))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        upstream = http.client.HTTPConnection(*self.server.upstream, timeout=ANSWER_SECONDS)
        try:
            upstream.request(self.command, "/" + rest, body, headers)
            self._answer(upstream.getresponse())
        except (OSError, http.client.HTTPException):
            pass  # what was cut behind is cut in front, too: the connection closes where it stands
        finally:
            upstream.close()

    def _answer(self, response):
        # One answer a connection: the mock drops idle ones, and a request must not meet that moment.
        self.wfile.write(f"HTTP/1.1 {response.status} {response.reason}\r\nConnection: close\r\n".encode("latin-1"))
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.wfile.write(f"{name}: {value}\r\n".encode("latin-1"))
        is_chunked = response.chunked
        self.wfile.write(b"Transfer-Encoding: chunked\r\n\r\n" if is_chunked else b"\r\n")
        while piece := response.read1(65536):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass
