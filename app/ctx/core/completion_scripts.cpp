#include "app/ctx/core/completion.h"

namespace cortexfs::ctx {

namespace {

// The scripts know nothing about the commands: they ask `ctx completion query`, which reads the descriptors. So they
// are right for whichever ctx is run.

constexpr std::string_view kBash = R"(# bash completion for ctx. Made by: ctx completion bash
_ctx() {
    local word says quoted current=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS=$'\t' read -r word says; do
        if [[ $word == :dirs ]]; then
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
        fi
        [[ $current != *=* ]] || word=${word#"${current%%=*}="}
        printf -v quoted %q "$word"
        COMPREPLY+=("$quoted")
    done < <("${COMP_WORDS[0]}" completion query -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace
    fi
}
complete -F _ctx ctx
)";

constexpr std::string_view kZsh = R"(#compdef ctx
# zsh completion for ctx. Made by: ctx completion zsh
_ctx() {
    local -a plain folders
    local word says
    while IFS=$'\t' read -r word says; do
        if [[ $word == :dirs ]]; then
            _files -/
            return
        fi
        if [[ $word == */ ]]; then
            folders+=("${word//:/\\:}:$says")
        else
            plain+=("${word//:/\\:}:$says")
        fi
    done < <("${words[1]}" completion query -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    local found=1
    (( $#plain )) && _describe -t words word plain && found=0
    (( $#folders )) && _describe -t folders directory folders -S '' && found=0
    return found
}
if [[ ${funcstack[1]} == _ctx ]]; then
    _ctx "$@"
else
    compdef _ctx ctx
fi
)";

constexpr std::string_view kFish = R"(# fish completion for ctx. Made by: ctx completion fish
function __ctx_complete
    set -l line (commandline -opc)
    set -l current (commandline -ct)
    for row in ($line[1] completion query -- $line[2..-1] "$current" 2>/dev/null)
        if test "$row" = :dirs
            __fish_complete_directories "$current"
            return
        end
        printf '%s\n' $row
    end
end
complete -c ctx -f -a '(__ctx_complete)'
)";

} // namespace

std::string completionScript(std::string_view shell)
{
    if (shell == "bash")
        return std::string(kBash);
    return std::string(shell == "zsh" ? kZsh : kFish);
}

} // namespace cortexfs::ctx
