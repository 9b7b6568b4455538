# Completion of shelf in bash: source <(shelf completions bash)

_shelf() {
    # Readline has cut words at = and : where COMP_WORDBREAKS says so; shelf gets them whole.
    local words=() glue= at word
    for ((at = 1; at <= COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if ((${#words[@]})) && [[ -n $glue || $word == [=:]* ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        glue=
        if [[ $word == *[=:] ]]; then glue=1; fi
    done
    local typed=${words[-1]} cut=
    if [[ $COMP_WORDBREAKS == *[=:]* ]]; then
        cut=${typed%"${typed##*[=:]}"}
    fi
    # An opening quote is no part of the word.
    words[-1]=${typed#[\"\']}
    mapfile -t COMPREPLY < <(shelf __complete bash -- "${words[@]}" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]#"$cut"}")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/.] ]]; then
        compopt -o nospace
    fi
}

# Where shelf has nothing to offer, files are.
complete -o bashdefault -o default -F _shelf shelf
