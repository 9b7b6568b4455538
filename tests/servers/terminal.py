#!/usr/bin/env python3
"""Runs a command on a terminal of its own, and types. Python 3, standard library only.

    terminal.py BEFORE PROMPT ANSWER COMMAND…

BEFORE is typed at once, ANSWER when the command has printed PROMPT; `hang-up` closes the terminal instead. PROMPT and ANSWER may be several,
kept apart by a line `---`: each answer is typed when its prompt, or the only one, was printed once more. What the command printed goes to
standard output, and its exit status is ours; 128 and the number of the signal when one ended it. The variable
BEFORE_ANSWER is a shell command that is run when a prompt stands there, before its answer is typed.
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
    answers = answer.split("\n---\n")
    prompts = prompt.split("\n---\n")
    prompts += prompts[-1:] * (len(answers) - len(prompts))
    seen = 0
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            chunk = b""
        if not chunk:
            break
        printed += chunk
        while answers and (at := printed.find(prompts[0].encode(), seen)) >= 0:
            seen = at + len(prompts.pop(0).encode())
            answer = answers.pop(0)
            subprocess.run(os.environ.get("BEFORE_ANSWER", ""), shell=True, check=True)
            if answer == "hang-up":
                os.close(terminal)
                terminal = None
                break
            os.write(terminal, answer.encode())
        if terminal is None:
            break
    sys.stdout.buffer.write(printed)
    sys.stdout.flush()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
