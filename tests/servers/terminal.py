#!/usr/bin/env python3
"""Runs a command on a terminal of its own, and types. Python 3, standard library only.

    terminal.py BEFORE PROMPT ANSWER COMMAND…

BEFORE is typed at once, ANSWER when the command has printed PROMPT; `hang-up` closes the terminal instead. What the command printed
goes to standard output, and its exit status is ours; 128 and the number of the signal when one ended it. The variable
BEFORE_ANSWER is a shell command that is run when PROMPT stands there, before ANSWER is typed.
"""

import os
import pty
import signal
import subprocess
import sys


def main():
    before, prompt, answer, *command = sys.argv[1:]
    signal.alarm(30)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    os.write(terminal, before.encode())
    printed = b""
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            chunk = b""
        if not chunk:
            break
        printed += chunk
        if answer is not None and prompt.encode() in printed:
            subprocess.run(os.environ.get("BEFORE_ANSWER", ""), shell=True, check=True)
            if answer == "hang-up":
                os.close(terminal)
                break
            os.write(terminal, answer.encode())
            answer = None
    sys.stdout.buffer.write(printed)
    sys.stdout.flush()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
