#!/usr/bin/env python3
"""A small MCP server over streamable HTTP that misbehaves on demand, and a proxy. Python 3, standard library only.

Without options it speaks both eras at every path and behaves; the earlier era has sessions. It writes the port that it
listens on (127.0.0.1) to PORT_FILE, and ends when its standard input does.

  --requests FILE         append each request as a line of JSON: method, path, headers, and the MCP method as `rpc`
  --legacy | --modern     speak one era only; the other's handshake is an unknown method
  --stream                answer by streams of events instead of JSON
  --stateless             give no session
  --deaf                  have no stream for GET
  --token TOKEN           answer 401 where the request does not carry it as `Authorization: Bearer`
  --status RPC=CODE       answer an MCP method with an HTTP error
  --page                  answer everything with a web page
  --redirect WHERE        answer 307 to where it says, where the path is /from
  --forgetful STATUS      what is said of an unknown session (404)
  --offers                have a resource, a prompt and what answers them; the resource `x:gone` is not found
  --headers               tools with good and bad `x-mcp-header`
  --certificate FILE      speak TLS, with the certificate and key of a PEM file
  --proxy                 be no MCP server but a proxy, for plain requests and for tunnels

Tools: echo (text), header (name; what the call carried), drop (breaks its stream off; the reply is had by resuming), cut
(closes the connection without a reply), gone (closes its stream, which can't be resumed), sleep (seconds), forget (all
sessions), big (bytes), change (adds a tool and announces it on the GET streams), deafen (takes no more connections; answers once the file `until` is there), calls (how many there were), peak (how
many of them ran at once).
"""

import argparse
import http.client
import json
import os
import queue
import select
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODERN = "2026-07-28"
REVISION = "io.modelcontextprotocol/protocolVersion"
OBJECT = {"type": "object", "properties": {}}


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("port_file")
    for flag in "legacy modern stream stateless deaf page headers proxy offers".split():
        parser.add_argument("--" + flag, action="store_true")
    for option in "requests token redirect certificate".split():
        parser.add_argument("--" + option)
    parser.add_argument("--status", action="append", default=[])
    parser.add_argument("--forgetful", type=int, default=404)
    return parser.parse_args()


OPTIONS = parse_options()
LOCK = threading.Lock()
SESSIONS = set()
LISTENERS = []
PENDING = {}
COUNTS = {"calls": 0, "added": 0, "sessions": 0, "running": 0, "peak": 0, "deaf": False}


def schema(**properties):
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in properties.items()}}


