#!/usr/bin/env python3
"""A small MCP server over stdio that misbehaves on demand. Python 3, standard library only.

Without options it speaks both eras (up to 2025-11-25 `initialize`, from 2026-07-28 `server/discover`) and behaves.

  --legacy | --modern     speak one era only; the other's handshake is an unknown method
  --starts FILE           append a line to FILE at each start
  --calls FILE            append a line to FILE for each call, the name and the arguments as JSON, and for each cancellation
  --slow-start S          answer nothing for S seconds
  --exit-at-once MESSAGE  print MESSAGE to standard error and exit with status 3
  --empty-result-for-unknown   answer unknown methods with `result: {}`
  --exit-on-unknown       exit when an unknown method is asked for
  --string-ids            send ids back as strings
  --garbage               print plain text and JSON that is not JSON-RPC to standard output, before and between replies
  --never-reply METHOD    leave METHOD unanswered
  --refuse METHOD         answer METHOD with an error that has a code, a message and data
  --die-in-list           exit in the middle of `tools/list`
  --page N                N tools a page; the first cursor is the empty string
  --repeat-cursor         every page has the same cursor
  --malformed             tools without a name or a schema and hints of the wrong type beside the good ones
  --odd-schemas           tools whose schemas only their server can judge: `remote`, `bogus`, `deep`; they answer with their arguments
  --odd-names             tools whose names no shell would take unquoted; they answer with their names
  --unknown-fields        tools with fields that no specification has
  --numbers               1e3, a 30-digit integer, duplicate keys and unsorted keys in a schema
  --shuffle FILE          other key order and other order of tools at each start, counted in FILE
  --merge FILE            the JSON in FILE, read at each listing, has fields to be added to tools, by name
  --instructions FILE     what FILE says, read at each start, are the instructions
  --tools N               N more tools, `extra_0` and so on
  --offers FILE           declare resources and prompts; the JSON in FILE, read at each listing, has `resources`, `templates` and `prompts`;
                          --page and --repeat-cursor hold for all lists but that of the templates
  --no-listen             refuse `subscriptions/listen`
  --unadvertised          do not declare `listChanged`
  --ignore-eof            go on after the end of standard input
  --ignore-term           ignore SIGTERM
  --stderr-flood          fill standard error at the start

With --offers a resource answers with its URI as text; `x:blob` with three bytes, `x:two` with two texts, `x:gone` with error -32002,
`x:invalid` with -32602, `x:broken` with -32603, `x:slow` never. A prompt answers with its arguments as JSON; `two` has two messages. There
are two more tools: change_offers (announces that resources and prompts changed) and link (a link to the resource `uri`).

Tools: echo (text), add (a, b), fail, refuse, crash (text for standard error), sleep (seconds; tells progress, can be
cancelled), cancelled (how many calls were), pid, env (name), change (adds three tools and announces each, `after` so
many seconds), listeners (how many subscriptions there are), big (bytes), odd (content of a kind that nobody knows,
numbers as written), ask (answers `input_required`), die (exits after the reply), deaf (reads no more of its input).
"""

import argparse
import json
import os
import signal
import sys
import threading
import time

MODERN = "2026-07-28"
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
OBJECT = {"type": "object", "properties": {}}
ODD_NAMES = ["a/b", "a.b", "~x", "-x", "with space", "it's \"$(x)\" `y` \\c", "two\nlines", "x" * 250]


def parse_options():
    parser = argparse.ArgumentParser()
    for flag in (
        "legacy modern empty-result-for-unknown exit-on-unknown string-ids garbage die-in-list repeat-cursor malformed "
        "odd-names odd-schemas unknown-fields numbers no-listen unadvertised ignore-eof ignore-term stderr-flood"
    ).split():
        parser.add_argument("--" + flag, action="store_true")
    for option in ("starts", "calls", "exit-at-once", "never-reply", "refuse", "shuffle", "merge", "offers", "instructions", "claims"):
        parser.add_argument("--" + option)
    parser.add_argument("--slow-start", type=float, default=0)
    parser.add_argument("--page", type=int, default=0)
    parser.add_argument("--tools", type=int, default=0)
    return parser.parse_args()


