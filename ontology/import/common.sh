# What the import scripts share: a binary, and a file that is fetched once.
set -euo pipefail
recollect=${RECOLLECT:-recollect}
command -v "$recollect" >/dev/null || { echo "no $recollect on the PATH; name the binary with RECOLLECT=PATH" >&2; exit 1; }
folder=${ONTOLOGIES:-${TMPDIR:-/tmp}/recollect-ontologies}
mkdir -p "$folder"

# fetched URL NAME: the file, from the folder or from the net.
fetched() {
    local file="$folder/$2"
    if [ ! -s "$file" ]; then
        curl --fail --silent --show-error --location --retry 3 --output "$file.part" "$1"
        mv "$file.part" "$file"
    fi
    echo "$file"
}