def tools():
    known = {"echo": schema(text="string"), "header": schema(name="string"), "sleep": schema(seconds="number")}
    known["big"] = schema(bytes="integer")
    known["deafen"] = schema(until="string")
    for name in "drop cut gone forget change calls peak".split():
        known[name] = OBJECT
    for number in range(COUNTS["added"]):
        known[f"added_{number}"] = OBJECT
    if OPTIONS.headers:
        region = {"type": "string", "x-mcp-header": "Region"}
        known["good"] = {"type": "object", "properties": {"region": region}}
        known["bad"] = {"type": "object", "properties": {"region": {"type": "number", "x-mcp-header": "Region"}}}
    return [{"name": name, "inputSchema": schema} for name, schema in known.items()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    # Replies

    def plain(self, status, kind, body, **headers):
        body = body.encode()
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def open_stream(self, **headers):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text.encode()), text.encode()))
        self.wfile.flush()

    def event(self, message, identifier=None):
        head = f"id: {identifier}\n" if identifier else ""
        self.chunk(f"{head}event: message\ndata: {json.dumps(message)}\n\n")

    def close_stream(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def result(self, identifier, result, **headers):
        message = {"jsonrpc": "2.0", "id": identifier, "result": result}
        if OPTIONS.stream:
            self.open_stream(**headers)
            self.event(message)
            self.close_stream()
        else:
            self.plain(200, "application/json", json.dumps(message), **headers)

    def error(self, status, code, words, identifier=None):
        message = {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": words}}
        self.plain(status, "application/json", json.dumps(message))

    # Requests

    def record(self, rpc=None):
        if OPTIONS.requests:
            headers = {name.lower(): value for name, value in self.headers.items()}
            line = {"method": self.command, "path": self.path, "headers": headers, "rpc": rpc}
            with LOCK, open(OPTIONS.requests, "a") as file:
                file.write(json.dumps(line) + "\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if OPTIONS.proxy:
            return self.forward(body)
        message = json.loads(body)
        method, identifier = message.get("method"), message.get("id")
        self.record(method)
        if COUNTS["deaf"]:
            self.close_connection = True
        if OPTIONS.redirect and self.path == "/from":
            return self.plain(307, None, "", Location=OPTIONS.redirect)
        if OPTIONS.page:
            return self.plain(200, "text/html", "<html>Welcome</html>")
        if OPTIONS.token and self.headers.get("Authorization") != "Bearer " + OPTIONS.token:
            challenge = 'Bearer realm="the \tvault", resource_metadata="https://example.org/.well-known/x"'
            return self.plain(401, "text/plain", "no", WWW_Authenticate=challenge)
        for status in OPTIONS.status:
            rpc, code = status.split("=")
            if rpc == method:
                return self.plain(int(code), "text/plain", "out of order")
        params = message.get("params") or {}
        modern = REVISION in params.get("_meta", {})
        session = self.headers.get("Mcp-Session-Id")
        if not modern and not OPTIONS.stateless and method != "initialize" and session not in SESSIONS:
            words = "no valid session" if session else "session id required"
            return self.error(OPTIONS.forgetful if session else 400, -32000, words)
        if identifier is None or method is None:
            return self.plain(202, None, "")
        self.answer(method, params, identifier, modern)

    def answer(self, method, params, identifier, modern):
        info = {"name": "fake", "version": "1.2.3"}
        capabilities = {"tools": {"listChanged": True}}
        if OPTIONS.offers:
            capabilities |= {"resources": {}, "prompts": {}}
        if method == "initialize" and not OPTIONS.modern:
            headers = {}
            if not OPTIONS.stateless:
                with LOCK:
                    COUNTS["sessions"] += 1
                    session = f"session-{COUNTS['sessions']}"
                    SESSIONS.add(session)
                headers["Mcp_Session_Id"] = session
            result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
            self.result(identifier, result, **headers)
        elif method == "server/discover" and not OPTIONS.legacy:
            meta = {"io.modelcontextprotocol/serverInfo": info}
            result = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": capabilities}
            self.result(identifier, {**result, "ttlMs": 0, "cacheScope": "private", "_meta": meta})
        elif method == "subscriptions/listen" and modern:
            self.open_stream()
            meta = {"io.modelcontextprotocol/subscriptionId": identifier}
            wanted = {"notifications": params.get("notifications", {}), "_meta": meta}
            self.event({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": wanted})
            self.listen({"_meta": meta})
        elif method == "tools/list":
            result = {"tools": tools()}
            if modern:
                result.update(resultType="complete", ttlMs=0, cacheScope="private")
            self.result(identifier, result)
        elif method == "tools/call":
            self.call(params, identifier)
        elif OPTIONS.offers and method in ("resources/list", "resources/templates/list", "prompts/list"):
            key = "resourceTemplates" if "templates" in method else method.split("/")[0]
            self.result(identifier, {key: {"resources": [{"uri": "x:1"}], "prompts": [{"name": "p"}]}.get(key, [])})
        elif OPTIONS.offers and method == "resources/read":
            if params["uri"] == "x:gone":
                return self.error(200, -32002, "no such thing", identifier)
            self.result(identifier, {"contents": [{"uri": params["uri"], "text": params["uri"]}]})
        elif OPTIONS.offers and method == "prompts/get":
            text = f"{params['name']}: {json.dumps(params.get('arguments'))}"
            self.result(identifier, {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
        else:
            self.error(404 if modern else 200, -32601, f"unknown method {method}", identifier)

    def call(self, params, identifier):
        with LOCK:
            COUNTS["calls"] += 1
            COUNTS["running"] += 1
            COUNTS["peak"] = max(COUNTS["peak"], COUNTS["running"])
        try:
            self.run(params, identifier)
        finally:
            with LOCK:
                COUNTS["running"] -= 1

    def run(self, params, identifier):
        name, arguments = params["name"], params.get("arguments") or {}
        words = ""
        if name == "echo":
            words = arguments["text"]
        elif name == "header":
            words = self.headers.get(arguments["name"], "none")
        elif name == "good":
            words = self.headers.get("Mcp-Param-Region", "none")
        elif name == "calls":
            words = str(COUNTS["calls"])
        elif name == "peak":
            words = str(COUNTS["peak"])
        elif name == "big":
            words = "x" * arguments["bytes"]
        elif name == "sleep":
            time.sleep(arguments["seconds"])
        elif name == "deafen":
            COUNTS["deaf"] = True
            self.server.shutdown()
            self.server.server_close()
            while not os.path.exists(arguments["until"]):
                time.sleep(0.05)
        elif name == "forget":
            SESSIONS.clear()
        elif name == "change":
            COUNTS["added"] += 1
            for listener in LISTENERS:
                listener.put("notifications/tools/list_changed")
        elif name == "cut":
            self.close_connection = True
            return
        elif name in ("drop", "gone"):
            self.open_stream()
            if name == "drop":
                PENDING[f"drop-{identifier}"] = identifier
                self.chunk(f"id: drop-{identifier}\nretry: 50\ndata:\n\n")
            return self.close_stream()
        content = {"content": [{"type": "text", "text": words}]}
        self.result(identifier, content)

    def do_GET(self):
        if OPTIONS.proxy:
            return self.forward(b"")
        self.record()
        last = self.headers.get("Last-Event-ID")
        if last in PENDING:
            self.open_stream()
            content = {"content": [{"type": "text", "text": "resumed"}]}
            self.event({"jsonrpc": "2.0", "id": PENDING.pop(last), "result": content}, "drop-end")
            return self.close_stream()
        if OPTIONS.deaf:
            return self.plain(405, None, "")
        if not OPTIONS.stateless and self.headers.get("Mcp-Session-Id") not in SESSIONS:
            return self.plain(OPTIONS.forgetful, None, "")
        self.open_stream()
        self.listen({})

    def listen(self, params):
        listener = queue.Queue()
        LISTENERS.append(listener)
        try:
            while True:
                try:
                    method = listener.get(timeout=0.2)
                except queue.Empty:
                    self.chunk(": still here\n\n")
                else:
                    self.event({"jsonrpc": "2.0", "method": method, "params": params})
        except OSError:
            self.close_connection = True
        finally:
            LISTENERS.remove(listener)

    def do_DELETE(self):
        if OPTIONS.proxy:
            return self.forward(b"")
        self.record()
        SESSIONS.discard(self.headers.get("Mcp-Session-Id"))
        self.plain(200, None, "")

    # The proxy

    def forward(self, body):
        self.record()
        host, _, path = self.path.partition("://")[2].partition("/")
        upstream = http.client.HTTPConnection(host)
        headers = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        upstream.request(self.command, "/" + path, body, headers)
        reply = upstream.getresponse()
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while chunk := reply.read1(65536):
            self.wfile.write(chunk)
            self.wfile.flush()

    def do_CONNECT(self):
        self.record()
        host, _, port = self.path.partition(":")
        upstream = socket.create_connection((host, int(port)))
        self.send_response(200)
        self.end_headers()
        ends = {self.connection: upstream, upstream: self.connection}
        while True:
            for end in select.select(list(ends), [], [])[0]:
                data = end.recv(65536)
                if not data:
                    self.close_connection = True
                    upstream.close()
                    return
                ends[end].sendall(data)


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *_):
        pass  # A client that went away is no news.


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if OPTIONS.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(OPTIONS.certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(OPTIONS.port_file + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(OPTIONS.port_file + ".new", OPTIONS.port_file)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
