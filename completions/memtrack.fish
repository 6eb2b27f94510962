# SPDX-License-Identifier: MIT
# Completion for memtrack in fish.  It knows no option by itself: the hidden --list-commands and
# --list-options say what there is, a line each: name, tab, what it takes, tab, help.

function __memtrack_list
    set -l tokens (commandline -opc)
    set -l tool (string replace -r '^~' $HOME -- $tokens[1])
    command $tool $argv 2>/dev/null
end

# What the operands of the command on the line are; fails when there is no command yet.
function __memtrack_operand
    set -l tokens (commandline -opc)
    test (count $tokens) -ge 2; or return
    for line in (__memtrack_list --list-commands)
        set -l field (string split \t -- $line)
        if test $field[1] = $tokens[2]
            echo "$field[2]"
            return
        end
    end
    echo TARGET # memtrack PROGRAM ...
end

# The number of the token where the target's own command line begins; fails when it is not reached.
function __memtrack_target
    set -l tokens (commandline -opc)
    set -l operand (__memtrack_operand); or return
    if test "$operand" = TARGET
        echo 2
        return
    end
    test "$operand" = PROGRAM; or return
    set -l valued
    for line in (__memtrack_list $tokens[2] --list-options)
        set -l field (string split \t -- $line)
        if test -n "$field[2]"; and not string match -q '[*' -- $field[2]
            set -a valued $field[1]
        end
    end
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

function __memtrack_files
    switch $argv[1]
        case DIR
            __fish_complete_directories $argv[2] ''
        case 'FILE.*'
            set -l ending (string replace FILE '' $argv[1])
            __fish_complete_suffix $argv[2] $ending
        case FILE
            __fish_complete_path $argv[2]
    end
end

# __memtrack_value KIND CURRENT: the value of an option, or an operand.
function __memtrack_value
    set -l kind (string trim -c '[]' -- $argv[1])
    if string match -q '*|FILE' -- $kind
        string split '|' -- (string replace '|FILE' '' -- $kind)
        __fish_complete_path "$argv[2]"
    else if string match -q '*|*' -- $kind
        string split '|' -- $kind
    else if test "$kind" = COMMAND
        __memtrack_list --list-commands | string replace -r '\t[^\t]*\t' '\t'
    else
        __memtrack_files "$kind" "$argv[2]"
    end
end

function __memtrack_complete
    set -l tokens (commandline -opc)
    set -l current (commandline -ct)
    if test (count $tokens) -eq 1
        __memtrack_list --list-commands | string replace -r '\t[^\t]*\t' '\t'
        printf '%s\n' --help --version
        test -n "$current"; and __fish_complete_command
        return
    end
    set -l target (__memtrack_target)
    if test -n "$target"
        if test $target -gt (count $tokens)
            __fish_complete_command
        else
            complete -C "$(string join ' ' -- (string escape -- $tokens[$target..]) $current)"
        end
        return
    end
    set -l previous $tokens[-1]
    for line in (__memtrack_list $tokens[2] --list-options)
        set -l field (string split \t -- $line)
        if test -n "$field[2]"
            if test "$previous" = $field[1]; and not string match -q '[*' -- $field[2]
                __memtrack_value $field[2] "$current"
                return
            else if string match -q -- "$field[1]=*" $current
                set -l value (string replace -- "$field[1]=" '' $current)
                printf "$field[1]=%s\n" (__memtrack_value $field[2] "$value")
                return
            end
        end
    end
    if string match -q -- '-*' $current
        __memtrack_list $tokens[2] --list-options | string replace -r '\t[^\t]*\t' '\t'
        return
    end
    set -l operand (__memtrack_operand)
    if test "$operand" = PROGRAM
        __fish_complete_command
    else
        __memtrack_value "$operand" "$current"
    end
end

complete -c memtrack -f -a '(__memtrack_complete)'
