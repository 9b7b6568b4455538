#!/usr/bin/env python3
"""The client that the conformance suite tests: `shelf`, used as a user would. Python 3, standard library only.

The suite appends the URL of its server, and says in MCP_CONFORMANCE_SCENARIO what it wants to see. SHELF is the program. All that
is written lies in a directory of its own, and the daemon that a call starts is ended again.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SERVER = "conformance"


class Shelf:
    def __init__(self, root, url):
        self.root = Path(root)
        self.config = self.root / "mcp.json"
        self.config.write_text(json.dumps({"mcpServers": {SERVER: {"type": "http", "url": url}}}))
        self.tree = self.root / "tree"
        places = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state"}
        places["XDG_RUNTIME_DIR"] = "runtime"
        self.environment = {**os.environ, **{name: str(self.root / place) for name, place in places.items()}}
        for place in places.values():
            (self.root / place).mkdir(mode=0o700)

    def run(self, *arguments):
        command = [os.environ["SHELF"], *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        print(f"$ shelf {' '.join(arguments)}\n{done.stdout}{done.stderr}exit {done.returncode}", flush=True)
        return done

    def must(self, *arguments):
        done = self.run(*arguments)
        if done.returncode:
            sys.exit(f"shelf {arguments[0]} ended with {done.returncode}")
        return done.stdout

    def list(self):
        """Has the server list its tools, and writes them as files."""
        self.must("mirror", "--once", "--config", str(self.config), str(self.tree))

    def tools(self):
        """The tools that were listed, as the server sent them."""
        files = sorted((self.tree / ".schemas" / SERVER).glob("*.json"))
        return {tool["name"]: tool for tool in (json.loads(file.read_text()) for file in files)}

    def call(self, tool, arguments, *options):
        given = json.dumps(arguments)
        return self.must("call", "--config", str(self.config), *options, "--args", given, f"{SERVER}/{tool}")


def initialize(shelf):
    shelf.list()


def tools_call(shelf):
    shelf.call("add_numbers", {"a": 5, "b": 3})


def sse_retry(shelf):
    shelf.call("test_reconnection", {})


def elicitation_defaults(shelf):
    shelf.call("test_client_elicitation_defaults", {}, "--accept")


def request_state(shelf):
    for tool in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
        options = ["--answer", "confirmed=true"] if tool in ("test_mrtr_echo_state", "test_mrtr_no_state") else []
        shelf.call(tool, {}, *options)


def standard_headers(shelf):
    shelf.call("test_headers", {})
    shelf.call("my-hyphenated-tool", {})


def custom_headers(shelf):
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        # A null that the schema does not allow is refused before anything is sent, so it is left out, as the check allows.
        arguments = {name: value for name, value in call["arguments"].items() if value is not None}
        shelf.call(call["name"], arguments)


def invalid_tool_headers(shelf):
    shelf.list()
    for name in shelf.tools():
        shelf.call(name, {"region": "eu"})


def no_dereference(shelf):
    shelf.list()
    shelf.must("show", "--config", str(shelf.config), f"{SERVER}/lookup_user")
    # The arguments are checked against the schema, or not where it can't be used; either way nothing may be fetched.
    shelf.run("call", "--config", str(shelf.config), f"{SERVER}/lookup_user", "--id", "ada", "--profile", "{}")


def preservation(shelf):
    shelf.list()
    schema = shelf.tools()["json_schema_2020_12_tool"]["inputSchema"]
    shelf.call("json_schema_echo", {"schema": schema})


SCENARIOS = {
    "initialize": initialize,
    "tools_call": tools_call,
    "sse-retry": sse_retry,
    "elicitation-sep1034-client-defaults": elicitation_defaults,
    "sep-2322-client-request-state": request_state,
    "request-metadata": initialize,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": invalid_tool_headers,
    "json-schema-ref-no-deref": no_dereference,
    "json-schema-2020-12-preservation": preservation,
}


def main():
    scenario = SCENARIOS[os.environ["MCP_CONFORMANCE_SCENARIO"]]
    with tempfile.TemporaryDirectory() as root:
        shelf = Shelf(root, sys.argv[-1])
        try:
            scenario(shelf)
        finally:
            shelf.run("unmount", "--config", str(shelf.config))


main()
