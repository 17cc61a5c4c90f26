# shellcheck shell=bash
# Sourced by the checks that need a program from PyPI and a running server. The working folder is the project's.
#
# `environment PACKAGE VERSION PROGRAM` sets environment to a Python environment with that package; `start_server [FLAG…]` builds and starts a
# server in development mode and sets base to its address; `key ROLE NAME [FLAG…]` prints a new key.

# The environment is installed once. PROGRAM is the last file that the installation makes; without it the installation did not
# finish and is repeated.
environment() {
    environment=$PWD/target/$1-$2
    if [[ ! -x $environment/bin/$3 ]]; then
        rm -rf -- "$environment" # A folder without the program is from an installation that was cut off.
        echo "installing $1 $2 from PyPI"
        python3 -m venv "$environment"
        if ! "$environment/bin/pip" install --quiet --disable-pip-version-check "$1==$2"; then
            echo "failed to install $1 from PyPI, which this check needs; ./test quick does not need it" >&2
            exit 1
        fi
    fi
}

finish() {
    local status=$?
    if [[ -n $server ]] && kill -TERM "$server" 2>/dev/null; then
        wait "$server" || true
    fi
    if ((status != 0)) && [[ -s $scratch/log ]]; then
        echo "the server's log ends with:" >&2
        tail -n 20 "$scratch/log" >&2
    fi
    rm -rf -- "$scratch"
}

start_server() {
    # The developer may have chosen the folder of built programs, so cargo is asked for the path.
    placet=$(cargo build --quiet --locked --workspace --bin placet --message-format=json |
        python3 -c 'import json, sys; print(*(one["executable"] for one in map(json.loads, sys.stdin) if one.get("executable")))')
    scratch=$(mktemp -d)
    server=""
    trap finish EXIT
    # The developer's own settings must not apply to this server.
    unset "${!PLACET_@}" "${!OTEL_@}"
    export PLACET_DATABASE_URL=sqlite://$scratch/placet.db PLACET_LISTEN=127.0.0.1:0
    export PLACET_OPERATORS=ops@example.com PLACET_NOTIFY_ALLOW='*@example.com'

    : >"$scratch/said" # The file must exist before the loop below reads it.
    "$placet" serve --dev "$@" >>"$scratch/said" 2>>"$scratch/log" &
    server=$!
    base=""
    for _ in {1..200}; do
        base=$(sed -n 's/^Placet listens on //p' "$scratch/said")
        [[ -z $base ]] || break
        kill -0 "$server" # Fails and ends this script if the server has ended.
        sleep 0.1
    done
    if [[ -z $base ]]; then
        echo "the server did not start within 20 seconds" >&2
        exit 1
    fi
}

key() { # ROLE NAME [FLAG…]
    "$placet" keys create --role "$1" --name "$2" "${@:3}" --json 2>>"$scratch/log" | tail -n 1 |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["key"])'
}
