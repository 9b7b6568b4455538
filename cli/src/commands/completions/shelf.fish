# Completion of shelf in fish: shelf completions fish > ~/.config/fish/completions/shelf.fish

function __shelf_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l typed (commandline -ct)
    set -l found (shelf __complete fish -- $words "$typed" 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path "$typed"
    end
end

complete -c shelf -f -k -a '(__shelf_complete)'