class Raw(str):
    """JSON that goes out as it is written."""


class Refused(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def dumps(value):
    if isinstance(value, Raw):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + dumps(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumps, value)) + "]"
    return json.dumps(value)


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def schema(**properties):
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }


class Server:
    def __init__(self, options):
        self.options = options
        self.writing = threading.Lock()
        self.running = {}
        self.cancelled = 0
        self.added = 0
        self.start = 0
        self.listeners = []
        self.era = None
        if options.shuffle:
            with open(options.shuffle, "a+") as counter:
                counter.write("x")
                self.start = counter.tell()

    # Messages

    def send(self, message):
        line = dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self.writing:
            if self.options.garbage:
                line = "Server listening…\n{\"level\":\"info\"}\n" + line
            sys.stdout.write(line)
            sys.stdout.flush()

    def notify(self, method, **params):
        self.send({"method": method, "params": params})

    def handle(self, message):
        method, identifier = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method is None:
            return
        if identifier is None:
            if method == "notifications/cancelled":
                event = self.running.get(params.get("requestId"))
                if event:
                    self.cancelled += 1
                    self.record("cancelled")
                    event.set()
            return
        if method == self.options.never_reply:
            return
        try:
            if method == self.options.refuse:
                raise Refused(-32042, "not today", {"retry": 1e3})
            result = self.answer(method, params, identifier)
        except Refused as refused:
            result = None
            reply = {"error": refused.error}
        else:
            reply = {"result": result}
        if result is not None or "error" in reply:
            if self.options.string_ids:
                identifier = str(identifier)
            # As the TypeScript SDK does, the result stands before the id.
            self.send({**reply, "id": identifier})

    def record(self, line):
        if self.options.calls:
            with self.writing, open(self.options.calls, "a") as calls:
                calls.write(line + "\n")

    def answer(self, method, params, identifier):
        options = self.options
        capabilities = {"tools": {} if options.unadvertised else {"listChanged": True}}
        if options.offers:
            capabilities |= {"resources": {"listChanged": True}, "prompts": {"listChanged": True}}
        instructions = "Speak softly."
        if options.instructions:
            with open(options.instructions) as file:
                instructions = file.read()
        info = {"name": "fake", "title": "A fake", "version": "1.2.3"}
        if method == "initialize" and not options.modern:
            self.era, asked = "legacy", params.get("protocolVersion")
            return {
                "protocolVersion": options.claims or (asked if asked in LEGACY else LEGACY[-1]),
                "capabilities": capabilities,
                "serverInfo": info,
                "instructions": instructions,
            }
        if method == "server/discover" and not options.legacy:
            return {
                "resultType": "complete",
                "supportedVersions": [MODERN],
                "capabilities": capabilities,
                "instructions": instructions,
                "ttlMs": 3_600_000,
                "cacheScope": "public",
                "_meta": {"io.modelcontextprotocol/serverInfo": info},
            }
        if method == "subscriptions/listen" and not options.legacy and not options.no_listen:
            wanted = params.get("notifications", {})
            self.listeners.append((identifier, wanted))
            meta = {"io.modelcontextprotocol/subscriptionId": identifier}
            self.notify("notifications/subscriptions/acknowledged", notifications=wanted, _meta=meta)
            return None
        if method == "ping":
            return {}
        if method == "tools/list":
            return self.list("tools", self.tools(), params)
        if options.offers and method.split("/")[0] in ("resources", "prompts"):
            return self.offer(method, params)
        if method == "tools/call":
            if params.get("name") == "deaf":
                # Here, because the main thread must not be waiting in a read of it.
                os.close(0)
            threading.Thread(target=self.call, args=(params, identifier), daemon=True).start()
            return None
        if options.exit_on_unknown:
            os._exit(9)
        if options.empty_result_for_unknown:
            return {}
        raise Refused(-32601, f"unknown method {method}")

    # Resources and prompts

    def offer(self, method, params):
        if method.endswith("/list"):
            with open(self.options.offers) as file:
                offers = json.load(file)
            if method == "resources/templates/list":
                return {"resourceTemplates": offers.get("templates", [])}
            key = method.split("/")[0]
            return self.list(key, offers.get(key, []), params)
        if method == "resources/read":
            return self.read(params["uri"])
        name, arguments = params["name"], params.get("arguments")
        self.record(json.dumps([method, name, arguments]))
        said = {"type": "text", "text": f"{name}: {json.dumps(arguments)}"}
        image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
        messages = [{"role": "user", "content": said}, {"role": "assistant", "content": image}]
        return {"messages": messages if name == "two" else messages[:1]}

    def read(self, uri):
        self.record(json.dumps(["resources/read", uri]))
        codes = {"x:gone": -32002, "x:invalid": -32602, "x:broken": -32603}
        if uri in codes:
            raise Refused(codes[uri], "no such thing", {"uri": uri})
        if uri == "x:slow":
            return None
        if uri == "x:blob":
            return {"contents": [{"uri": uri, "blob": "AAH/"}]}
        if uri == "x:two":
            return {"contents": [{"uri": uri, "text": "one"}, {"uri": uri, "text": "two\x1b[2J\n"}]}
        return {"contents": [{"uri": uri, "text": uri, "x-odd": Raw("1e3")}]}

    # Tools

    def tools(self):
        options = self.options
        tools = [
            {"name": "echo", "description": "Says it again.", "inputSchema": schema(text="string")},
            {"name": "add", "description": "Adds.", "inputSchema": schema(a="number", b="number")},
            {"name": "sleep", "inputSchema": schema(seconds="number")},
            {"name": "env", "inputSchema": schema(name="string")},
            {"name": "big", "inputSchema": schema(bytes="integer")},
            {"name": "crash", "inputSchema": schema(text="string")},
        ]
        for name in "fail refuse cancelled pid change listeners odd ask die deaf".split():
            tools.append({"name": name, "inputSchema": OBJECT})
        if options.offers:
            tools += [{"name": name, "inputSchema": OBJECT} for name in ("change_offers", "link")]
        for number in range(options.tools):
            tools.append({"name": f"extra_{number}", "inputSchema": OBJECT})
        for number in range(self.added):
            tools.append({"name": f"added_{number}", "inputSchema": OBJECT})
        if options.malformed:
            tools[1:1] = [
                {"name": "no_schema"},
                {"inputSchema": OBJECT},
                {"name": 7, "inputSchema": OBJECT},
                "not even an object",
                {"name": "echo", "description": "A second one.", "inputSchema": OBJECT},
                {
                    "name": "odd_hints",
                    "inputSchema": OBJECT,
                    "annotations": {"readOnlyHint": "yes", "title": 3},
                },
            ]
        if options.odd_names:
            tools += [{"name": name, "inputSchema": OBJECT} for name in ODD_NAMES]
        if options.odd_schemas:
            deep = '{"not":' * 500 + "true" + "}" * 500
            for name, odd in ("remote", {"$ref": "http://127.0.0.1:9/x"}), ("bogus", {"type": "bogus"}), ("deep", Raw(deep)):
                properties = {"text": {"type": "string"}, "odd": odd}
                tools.append({"name": name, "inputSchema": {"type": "object", "properties": properties}})
        if options.unknown_fields:
            tools[0]["x-vendor"] = {"z": 1, "a": [None]}
            tools[0]["annotations"] = {"readOnlyHint": True, "x-cost": "low"}
            tools[0]["execution"] = {"taskSupport": "optional", "x": 1}
        if options.numbers:
            tools[0]["inputSchema"] = Raw(
                '{"type":"object","properties":{"z":{"default":1e3},"a":{"const":123456789012345678901234567890,'
                '"default":0.1000,"default":0.2}},"a_last":1}'
            )
        if options.merge:
            with open(options.merge) as file:
                fields = json.load(file)
            for tool in tools:
                tool.update(fields.get(tool["name"], {}))
        if options.shuffle and self.start % 2:
            tools = [dict(reversed(tool.items())) for tool in reversed(tools)]
        return tools

    def list(self, key, items, params):
        options = self.options
        modern = {"resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "public"}
        if options.die_in_list:
            sys.stderr.write("died while it listed\n")
            sys.stderr.flush()
            os._exit(4)
        if options.repeat_cursor:
            return {key: [] if "cursor" in params else items, "nextCursor": "again", **modern}
        if not options.page:
            return {key: items, **modern}
        # The cursors are "", " ", "  " and so on.
        at = (len(params["cursor"]) + 1) * options.page if "cursor" in params else 0
        page = {key: items[at : at + options.page], **modern}
        if at + options.page < len(items):
            page["nextCursor"] = " " * (at // options.page)
        return page

    def call(self, params, identifier):
        stopped = self.running[identifier] = threading.Event()
        arguments = params.get("arguments") or {}
        self.record(json.dumps([params.get("name"), arguments]))
        token = (params.get("_meta") or {}).get("progressToken")
        try:
            reply = {"result": self.run(params.get("name"), arguments, stopped, token)}
        except Refused as refused:
            reply = {"error": refused.error}
        self.running.pop(identifier, None)
        if not stopped.is_set():
            self.send({**reply, "id": identifier})
        if params.get("name") == "die":
            os._exit(0)

    def run(self, name, arguments, stopped, token):
        if name == "echo":
            return text(arguments.get("text", ""))
        if name == "add":
            total = arguments["a"] + arguments["b"]
            return text(str(total), structuredContent={"sum": total})
        if name == "fail":
            return text("it did not work", isError=True)
        if name == "refuse":
            raise Refused(-32602, "I will not", {"why": "mood"})
        if name == "crash":
            sys.stderr.write(arguments.get("text", "") + "\n")
            sys.stderr.flush()
            os._exit(5)
        if name == "sleep":
            for step in range(3):
                self.notify("notifications/progress", progressToken=token, progress=step, total=3, message=f"step {step}")
            stopped.wait(arguments["seconds"])
            return text("slept")
        if name == "cancelled":
            return text(str(self.cancelled))
        if name == "pid":
            return text(str(os.getpid()))
        if name == "env":
            return text(os.environ.get(arguments["name"], "(unset)"))
        if name == "change":
            threading.Timer(arguments.get("after", 0), self.change).start()
            return text("changed")
        if name == "change_offers":
            for kind in "resources", "prompts":
                self.announce(kind)
            return text("announced")
        if name == "link":
            link = {"type": "resource_link", "uri": arguments["uri"], "name": "linked"}
            return {"content": [{"type": "text", "text": "see"}, link, link]}
        if name in ("remote", "bogus", "deep"):
            return text(json.dumps(arguments))
        if name in ODD_NAMES:
            return text(name)
        if name == "listeners":
            return text(str(len(self.listeners)))
        if name == "big":
            return text("x" * arguments["bytes"])
        if name == "odd":
            return {
                "content": [{"type": "hologram", "depth": Raw("1e3")}],
                "structuredContent": Raw('{"n":123456789012345678901234567890,"b":1,"a":0.10}'),
            }
        if name == "ask":
            return {"resultType": "input_required", "inputRequests": {}}
        if name == "deaf":
            return text("what?")
        if name == "die":
            return text("bye")
        return text(f"no tool {name}", isError=True)


    def change(self):
        for _ in range(3):
            self.added += 1
            self.announce("tools")
            # Apart, so that they can't be taken for one.
            time.sleep(0.05)

    def announce(self, kind):
        method = f"notifications/{kind}/list_changed"
        for listener, wanted in self.listeners:
            if wanted.get(f"{kind}ListChanged"):
                self.notify(method, _meta={"io.modelcontextprotocol/subscriptionId": listener})
        if self.era == "legacy":
            self.notify(method)


def main():
    options = parse_options()
    if options.starts:
        with open(options.starts, "a") as starts:
            starts.write(f"{os.getpid()}\n")
    if options.exit_at_once is not None:
        sys.stderr.write(options.exit_at_once + "\n")
        sys.exit(3)
    if options.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.stderr_flood:
        sys.stderr.write("filling a pipe\n" * 20_000)
        sys.stderr.flush()
    time.sleep(options.slow_start)
    server = Server(options)
    try:
        for line in sys.stdin:
            if line.strip():
                server.handle(json.loads(line))
    except OSError:
        # `deaf` closed standard input.
        time.sleep(3600)
    while options.ignore_eof:
        time.sleep(60)


if __name__ == "__main__":
    main()
