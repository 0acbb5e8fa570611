# What the import scripts share: the binary, and the file: the first argument, if it is one, else fetched once.
set -euo pipefail
recollect=${RECOLLECT:-recollect}
command -v "$recollect" >/dev/null || { echo "no $recollect on the PATH; name the binary with RECOLLECT=PATH" >&2; exit 1; }

# vocabulary NAME URL FILE [ARGUMENTS]: imports the vocabulary with the arguments that are left.
vocabulary() {
    local name=$1 url=$2 file=${ONTOLOGIES:-${TMPDIR:-/tmp}/recollect-ontologies}/$3
    shift 3
    if [ $# -gt 0 ] && [ -f "$1" ]; then
        file=$1
        shift
    elif [ ! -s "$file" ]; then
        mkdir -p "$(dirname "$file")"
        curl --fail --silent --show-error --location --retry 3 --output "$file.part" "$url"
        mv "$file.part" "$file"
    fi
    "$recollect" ontology import "$file" --vocabulary "$name" "$@"
}
