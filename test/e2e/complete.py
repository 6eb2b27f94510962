#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types into a real shell and presses TAB.

usage: complete.py bash|zsh|fish PREFIX CASES

The shell is started as for somebody who logs in, without any configuration but that of an installation
in PREFIX; memtrack is PREFIX/bin/memtrack.  A case is a line:

    TYPED|LINE           after TAB, the line is LINE
    TYPED ?|WORD WORD    these can stand in place of the last word (in any order, no others)
    TYPED ?|WORD ...     these at least
    TYPED ?|-            nothing can
    : COMMAND            the shell runs it, and no more than that

Words are separated and quoted as in a shell; a slash at the end does not matter.

Prints what differs; status 1 when something does.
"""

import os
import pty
import select
import shlex
import signal
import sys
import tempfile
import termios
import time

PATIENCE = 60  # seconds: a limit against hangs on a busy machine, not a time that is waited

BASH = r"""
PS1='> '
. /usr/share/bash-completion/bash_completion
bind 'set bell-style none'
bind 'set completion-query-items 0'
bind 'set show-all-if-ambiguous off'
bind -x '"\C-x\C-p": printf "%s\0" "$READLINE_LINE" >&7; READLINE_LINE= READLINE_POINT=0'
bind '"\C-x\C-a": insert-completions'
PROMPT_COMMAND='printf "ready\0" >&7; PROMPT_COMMAND='
"""

ZSH = r"""
PS1='> '
unsetopt beep list_beep auto_list auto_menu
fpath=($PREFIX/share/zsh/site-functions $fpath)
autoload -Uz compinit
compinit -D -u
tell() { printf '%s\0' "$BUFFER" >&7; BUFFER= }
zle -N tell
bindkey '^X^P' tell
zle -C all complete-word _generic
bindkey '^X^A' all
zstyle ':completion:all::::' completer _all_matches _complete
zstyle ':completion:all:*' insert yes
ready() { printf 'ready\0' >&7; zle -D zle-line-init }
zle -N zle-line-init ready
"""

FISH = r"""
function fish_prompt
    if not set -q ready
        set -g ready yes
        printf 'ready\0' >&7
    end
    echo '> '
end
set -g fish_greeting
function tell
    printf '%s\0' (commandline) >&7
    commandline ''
end
function all
    set -l found (complete -C(commandline) | string replace -r '\t.*' '')
    commandline -r (string join ' ' -- (string replace -r ' \S*$' '' (commandline)) (string escape -- $found))
end
bind \cx\cp tell
bind \cx\ca all
"""


class Shell:
    """A shell on a terminal of its own; it answers on descriptor 7."""

    def __init__(self, command, environment):
        self.answers, answer = os.pipe()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.dup2(answer, 7)
            os.set_inheritable(7, True)
            # Keys that are typed before the shell listens wait for it, unchanged.
            attributes = termios.tcgetattr(0)
            attributes[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
            attributes[0] &= ~(termios.IXON | termios.ICRNL)
            termios.tcsetattr(0, termios.TCSANOW, attributes)
            os.execvpe(command[0], command, environment)
        os.close(answer)
        self.buffer = b""
        self.shown = b""
        self.answer()

    def answer(self):
        """The next thing that the shell says; what it shows meanwhile is kept for complaints."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            ready = select.select([self.answers, self.terminal], [], [], end - time.monotonic())[0]
            if not ready:
                raise TimeoutError(f"no answer; the terminal shows {self.shown[-2000:]!r}")
            for descriptor in ready:
                data = os.read(descriptor, 65536)
                if not data:
                    raise EOFError(f"it ended; the terminal shows {self.shown[-2000:]!r}")
                if descriptor == self.answers:
                    self.buffer += data
                else:
                    self.shown += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return text.decode()

    def keys(self, keys):
        os.write(self.terminal, keys.encode())

    def line(self, typed):
        self.keys(typed + "\t\x18\x10")
        return self.answer()

    def candidates(self, typed):
        self.keys(typed + "\x18\x01\x18\x10")
        kept = typed[: typed.rindex(" ") + 1]
        line = self.answer()
        if line == typed:
            return []
        return shlex.split(line[len(kept) :])

    def run(self, command):
        self.keys(command + "\r")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def start(name, prefix, home):
    environment = {
        "HOME": home,
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "PREFIX": prefix,
        "PATH": f"{prefix}/bin:{os.environ['PATH']}",
        "XDG_DATA_DIRS": f"{prefix}/share:/usr/local/share:/usr/share",
        "XDG_CONFIG_HOME": f"{home}/config",
        "XDG_DATA_HOME": f"{home}/data",
        "ZDOTDIR": home,
    }
    rc, script, command = {
        "bash": ("rc", BASH, ["bash", "--noprofile", "--rcfile", f"{home}/rc", "-i"]),
        "zsh": (".zshrc", ZSH, ["zsh", "-d", "-i"]),
        "fish": ("rc", FISH, ["fish", "--private", "-i", "-C", f"source {home}/rc"]),
    }[name]
    with open(f"{home}/{rc}", "w", encoding="ascii") as out:
        out.write(script)
    return Shell(command, environment)


def bare(word, typed):
    """Some shells offer whole words, some what stands behind '='; some, folders with '/' and options with '='."""
    last = typed[typed.rindex(" ") + 1 :]
    option = last[: last.find("=") + 1]
    return word.removeprefix(option).rstrip("/" if option or not word.startswith("-") else "=")


def compare(shell, case):
    """A complaint, or None."""
    if case.startswith(": "):
        shell.run(case[2:])
        return None
    typed, wanted = case.split("|", 1)
    if not typed.endswith(" ?"):
        line = shell.line(typed)
        return None if line == wanted else f"{typed!r}: expected {wanted!r}, got {line!r}"
    typed = typed[:-2]
    got = {bare(word, typed) for word in shell.candidates(typed)}
    wanted = set(shlex.split(wanted)) - {"-"}
    enough = wanted - {"..."}
    if got == wanted or ("..." in wanted and enough <= got):
        return None
    return f"{typed!r} ?: missing {sorted(enough - got)}, too many {sorted(got - enough)}"


def main():
    name, prefix, file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        shell = start(name, os.path.abspath(prefix), home)
        with open(file, encoding="utf-8") as lines:
            cases = [line.rstrip("\n") for line in lines if line.strip()]
        complaints = [c for c in (compare(shell, case) for case in cases) if c]
        shell.close()
    for complaint in complaints:
        print(f"{name}: {complaint}")
    sys.exit(bool(complaints))


main()
