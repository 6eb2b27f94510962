# SPDX-License-Identifier: MIT
# Completion for memtrack in fish.  It knows no command, option or value by itself: the hidden --list-commands,
# --list-options and --list-values say what there is (cmd/complete.h), a line each, with fields separated by tabs.

function __memtrack_ask
    set -l tokens (commandline -opc)
    set -l tool (string replace -r '^~' $HOME -- $tokens[1])
    command $tool $argv 2>/dev/null
end

# Name and description of lists whose second field says what it takes.
function __memtrack_described
    __memtrack_ask $argv | string replace -r '\t[^\t]*\t' '\t'
end

# What the operands of the command on the line are; TARGET for memtrack PROGRAM and memtrack -- PROGRAM.
function __memtrack_operand
    set -l tokens (commandline -opc)
    for line in (__memtrack_ask --list-commands)
        set -l field (string split \t -- $line)
        if test $field[1] = $tokens[2]
            echo "$field[2]"
            return
        end
    end
    echo TARGET
end

# The options of the command that want the next word as their value.
function __memtrack_valued
    for line in (__memtrack_ask $argv[1] --list-options)
        set -l field (string split \t -- $line)
        if test -n "$field[2]"; and not string match -q '[*' -- $field[2]
            echo $field[1]
        end
    end
end

# The number of the token where the target's own command line begins; fails when it is not reached.
function __memtrack_target
    set -l tokens (commandline -opc)
    switch (__memtrack_operand)
        case TARGET
            test $tokens[2] = --; and echo 3; or echo 2
            return
        case PROGRAM
        case '*'
            return 1
    end
    set -l valued (__memtrack_valued $tokens[2])
    set -l i 3
    while test $i -le (count $tokens)
        if test $tokens[$i] = --
            echo (math $i + 1)
            return
        else if contains -- $tokens[$i] $valued
            set i (math $i + 1)
        else if not string match -q -- '-*' $tokens[$i]
            echo $i
            return
        end
        set i (math $i + 1)
    end
    return 1
end

# What another program takes whose command line begins at a token.
function __memtrack_complete_target
    set -l tokens (commandline -opc)
    if test $argv[1] -gt (count $tokens)
        __fish_complete_command
    else
        set -l line (string join ' ' -- (string escape -- $tokens[$argv[1]..]) (commandline -ct))
        complete "-C$line"
    end
end

# The word is one that may be quoted and have blanks: fish lists files for it as it does for a program that it does not know.
function __memtrack_paths
    complete "-C__memtrack_no_such_program $argv[1]"
end

function __memtrack_files
    switch $argv[1]
        case DIR
            __memtrack_paths $argv[2] | string match '*/'
        case 'FILE.*' # and folders, in which there may be some
            set -l paths (__memtrack_paths $argv[2])
            string match -- (string replace FILE '*' $argv[1]) $paths
            string match -- '*/' $paths
        case FILE
            __memtrack_paths $argv[2]
        case PROGRAM
            __fish_complete_command
    end
end

# __memtrack_values COMMAND OPTION PREFIX TEXT: what can stand behind PREFIX, in place of TEXT.  OPTION '': an operand.
function __memtrack_values
    for line in (__memtrack_ask $argv[1] --list-values "$argv[2]" "$argv[4]")
        if string match -q -- \t'*' $line
            string replace -r '^' -- "$argv[3]" (__memtrack_files (string trim -- $line) "$argv[4]")
        else
            printf '%s%s\n' "$argv[3]" $line
        end
    end
end

function __memtrack_complete
    set -l tokens (commandline -opc)
    set -l current (commandline -ct)
    if test (count $tokens) -eq 1
        if string match -q -- '-*' $current
            printf '%s\n' --help --version
        else
            set -l commands (__memtrack_described --list-commands)
            printf '%s\n' $commands
            string match -q -- "$current*" $commands; or __fish_complete_command
        end
        return
    end
    set -l target (__memtrack_target)
    if test -n "$target"
        __memtrack_complete_target $target
    else if contains -- $tokens[-1] (__memtrack_valued $tokens[2])
        __memtrack_values $tokens[2] $tokens[-1] '' "$current"
    else if string match -q -- '--*=*' $current
        set -l option (string replace -r '=.*' '' -- $current)
        __memtrack_values $tokens[2] $option "$option=" (string replace -- "$option=" '' $current)
    else if contains -- (string sub -l 2 -- $current) (__memtrack_valued $tokens[2])
        set -l option (string sub -l 2 -- $current)
        __memtrack_values $tokens[2] $option $option (string sub -s 3 -- $current)
    else if string match -q -- '-*' $current
        __memtrack_described $tokens[2] --list-options
    else
        __memtrack_values $tokens[2] '' '' "$current"
    end
end

complete -c memtrack -f -a '(__memtrack_complete)'
